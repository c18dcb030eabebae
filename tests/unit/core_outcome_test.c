// SPDX-License-Identifier: Apache-2.0
/* Outcomes: the whole table, and the promises that retrying depends on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "outcome.h"

static void table(void **state)
{
	static const struct {
		u8 opcode;
		enum ds_wc_class c;
		s32 status;
		u8 outcome;
	} t[] = {
		{ DS_OP_READ, DS_WC_OK, 0, DS_EXECUTED },
		{ DS_OP_WRITE, DS_WC_OK, 0, DS_EXECUTED },
		{ DS_OP_CAS, DS_WC_OK, 0, DS_EXECUTED },
		{ DS_OP_FETCH_ADD, DS_WC_OK, 0, DS_EXECUTED },
		{ DS_OP_READ, DS_WC_REMOTE_NAK, -EREMOTEIO, DS_NOT_EXECUTED },
		{ DS_OP_WRITE, DS_WC_REMOTE_NAK, -EREMOTEIO, DS_UNKNOWN },
		{ DS_OP_CAS, DS_WC_REMOTE_NAK, -EREMOTEIO, DS_NOT_EXECUTED },
		{ DS_OP_FETCH_ADD, DS_WC_REMOTE_NAK, -EREMOTEIO, DS_NOT_EXECUTED },
		{ DS_OP_READ, DS_WC_LOCAL, -EIO, DS_NOT_EXECUTED },
		{ DS_OP_WRITE, DS_WC_LOCAL, -EIO, DS_NOT_EXECUTED },
		{ DS_OP_CAS, DS_WC_LOCAL, -EIO, DS_NOT_EXECUTED },
		{ DS_OP_FETCH_ADD, DS_WC_LOCAL, -EIO, DS_NOT_EXECUTED },
		{ DS_OP_READ, DS_WC_LOST, -ENOTCONN, DS_UNKNOWN },
		{ DS_OP_WRITE, DS_WC_LOST, -ENOTCONN, DS_UNKNOWN },
		{ DS_OP_CAS, DS_WC_LOST, -ENOTCONN, DS_UNKNOWN },
		{ DS_OP_FETCH_ADD, DS_WC_LOST, -ENOTCONN, DS_UNKNOWN },
		{ DS_OP_CAS, (enum ds_wc_class)99, -ENOTCONN, DS_UNKNOWN },
	};
	size_t i;

	(void)state;
	for (i = 0; i < ARRAY_SIZE(t); i++) {
		struct ds_cqe cqe = { .status = 1, .outcome = 99 };

		ds_outcome(t[i].opcode, t[i].c, &cqe);
		assert_int_equal(cqe.status, t[i].status);
		assert_int_equal(cqe.outcome, t[i].outcome);
		/* Status 0 goes with EXECUTED only. */
		assert_int_equal(!cqe.status, cqe.outcome == DS_EXECUTED);
	}
}

static void leaves_the_rest_alone(void **state)
{
	struct ds_cqe cqe, before;

	(void)state;
	memset(&before, 0xa5, sizeof(before));
	cqe = before;
	ds_outcome(DS_OP_WRITE, DS_WC_LOST, &cqe);
	cqe.status = before.status;
	cqe.outcome = before.outcome;
	assert_memory_equal(&cqe, &before, sizeof(cqe));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table),
		cmocka_unit_test(leaves_the_rest_alone),
	};

	return cmocka_run_group_tests_name("core_outcome", tests, NULL, NULL);
}

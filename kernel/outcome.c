// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: what is known about an operation that has ended.
 */
#include "outcome.h"

void ds_outcome(u8 opcode, enum ds_wc_class c, struct ds_cqe *cqe)
{
	switch (c) {
	case DS_WC_OK:
		cqe->status = 0;
		cqe->outcome = DS_EXECUTED;
		break;
	case DS_WC_REMOTE_NAK:
		cqe->status = -EREMOTEIO;
		cqe->outcome = opcode == DS_OP_WRITE ? DS_UNKNOWN : DS_NOT_EXECUTED;
		break;
	case DS_WC_LOCAL:
		cqe->status = -EIO;
		cqe->outcome = DS_NOT_EXECUTED;
		break;
	default:
		cqe->status = -ENOTCONN;
		cqe->outcome = DS_UNKNOWN;
		break;
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of parameters: they are what the documents say.
 */
#ifndef DS_TESTS_CORE_PARAM_H
#define DS_TESTS_CORE_PARAM_H

#include "core_test.h"
#include "tokencache/param.h"

static inline void assert_param(const struct ds_param *p, const struct ds_param *documented)
{
	assert_string_equal(p->name, documented->name);
	assert_int_equal(p->least, documented->least);
	assert_int_equal(p->most, documented->most);
	assert_int_equal(p->normal, documented->normal);
	assert_int_equal(p->fixed, documented->fixed);
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: parameters of the token cache; those of document 001 keep their names.
 */
#ifndef _DS_TOKEN_PARAM_H
#define _DS_TOKEN_PARAM_H

#include <linux/types.h>

/**
 * struct ds_token_param - a parameter
 * @name: of it
 * @least: smallest value
 * @most: largest value
 * @normal: value after the load
 * @get: value now
 * @set: change it to one within the range; NULL if it is fixed by then
 * @note: writes what people should know of the value; NULL if there is nothing
 */
struct ds_token_param {
	const char	*name;
	u64		least;
	u64		most;
	u64		normal;
	u64		(*get)(void);
	void		(*set)(u64 value);
	void		(*note)(char *text, size_t size);
};

#define DS_TOKEN_PARAMS	5

extern const struct ds_token_param ds_token_params[DS_TOKEN_PARAMS];

#endif

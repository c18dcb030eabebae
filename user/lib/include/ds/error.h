/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: sentences and remedies for error codes.
 *
 * The library has one style of errors: a function returns 0 (or a count) or a
 * negative errno, and these two functions turn that number into words. There
 * is no error state per thread or per object.
 */
#ifndef DS_ERROR_H
#define DS_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/**
 * ds_strerror() - what an error code of DS means
 * @code: errno value; its sign does not matter
 *
 * Return: one sentence, static, never NULL. A code that DS does not use gives
 * a sentence that says so. Any thread may call it at any time.
 */
const char *ds_strerror(int code);

/**
 * ds_remedy() - what to do about an error code of DS
 * @code: errno value; its sign does not matter
 *
 * Return: one sentence, static, never NULL, empty for 0.
 */
const char *ds_remedy(int code);

/**
 * ds_errname() - symbolic name of an error code, such as "EBADF"
 * @code: errno value; its sign does not matter
 *
 * Return: static string, never NULL; "UNKNOWN" for a code that DS does not use.
 */
const char *ds_errname(int code);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_ERROR_H */

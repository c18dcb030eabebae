/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: a pool in a file of this host, shared by the processes that open
 * it, without kernel module and without root. Part of ds/ds.h.
 *
 * "local:PATH" as ds_fabric_options.device opens the one space that such a file
 * holds. Operations act on memory mapped from the file: CAS and FETCH_ADD are
 * atomic between all processes, READ and WRITE in pieces of at most 8 bytes.
 *
 * Not guarded against, because it is seen only when the memory is touched: a
 * program that truncates the file while it is open, and a file system that
 * runs full (the file is made without its blocks). Either ends the process that
 * touches the memory by SIGBUS.
 */
#ifndef DS_LOCAL_H
#define DS_LOCAL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

#define DS_LOCAL_PREFIX "local:" /* of ds_fabric_options.device */

/**
 * struct ds_local_options - the pool of a file
 * @size: sizeof(struct ds_local_options)
 * @space: number of the space, 0 for 1
 * @servers: memory servers, 1 to DS_LAYOUT_MAX_SERVERS, 0 for 1; server i is node i + 1
 * @server_shift: log2 of a server's bytes, DS_LAYOUT_SERVER_SHIFT to
 *	DS_LAYOUT_SERVER_SHIFT + DS_LAYOUT_MAX_K, 0 for the smallest
 * @access: DS_ACCESS_* granted, 0 for all
 * @mode: permissions of the file, as for open(2), 0 for 0600
 */
struct ds_local_options {
    uint32_t size;
    uint32_t space;
    uint32_t servers;
    uint32_t server_shift;
    uint32_t access;
    uint32_t mode;
};

/**
 * ds_local_create() - make a file with a pool of zeros
 * @path: of the file
 * @options: NULL for the defaults
 *
 * The file is there as a whole or not at all, also if the process is killed.
 * It takes blocks of the file system only where something was written.
 *
 * Return: 0, or -EEXIST: there is a file; -EINVAL: a field of @options; -E2BIG: @options
 * has fields that this library does not know; -EFBIG: larger than the file system
 * allows; or what open(2) says of the folder, such as -ENOENT: there is none.
 */
int ds_local_create(const char *path, const struct ds_local_options *options);

/**
 * ds_local_describe() - what pool is in this file?
 * @path: of the file
 * @options: filled, as far as its size field says
 *
 * Return: 0, or -ENOENT: no file; -EINVAL: it holds no pool, or a damaged one;
 * -ENODATA: it was cut off; -EOPNOTSUPP: of a newer version; -EACCES.
 */
int ds_local_describe(const char *path, struct ds_local_options *options);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_LOCAL_H */

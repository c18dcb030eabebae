/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: spaces, remote memory that is named by addresses. Part of ds/ds.h.
 */
#ifndef DS_SPACE_H
#define DS_SPACE_H

#include <stdint.h>

#include <ds/fabric.h>
#include <ds/ioctl.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct ds_space;

/**
 * ds_space_open() - open a space for operations
 * @fabric: the fabric
 * @number: of the space
 * @access: DS_ACCESS_*
 * @space: result, for ds_space_close()
 *
 * Return: 0, or -ENOENT: no such space; -EACCES: a right in @access is not granted;
 * -EINVAL: @access is 0; -EOPNOTSUPP: it has unknown bits; -EDQUOT: too many handles.
 */
int ds_space_open(struct ds_fabric *fabric, uint32_t number, uint32_t access,
                  struct ds_space **space);

/**
 * ds_space_close() - give a space back
 * @space: from ds_space_open(), or NULL; no request may use it any more
 */
void ds_space_close(struct ds_space *space);

/**
 * ds_space_set_timeout() - longest wait of what is done with a space
 * @space: the space
 * @timeout_ms: 0 for DS_TIMEOUT_DEFAULT, as it is at first
 *
 * It is for calls whose own timeout is 0 (ds_read() and its like; not ds_execute(), whose
 * operations may be of several spaces), for calls that have none, such as
 * ds_tree_create(), and for each tree opened from then on without a limit of its own.
 * No other thread may use @space meanwhile.
 */
void ds_space_set_timeout(struct ds_space *space, uint32_t timeout_ms);

/**
 * struct ds_space_info - the shape of a space
 * @size: set by the caller to sizeof(struct ds_space_info)
 * @number: of the space
 * @servers: memory servers, attached or not
 * @server_shift: log2 of a server's bytes
 * @base: first address
 * @last: last address
 */
struct ds_space_info {
    uint32_t size;
    uint32_t number;
    uint32_t servers;
    uint32_t server_shift;
    uint64_t base;
    uint64_t last;
};

/**
 * ds_space_get_info() - read the shape of a space
 * @space: the space
 * @info: filled, as far as its size field says
 *
 * Return: 0, or -EINVAL if the size field is too small to be filled.
 */
int ds_space_get_info(const struct ds_space *space, struct ds_space_info *info);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_SPACE_H */

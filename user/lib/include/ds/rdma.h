/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: the two calls of document 000 by their names. The addresses, and
 * GET_LOCAL_BUFFER() and the LOCAL_* roles for @local_buf, are in ds/layout.h.
 *
 * @block is a buffer of LOCAL_BUFFER_BLOCK_SIZE bytes, private to one running
 * operation; @local_buf is an offset in it.
 */
#ifndef DS_RDMA_H
#define DS_RDMA_H

#include <ds/ds.h>
#include <ds/layout.h>

/**
 * rdma_read() - copy remote memory into a local buffer and wait for the end
 * @space: the pool
 * @remote_addr: first address
 * @size: bytes
 * @block: the operation's buffer block
 * @local_buf: offset in the block, such as LOCAL_LEAF_BUFFER
 *
 * Return: as ds_read() with the default time.
 */
static inline int rdma_read(struct ds_space *space, uint64_t remote_addr, uint64_t size,
                            struct ds_buffer *block, uint64_t local_buf) {
    return ds_read(space, remote_addr, block, local_buf, size, 0, NULL);
}

/**
 * rdma_write() - copy a local buffer into remote memory and wait for the end
 * @space: the pool
 * @remote_addr: first address
 * @size: bytes
 * @block: the operation's buffer block
 * @local_buf: offset in the block, such as LOCAL_LEAF_BUFFER
 *
 * Return: as ds_write() with the default time.
 */
static inline int rdma_write(struct ds_space *space, uint64_t remote_addr, uint64_t size,
                             struct ds_buffer *block, uint64_t local_buf) {
    return ds_write(space, remote_addr, block, local_buf, size, 0, NULL);
}

#endif /* DS_RDMA_H */

/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * RDMA objects as rxe keeps them, in user space: in slabs, found by the kernel's
 * xarray, each with a count of its uses.
 */
#ifndef BENCH_TOKENCACHE_POOL_H
#define BENCH_TOKENCACHE_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct xarray;
struct pool_element;

/**
 * pool_create - begin a pool
 *
 * Return: what its objects are found by; it lasts as long as the program. NULL: no memory.
 */
struct xarray *pool_create(void);

/**
 * pool_add - make an object, which is in use once
 * @pool: of pool_create()
 * @index: its number, in use by no other
 * @type: enum ds_token_type
 *
 * Return: false if there is no memory.
 */
bool pool_add(struct xarray *pool, uint32_t index, unsigned int type);

/** pool_object_size - bytes that the kernel takes for an object of a type */
unsigned int pool_object_size(unsigned int type);

/** xa_load - the kernel's */
void *xa_load(struct xarray *pool, unsigned long index);

/**
 * pool_get - find an object and begin a use, as rxe_pool_get_index() does
 *
 * Return: the object, NULL if there is none.
 */
struct pool_element *pool_get(struct xarray *pool, uint32_t index);

/** pool_put - end a use, as rxe_put() does */
void pool_put(struct pool_element *element);

/** pool_index - the number of an object */
uint32_t pool_index(const struct pool_element *element);

#endif /* BENCH_TOKENCACHE_POOL_H */

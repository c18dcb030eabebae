// SPDX-License-Identifier: GPL-2.0-only
#include <linux/xarray.h>

#include "pool.h"

/*
 * Memory as slabs have it: objects of one size side by side, each at the beginning
 * of a cache line. Nothing is given back.
 */
#define SLAB		32768u

struct kmem_cache {
	unsigned int size;
	unsigned int left;
	char *next;
};

static struct kmem_cache nodes = { .size = sizeof(struct xa_node) };
struct kmem_cache *radix_tree_node_cachep = &nodes;

/* The slab classes of rxe_pd, rxe_mr, rxe_cq and rxe_qp of Debian's Linux 6.1. */
static struct kmem_cache objects[] = { { .size = 192 }, { .size = 512 }, { .size = 512 },
				       { .size = 2048 } };

_Static_assert(sizeof(struct xa_node) == 576, "a node is as large as in the kernel");

static void *take(struct kmem_cache *cache)
{
	void *taken;

	if (!cache->left) {
		cache->next = aligned_alloc(4096, SLAB);
		if (!cache->next)
			return NULL;
		memset(cache->next, 0, SLAB);
		cache->left = SLAB / cache->size;
	}
	taken = cache->next;
	cache->next += cache->size;
	cache->left--;
	return taken;
}

void *kmem_cache_alloc_lru(struct kmem_cache *cache, struct list_lru *lru, gfp_t gfp)
{
	struct xa_node *node = take(cache);

	(void)lru;
	(void)gfp;
	if (node)
		INIT_LIST_HEAD(&node->private_list);
	return node;
}

void radix_tree_node_rcu_free(struct rcu_head *head)
{
	(void)head;
}

/* What of a struct rxe_pool_elem a look-up touches, at its place. */
struct pool_element {
	void *pool;
	void *object;
	int uses;
	uint32_t index;
};

struct xarray *pool_create(void)
{
	struct xarray *pool = malloc(sizeof(*pool));

	if (pool)
		xa_init(pool);
	return pool;
}

bool pool_add(struct xarray *pool, uint32_t index, unsigned int type)
{
	struct pool_element *element = take(&objects[type]);

	if (!element)
		return false;
	element->object = element;
	element->uses = 1;
	element->index = index;
	return !xa_err(xa_store(pool, index, element, GFP_KERNEL));
}

unsigned int pool_object_size(unsigned int type)
{
	return objects[type].size;
}

/* kref_get_unless_zero(). */
static bool get_unless_zero(int *uses)
{
	int seen = READ_ONCE(*uses);

	do {
		if (!seen)
			return false;
	} while (!__atomic_compare_exchange_n(uses, &seen, seen + 1, false, __ATOMIC_RELAXED,
					      __ATOMIC_RELAXED));
	return true;
}

struct pool_element *pool_get(struct xarray *pool, uint32_t index)
{
	struct pool_element *element, *found = NULL;

	rcu_read_lock();
	element = xa_load(pool, index);
	if (element && get_unless_zero(&element->uses))
		found = element->object;
	rcu_read_unlock();
	return found;
}

void pool_put(struct pool_element *element)
{
	if (__atomic_fetch_sub(&element->uses, 1, __ATOMIC_RELEASE) == 1)
		abort();	/* the pool's own use is never ended */
}

uint32_t pool_index(const struct pool_element *element)
{
	return element->index;
}

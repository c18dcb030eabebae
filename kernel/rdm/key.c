// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: keys, the registration of a segment's pages in a protection domain.
 *
 * Each chunk is one fast-registration memory region, made valid by REG_MR on
 * the domain's loopback queue pair, many to a chain. Its low key byte is
 * random, so that a key is no guess from its neighbour's.
 */
#include <linux/random.h>
#include <linux/slab.h>
#include <uapi/ds/ioctl.h>
#include <uapi/ds/wire.h>
#include "device.h"
#include "debug.h"
#include "key.h"
#include "stats.h"
#include "tokens.h"
#include "verbs.h"

static int ds_key_access(u32 access)
{
	return IB_ACCESS_LOCAL_WRITE | ds_token_access(access);
}

/* The largest chunk that the device can hold in one memory region. */
static u32 ds_chunk_shift(struct ib_device *ib)
{
	u32 pages = max(1u, ib->attrs.max_fast_reg_page_list_len);

	return min_t(u32, DS_CHUNK_SHIFT, PAGE_SHIFT + ilog2(pages));
}

static void ds_key_unmap(struct ds_pd *pd, struct ds_key *key)
{
	if (key->sgt.nents)
		ib_dma_unmap_sg(pd->dev->ib, key->sgt.sgl, key->sgt.orig_nents, DMA_BIDIRECTIONAL);
	sg_free_table(&key->sgt);
}

/* Give the memory region its pages. */
static int ds_key_map(struct ds_pd *pd, struct ds_key *key, struct page **pages, u32 count)
{
	struct ib_device *ib = pd->dev->ib;
	int nents, mapped, ret;

	ret = sg_alloc_table_from_pages(&key->sgt, pages, count, 0,
					(unsigned long)count << PAGE_SHIFT, GFP_KERNEL);
	if (ret)
		return ret;
	key->sgt.nents = 0;
	nents = ib_dma_map_sg(ib, key->sgt.sgl, key->sgt.orig_nents, DMA_BIDIRECTIONAL);
	if (nents <= 0) {
		ret = -ENOMEM;
		goto err_unmap;
	}
	key->sgt.nents = nents;
	mapped = ib_map_mr_sg(key->mr, key->sgt.sgl, nents, NULL, PAGE_SIZE);
	if (mapped != nents) {
		ret = mapped < 0 ? mapped : -EINVAL;
		goto err_unmap;
	}
	if (ib_uses_virt_dma(ib))
		ds_key_unmap(pd, key);	/* the region has copied the addresses */
	return 0;

err_unmap:
	ds_key_unmap(pd, key);
	return ret;
}

static int ds_key_create(struct ds_pd *pd, struct ds_key *key, struct page **pages,
			 u32 count, u64 offset, u32 access)
{
	struct ds_token_desc desc = {
		.type		= DS_TOKEN_MR,
		.mr.iova	= offset,
		.mr.length	= (u64)count << PAGE_SHIFT,
		.mr.access	= ds_key_access(access),
		.mr.pd		= ds_token_index(pd->token),
		.mr.page_shift	= PAGE_SHIFT,
	};
	struct ib_mr *mr;
	int ret;

	ret = ds_failpoint(DS_FP_SEG_REGISTER);
	if (ret)
		return ret;
	mr = ib_alloc_mr(pd->ib, IB_MR_TYPE_MEM_REG, count);
	if (IS_ERR(mr))
		return PTR_ERR(mr);
	key->mr = mr;
	ret = ds_key_map(pd, key, pages, count);
	if (ret)
		goto err_dereg;
	mr->iova = offset;
	ib_update_fast_reg_key(mr, get_random_u32());
	desc.mr.lkey = mr->lkey;
	desc.mr.rkey = mr->rkey;
	ret = ds_token_add(pd->dev->tokens, &desc, &key->token);
	if (ret == -ENOSPC)
		ret = -ENOMEM;	/* who attaches knows of no other shortage */
	if (ret)
		goto err_unmap;
	return 0;

err_unmap:
	if (!ib_uses_virt_dma(pd->dev->ib))
		ds_key_unmap(pd, key);
err_dereg:
	ib_dereg_mr(mr);
	key->mr = NULL;
	return ret;
}

static void ds_key_destroy(struct ds_pd *pd, struct ds_key *key)
{
	if (!key->mr)
		return;
	ds_token_end(key->token);
	ib_dereg_mr(key->mr);
	if (!ib_uses_virt_dma(pd->dev->ib))
		ds_key_unmap(pd, key);
}

/* Make @count keys valid in one chain. */
static int ds_keys_validate(struct ds_pd *pd, struct ds_key *keys, u32 count, int access)
{
	struct ds_wr *wrs;
	int ret;
	u32 i;

	wrs = kcalloc(count, sizeof(*wrs), GFP_KERNEL);
	if (!wrs)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		wrs[i].reg.wr.opcode = IB_WR_REG_MR;
		wrs[i].reg.mr = keys[i].mr;
		wrs[i].reg.key = keys[i].mr->rkey;
		wrs[i].reg.access = access;
	}
	ret = ds_pd_run(pd, wrs, count);
	kfree(wrs);
	if (!ret)
		ds_stat_add(NULL, DS_STAT_KEYS_REGISTERED, count);
	return ret;
}

struct ds_reg *ds_reg_create(struct ds_pd *pd, struct page **pages, u64 length,
			     u32 access)
{
	u32 shift = ds_chunk_shift(pd->dev->ib);
	u64 chunks = DIV_ROUND_UP_ULL(length, 1ull << shift);
	u64 all_pages = length >> PAGE_SHIFT;
	u32 per_chunk = 1u << (shift - PAGE_SHIFT);
	struct ds_reg *reg;
	u64 first;
	u32 i, batch;
	int ret = 0;

	reg = kvzalloc(struct_size(reg, keys, chunks), GFP_KERNEL_ACCOUNT);
	if (!reg)
		return ERR_PTR(-ENOMEM);
	reg->pd = pd;
	reg->access = access;
	reg->chunk_shift = shift;
	reg->chunks = chunks;
	ds_pd_ref(pd);

	for (i = 0; i < chunks && !ret; i++) {
		first = (u64)i * per_chunk;
		ret = ds_key_create(pd, &reg->keys[i], pages + first,
				    min_t(u64, per_chunk, all_pages - first),
				    (u64)i << shift, access);
		cond_resched();
	}
	for (i = 0; i < chunks && !ret; i += batch) {
		batch = min_t(u32, DS_LOOP_SQ, chunks - i);
		ret = ds_keys_validate(pd, &reg->keys[i], batch, ds_key_access(access));
		if (!ret)
			reg->valid += batch;
	}
	if (ret) {
		ds_reg_destroy(reg);
		return ERR_PTR(ret);
	}
	return reg;
}

void ds_reg_destroy(struct ds_reg *reg)
{
	u32 i;

	for (i = 0; i < reg->chunks; i++) {
		ds_key_destroy(reg->pd, &reg->keys[i]);
		cond_resched();
	}
	ds_stat_add(NULL, DS_STAT_KEYS_REVOKED, reg->valid);
	ds_pd_put(reg->pd);
	kvfree(reg);
}

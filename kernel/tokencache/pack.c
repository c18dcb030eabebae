// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: packed tokens.
 */
#include "pack.h"

struct field {
	u8 off;
	u8 bits;
};

/* Of the first word of each. */
static const struct field type_f = { 32, 2 }, layout_f = { 34, 2 };
/* Of a wide one. */
static const struct field where_f = { 0, 32 };
static const struct field pd_number = { 0, 32 }, pd_domain = { 36, 16 };
static const struct field cq_number = { 0, 24 }, cq_vector = { 24, 8 },
			  cq_entries = { 36, 23 }, cq_flags = { 59, 2 };
static const struct field mr_lkey = { 0, 32 }, mr_access = { 36, 11 },
			  mr_remote = { 47, 2 }, mr_shift = { 49, 4 },
			  mr_pages = { 53, 10 };
static const struct field qp_number = { 0, 24 }, qp_type = { 24, 4 },
			  qp_access = { 36, 6 }, qp_srq = { 42, 1 }, qp_pd = { 43, 20 };

/* Of the second word. */
static const struct field hot_page = { 0, 40 }, hot_pd = { 40, 20 };
static const struct field hot_state = { DS_HOT_STATE_OFF, DS_HOT_STATE_BITS },
			  hot_posted = { DS_HOT_POSTED_OFF, DS_HOT_POSTED_BITS },
			  hot_scq = { 20, 21 }, hot_rcq = { 41, 21 };

/* What the remote key of a memory region is. */
enum remote_key {
	REMOTE_NONE = 0,	/* 0 */
	REMOTE_SAME = 1,	/* the local key */
	REMOTE_ONLY = 2,	/* what stands in the place of the local key, which is 0 */
};

#define MR_SHIFT_MIN	12

static bool put(u64 *word, struct field f, u64 value)
{
	if (value >> f.bits)
		return false;
	*word |= value << f.off;
	return true;
}

static u64 get(u64 word, struct field f)
{
	return word >> f.off & ((1ull << f.bits) - 1);
}

/* None is the last number, which so is no index. */
static bool put_index(u64 *word, struct field f, u32 index)
{
	u32 none = (1u << f.bits) - 1;

	if (index == DS_TOKEN_NONE)
		index = none;
	else if (index >= none)
		return false;
	return put(word, f, index);
}

static u32 get_index(u64 word, struct field f)
{
	u32 index = (u32)get(word, f);

	return index == (1u << f.bits) - 1 ? DS_TOKEN_NONE : index;
}

/* Access: bits 0 to 9 as they are, and IB_ACCESS_RELAXED_ORDERING. */
#define ACCESS_LOW	0x3ffu
#define ACCESS_RELAXED	0x100000u
#define ACCESS_PACKED	0x400u

static bool put_access(u64 *word, struct field f, u32 access)
{
	if (access & ~(ACCESS_LOW | ACCESS_RELAXED))
		return false;
	return put(word, f, (access & ACCESS_LOW) |
			    (access & ACCESS_RELAXED ? ACCESS_PACKED : 0));
}

static u32 get_access(u64 word, struct field f)
{
	u32 packed = (u32)get(word, f);

	return (packed & ACCESS_LOW) | (packed & ACCESS_PACKED ? ACCESS_RELAXED : 0);
}

static bool put_mr(const struct ds_token_desc *d, struct ds_token_pack *p)
{
	u64 size = 1ull << d->mr.page_shift;
	enum remote_key remote = REMOTE_NONE;
	u32 key = d->mr.lkey;

	if (d->mr.rkey && d->mr.rkey == d->mr.lkey) {
		remote = REMOTE_SAME;
	} else if (d->mr.rkey) {
		if (d->mr.lkey)
			return false;
		remote = REMOTE_ONLY;
		key = d->mr.rkey;
	}
	if (d->mr.page_shift < MR_SHIFT_MIN || (d->mr.iova | d->mr.length) & (size - 1))
		return false;
	return put(&p->fixed, mr_lkey, key) &&
	       put_access(&p->fixed, mr_access, d->mr.access) &&
	       put(&p->fixed, mr_remote, remote) &&
	       put(&p->fixed, mr_shift, d->mr.page_shift - MR_SHIFT_MIN) &&
	       put(&p->fixed, mr_pages, d->mr.length >> d->mr.page_shift) &&
	       put(&p->hot, hot_page, d->mr.iova >> d->mr.page_shift) &&
	       put_index(&p->hot, hot_pd, d->mr.pd);
}

static void get_mr(const struct ds_token_pack *p, struct ds_token_desc *d)
{
	u32 key = (u32)get(p->fixed, mr_lkey);
	u64 remote = get(p->fixed, mr_remote);

	d->mr.lkey = remote == REMOTE_ONLY ? 0 : key;
	d->mr.rkey = remote == REMOTE_NONE ? 0 : key;
	d->mr.access = get_access(p->fixed, mr_access);
	d->mr.page_shift = (u8)(get(p->fixed, mr_shift) + MR_SHIFT_MIN);
	d->mr.length = get(p->fixed, mr_pages) << d->mr.page_shift;
	d->mr.iova = get(p->hot, hot_page) << d->mr.page_shift;
	d->mr.pd = get_index(p->hot, hot_pd);
}

static void put_qp_hot(const struct ds_token_desc *d, struct ds_token_pack *p)
{
	put(&p->hot, hot_state, d->qp.state);
	put(&p->hot, hot_posted, d->qp.posted);
}

/* QP types are 0 to 9, and from 0xff on the drivers' own: these are wide. */
static bool put_qp(const struct ds_token_desc *d, struct ds_token_pack *p)
{
	put_qp_hot(d, p);
	return put(&p->fixed, qp_number, d->qp.number) &&
	       put(&p->fixed, qp_type, d->qp.qp_type) &&
	       put(&p->fixed, qp_access, d->qp.access) &&
	       put(&p->fixed, qp_srq, d->qp.srq) &&
	       put_index(&p->fixed, qp_pd, d->qp.pd) &&
	       put_index(&p->hot, hot_scq, d->qp.scq) &&
	       put_index(&p->hot, hot_rcq, d->qp.rcq);
}

static void get_qp_hot(const struct ds_token_pack *p, struct ds_token_desc *d)
{
	d->qp.state = (u8)get(p->hot, hot_state);
	d->qp.posted = (u16)get(p->hot, hot_posted);
}

static void get_qp(const struct ds_token_pack *p, struct ds_token_desc *d)
{
	get_qp_hot(p, d);
	d->qp.number = (u32)get(p->fixed, qp_number);
	d->qp.qp_type = (u16)get(p->fixed, qp_type);
	d->qp.access = (u32)get(p->fixed, qp_access);
	d->qp.srq = get(p->fixed, qp_srq);
	d->qp.pd = get_index(p->fixed, qp_pd);
	d->qp.scq = get_index(p->hot, hot_scq);
	d->qp.rcq = get_index(p->hot, hot_rcq);
}

static bool put_cq(const struct ds_token_desc *d, struct ds_token_pack *p)
{
	return put(&p->fixed, cq_number, d->cq.number) &&
	       put(&p->fixed, cq_vector, d->cq.vector) &&
	       put(&p->fixed, cq_entries, d->cq.entries) &&
	       put(&p->fixed, cq_flags, d->cq.flags);
}

static void get_cq(const struct ds_token_pack *p, struct ds_token_desc *d)
{
	d->cq.number = (u32)get(p->fixed, cq_number);
	d->cq.vector = (u32)get(p->fixed, cq_vector);
	d->cq.entries = (u32)get(p->fixed, cq_entries);
	d->cq.flags = (u32)get(p->fixed, cq_flags);
}

static bool put_pd(const struct ds_token_desc *d, struct ds_token_pack *p)
{
	return put(&p->fixed, pd_number, d->pd.number) &&
	       put(&p->fixed, pd_domain, d->pd.domain);
}

static void get_pd(const struct ds_token_pack *p, struct ds_token_desc *d)
{
	d->pd.number = (u32)get(p->fixed, pd_number);
	d->pd.domain = (u32)get(p->fixed, pd_domain);
}

static struct ds_token_pack begin(u8 type, u32 layout)
{
	struct ds_token_pack p = { 0, 0 };

	put(&p.fixed, type_f, type);
	put(&p.fixed, layout_f, layout);
	return p;
}

/* Its last byte may be the last one that there is. */
static bool has_end(u64 iova, u64 length)
{
	return !length || iova + (length - 1) >= iova;
}

int ds_token_check(const struct ds_token_desc *d)
{
	switch (d->type) {
	case DS_TOKEN_PD:
	case DS_TOKEN_CQ:
		return 0;
	case DS_TOKEN_MR:
		return d->mr.page_shift < 64 && has_end(d->mr.iova, d->mr.length) ? 0 : -EINVAL;
	case DS_TOKEN_QP:
		return d->qp.state < DS_QP_STATES ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

int ds_token_pack(const struct ds_token_desc *d, struct ds_token_pack *p)
{
	struct ds_token_pack made = begin(d->type, DS_TOKEN_LAYOUT_NARROW);
	bool fits;

	switch (d->type) {
	case DS_TOKEN_PD:
		fits = put_pd(d, &made);
		break;
	case DS_TOKEN_MR:
		fits = put_mr(d, &made);
		break;
	case DS_TOKEN_CQ:
		fits = put_cq(d, &made);
		break;
	default:
		fits = put_qp(d, &made);
	}
	if (!fits)
		return -EOVERFLOW;
	*p = made;
	return 0;
}

void ds_token_pack_wide(const struct ds_token_desc *d, u32 where,
			struct ds_token_pack *p)
{
	*p = begin(d->type, DS_TOKEN_LAYOUT_WIDE);
	put(&p->fixed, where_f, where);
	if (d->type == DS_TOKEN_QP)
		put_qp_hot(d, p);
}

static void unpack_wide(const struct ds_token_pack *p, const struct ds_token_desc *wide,
			struct ds_token_desc *d)
{
	*d = *wide;
	d->tier = 0;
	d->slot = 0;
	if (d->type == DS_TOKEN_QP)
		get_qp_hot(p, d);
}

int ds_token_unpack(const struct ds_token_pack *p, const struct ds_token_desc *wide,
		    struct ds_token_desc *d)
{
	u64 layout = get(p->fixed, layout_f);
	u8 type = (u8)get(p->fixed, type_f);

	if (layout == DS_TOKEN_LAYOUT_WIDE && wide && wide->type == type) {
		unpack_wide(p, wide, d);
		return 0;
	}
	if (layout != DS_TOKEN_LAYOUT_NARROW)
		return -EPROTO;

	memset(d, 0, sizeof(*d));
	d->type = type;
	switch (type) {
	case DS_TOKEN_PD:
		get_pd(p, d);
		break;
	case DS_TOKEN_MR:
		get_mr(p, d);
		break;
	case DS_TOKEN_CQ:
		get_cq(p, d);
		break;
	default:
		get_qp(p, d);
	}
	return 0;
}

bool ds_token_pack_is_wide(const struct ds_token_pack *p, u32 *where)
{
	if (get(p->fixed, layout_f) != DS_TOKEN_LAYOUT_WIDE)
		return false;
	*where = (u32)get(p->fixed, where_f);
	return true;
}

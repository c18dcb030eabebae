/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * DS: what a token says of an RDMA object, and its packed form (document 001).
 *
 * A packed token is one word of 64 bits (PD, CQ) or two (MR, QP):
 *
 *	      bits 0-31			bits 32-63
 *	PD    number 32			type 2, layout 2, trust domain 16
 *	CQ    number 24, vector 8	type 2, layout 2, entries 23, flags 2
 *	MR    local key 32		type 2, layout 2, access 11, remote key is 2,
 *					page shift 4, pages 10
 *	QP    number 24, QP type 4	type 2, layout 2, access 6, SRQ 1, PD 20
 *
 *	second word of an MR: first page of the I/O address 40, PD 20
 *	second word of a QP:  state 4, posted 16, send CQ 21, receive CQ 21
 *
 * What neighbours share is in the high half of the first word, so that a page of
 * them keeps it once (l2.h). What changes while an object lives is in the second
 * word. Nothing is cut off: an object with a field that has no room is wide, its
 * first word says where the whole description is, and its state and posted field are
 * in the second word all the same.
 */
#ifndef DS_TOKENCACHE_PACK_H
#define DS_TOKENCACHE_PACK_H

#include "../shim.h"
#include <ds/token.h>

#define DS_TOKEN_NONE		(~0u)	/* of @pd, @scq and @rcq: there is none */
#define DS_QP_STATES		7	/* enum ib_qp_state */

/**
 * struct ds_token_desc - an RDMA object, whole
 * @type: enum ds_token_type, says which of the following is meant
 * @tier: 1 to 3, where ds_token_get() found it; 0 for one that is made
 * @slot: of L1 or L2, where it found it if @tier is 1 or 2; else 0
 * @pd.number: the device's number of the protection domain
 * @pd.domain: number of the trust domain
 * @mr.lkey: local key; 0 for memory of another host
 * @mr.rkey: remote key; 0 if nobody else may use it
 * @mr.access: IB_ACCESS_*
 * @mr.pd: index of the PD's token, or DS_TOKEN_NONE
 * @mr.iova: I/O address of the first byte
 * @mr.length: bytes
 * @mr.page_shift: of the pages it is made of, at most 63
 * @cq.number: the device's number
 * @cq.entries: that it was made for
 * @cq.vector: completion vector
 * @cq.flags: IB_CQ_* it was made with
 * @qp.number: QP number
 * @qp.qp_type: enum ib_qp_type
 * @qp.state: enum ib_qp_state
 * @qp.srq: its receives come from a shared queue
 * @qp.posted: work requests posted, modulo 2^16
 * @qp.access: IB_ACCESS_* of its peer
 * @qp.pd: index of the PD's token, or DS_TOKEN_NONE
 * @qp.scq: index of the token of the CQ of sends, or DS_TOKEN_NONE
 * @qp.rcq: that of receives
 */
struct ds_token_desc {
	u8 type;
	u8 tier;
	u32 slot;
	union {
		struct {
			u32 number;
			u32 domain;
		} pd;
		struct {
			u64 iova;
			u64 length;
			u32 lkey;
			u32 rkey;
			u32 access;
			u32 pd;
			u8 page_shift;
		} mr;
		struct {
			u32 number;
			u32 entries;
			u32 vector;
			u32 flags;
		} cq;
		struct {
			u32 number;
			u32 access;
			u32 pd;
			u32 scq;
			u32 rcq;
			u16 qp_type;
			u16 posted;
			u8 state;
			bool srq;
		} qp;
	};
};

/**
 * struct ds_token_pack - a packed token
 * @fixed: first word; never changes
 * @hot: second word; 0 with a PD and a CQ
 */
struct ds_token_pack {
	u64 fixed;
	u64 hot;
};

/* Of the second word. */
#define DS_HOT_STATE_OFF	0
#define DS_HOT_STATE_BITS	4
#define DS_HOT_POSTED_OFF	4
#define DS_HOT_POSTED_BITS	16

/**
 * ds_token_check - can such an object be?
 * @d: of any content
 *
 * Return: 0, or -EINVAL for a type or a field outside what it may be.
 */
int ds_token_check(const struct ds_token_desc *d);

/**
 * ds_token_pack - the packed form
 * @d: for which ds_token_check() said 0
 * @p: result, written on success only
 *
 * Return: 0, or -EOVERFLOW if a field has no room: it is wide.
 */
int ds_token_pack(const struct ds_token_desc *d, struct ds_token_pack *p);

/**
 * ds_token_pack_wide - the packed form of an object that is wide
 * @d: for which ds_token_pack() said -EOVERFLOW
 * @where: number of its description, kept by the caller
 * @p: result
 */
void ds_token_pack_wide(const struct ds_token_desc *d, u32 where,
			struct ds_token_pack *p);

/**
 * ds_token_unpack - the object that a packed token stands for
 * @p: packed token, of any content
 * @wide: description of a wide one; NULL if the caller has none
 * @d: result, written on success only; @tier and @slot are 0
 *
 * Return: 0, or -EPROTO for a layout that is not known or a wide token without
 * its description.
 */
int ds_token_unpack(const struct ds_token_pack *p, const struct ds_token_desc *wide,
		    struct ds_token_desc *d);

/**
 * ds_token_pack_is_wide - is there a description elsewhere?
 * @p: packed token
 * @where: its number, written if so
 *
 * Return: true if so.
 */
bool ds_token_pack_is_wide(const struct ds_token_pack *p, u32 *where);

/**
 * ds_token_words - words of the packed form
 * @type: enum ds_token_type
 *
 * Return: 1 or 2.
 */
static inline u32 ds_token_words(u8 type)
{
	return type == DS_TOKEN_MR || type == DS_TOKEN_QP ? 2 : 1;
}

/**
 * ds_token_pack_state - state of a queue pair
 * @p: packed token of a QP, wide or not
 *
 * Return: enum ib_qp_state.
 */
static inline u32 ds_token_pack_state(const struct ds_token_pack *p)
{
	return (u32)(p->hot >> DS_HOT_STATE_OFF) & ((1u << DS_HOT_STATE_BITS) - 1);
}

/**
 * ds_token_mr_pages - pages of a memory region, document 001's n_pages
 * @d: of an MR
 *
 * Return: the number, the one that is only begun included.
 */
static inline u64 ds_token_mr_pages(const struct ds_token_desc *d)
{
	u64 size = 1ull << d->mr.page_shift;

	return (d->mr.length >> d->mr.page_shift) +
	       ((d->mr.length & (size - 1)) != 0);
}

/**
 * ds_token_allows - may a peer have what it asks of a memory region?
 * @d: of an MR
 * @pd: index of the token of the PD of who asks, or DS_TOKEN_NONE
 * @offset: I/O address of the first byte
 * @length: bytes
 * @access: IB_ACCESS_*, all of it is needed
 *
 * No end is added up, as the last byte that there is may be part of a region.
 *
 * Return: true if it is within the region, allowed, and of the same PD.
 */
static inline bool ds_token_allows(const struct ds_token_desc *d, u32 pd, u64 offset, u32 length,
				   u32 access)
{
	return pd == d->mr.pd && offset >= d->mr.iova && length <= d->mr.length &&
	       offset - d->mr.iova <= d->mr.length - length && !(access & ~d->mr.access);
}

#endif /* DS_TOKENCACHE_PACK_H */

// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
/*
 * DS: extents, the runs of nodes that clients take from a memory server.
 */
#include "extent.h"

enum ds_extent_state {
	DS_EXTENT_FREE = 0,
	DS_EXTENT_OWNED = 1,
	DS_EXTENT_PART = 2,	/* used in part, owned by nobody */
	DS_EXTENT_FULL = 3,
};

/* A record, taken apart. */
struct ds_extent_record {
	u32 state;
	struct ds_owner owner;
	u16 generation;
	u32 used;
};

#define DS_EXTENT_STATE_SHIFT		62
#define DS_EXTENT_CLIENT_SHIFT		49
#define DS_EXTENT_INCARNATION_SHIFT	33
#define DS_EXTENT_GENERATION_SHIFT	17
#define DS_EXTENT_USED_SHIFT		4

static_assert(DS_EXTENT_MAX_NODES < 1u << 13, "used has 13 bits");
static_assert(DS_LAYOUT_MAX_CLIENT < 1u << 13, "client has 13 bits");

static u64 ds_extent_pack(struct ds_extent_record r)
{
	return (u64)r.state << DS_EXTENT_STATE_SHIFT |
	       (u64)r.owner.client << DS_EXTENT_CLIENT_SHIFT |
	       (u64)r.owner.incarnation << DS_EXTENT_INCARNATION_SHIFT |
	       (u64)r.generation << DS_EXTENT_GENERATION_SHIFT |
	       (u64)r.used << DS_EXTENT_USED_SHIFT;
}

static struct ds_extent_record ds_extent_unpack(u64 word)
{
	return (struct ds_extent_record) {
		.state = word >> DS_EXTENT_STATE_SHIFT,
		.owner.client = word >> DS_EXTENT_CLIENT_SHIFT & 0x1fff,
		.owner.incarnation = word >> DS_EXTENT_INCARNATION_SHIFT,
		.generation = word >> DS_EXTENT_GENERATION_SHIFT,
		.used = word >> DS_EXTENT_USED_SHIFT & 0x1fff,
	};
}

/* ---- where things are ---- */

static u64 ds_extent_region_nodes(const struct ds_layout *l, u32 region)
{
	return (ds_layout_region_end(l, region) - ds_layout_region_start(l, region)) /
	       DS_LAYOUT_NODE_SIZE;
}

u32 ds_extent_nodes(const struct ds_layout *l, u32 region)
{
	u64 wanted = ds_extent_region_nodes(l, region) / 1024;
	u32 nodes = 4;

	while (nodes < wanted && nodes < DS_EXTENT_MAX_NODES)
		nodes *= 2;
	return nodes;
}

u32 ds_extent_count(const struct ds_layout *l, u32 region)
{
	return (u32)(ds_extent_region_nodes(l, region) / ds_extent_nodes(l, region));
}

/* Number of the first extent of a region; of the one behind the last region: of all. */
static u32 ds_extent_first(const struct ds_layout *l, u32 region)
{
	u32 first = 0, r;

	for (r = DS_REGION_LEVEL1; r < region; r++)
		first += ds_extent_count(l, r);
	return first;
}

static u32 ds_extent_region_of(const struct ds_layout *l, u32 index)
{
	u32 region = DS_REGION_LEVEL1;

	while (region < DS_REGION_COUNT && index >= ds_extent_first(l, region + 1))
		region++;
	return region;
}

static u64 ds_extent_record_offset(const struct ds_extents *e, u32 index)
{
	u64 table = DS_LAYOUT_EXTENT_OFFSET << (e->layout.server_shift - DS_LAYOUT_SERVER_SHIFT);

	return table + (u64)index * sizeof(u64);
}

static int ds_extent_read(const struct ds_extents *e, u32 index, u64 *records, u32 count)
{
	return e->ops->read(e->memory, ds_extent_record_offset(e, index), records, count);
}

static void ds_extent_describe(const struct ds_extents *e, u32 region, u32 index, u64 word,
			       struct ds_extent *out)
{
	struct ds_extent_record r = ds_extent_unpack(word);
	u32 in_region = index - ds_extent_first(&e->layout, region);

	out->index = index;
	out->generation = r.generation;
	out->used = (u16)r.used;
	out->nodes = ds_extent_nodes(&e->layout, region);
	out->offset = ds_layout_region_start(&e->layout, region) +
		      (u64)in_region * out->nodes * DS_LAYOUT_NODE_SIZE;
}

void ds_extents_init(struct ds_extents *e, const struct ds_layout *l,
		     const struct ds_extent_ops *ops, void *memory)
{
	memset(e, 0, sizeof(*e));
	e->layout = *l;
	e->ops = ops;
	e->memory = memory;
}

/*
 * Change a record. Return 1, or 0 if it was not @before; then @before is what it
 * was; or a negative errno. Records are little-endian, as are the machines (shim.h).
 */
static int ds_extent_change(struct ds_extents *e, u32 index, u64 *before,
			    struct ds_extent_record after)
{
	u64 found;
	int ret;

	ret = e->ops->cas(e->memory, ds_extent_record_offset(e, index), *before,
			  ds_extent_pack(after), &found);
	if (ret)
		return ret;
	if (found == *before)
		return 1;
	*before = found;
	return 0;
}

/* ---- taking ---- */

/*
 * May a client take it? A record that no client can have left is damaged: behind it
 * may be nodes that are in use.
 */
static bool ds_extent_has_room(struct ds_extent_record r, u32 nodes)
{
	if (r.owner.client || r.owner.incarnation)
		return false;
	if (r.state == DS_EXTENT_FREE)
		return !r.used;
	return r.state == DS_EXTENT_PART && r.used && r.used < nodes;
}

/*
 * Take the extent of @nodes nodes whose record was @word. Return 1, 0: it cannot be taken,
 * or a negative errno.
 */
static int ds_extent_take(struct ds_extents *e, u32 index, u32 nodes, u64 *word,
			  struct ds_owner owner)
{
	struct ds_extent_record r;
	int ret;

	do {
		r = ds_extent_unpack(*word);
		if (!ds_extent_has_room(r, nodes))
			return 0;
		r.state = DS_EXTENT_OWNED;
		r.owner = owner;
		if (!r.generation)
			r.generation = 1;
		ret = ds_extent_change(e, index, word, r);
	} while (!ret);
	if (ret == 1)
		*word = ds_extent_pack(r);
	return ret;
}

/* The same for the first that can be taken of @count from @index on. */
static int ds_extent_take_any(struct ds_extents *e, u32 index, u32 count, struct ds_owner owner,
			      u32 *taken, u64 *word)
{
	u32 nodes = ds_extent_nodes(&e->layout, ds_extent_region_of(&e->layout, index));
	u64 records[DS_EXTENT_READ_WORDS];
	int ret;
	u32 i;

	ret = ds_extent_read(e, index, records, count);
	for (i = 0; !ret && i < count; i++) {
		ret = ds_extent_take(e, index + i, nodes, &records[i], owner);
		if (ret == 1) {
			*taken = index + i;
			*word = records[i];
		}
	}
	return ret;
}

int ds_extent_alloc(struct ds_extents *e, u32 region, struct ds_owner owner,
		    struct ds_extent *out)
{
	u32 first, count, start, seen, n, index;
	u64 word;
	int ret;

	if (region == DS_REGION_ROOT || region >= DS_REGION_COUNT ||
	    !owner.client || owner.client > DS_LAYOUT_MAX_CLIENT || !owner.incarnation)
		return -EINVAL;
	first = ds_extent_first(&e->layout, region);
	count = ds_extent_count(&e->layout, region);
	start = READ_ONCE(e->next[region]);
	/* From the start to the end, and then what is before the start. */
	for (seen = 0; seen < count; seen += n) {
		u32 at = (start + seen) % count;

		n = min(count - seen, count - at);
		n = min(n, DS_EXTENT_READ_WORDS);
		ret = ds_extent_take_any(e, first + at, n, owner, &index, &word);
		if (ret < 0)
			return ret;
		if (ret) {
			WRITE_ONCE(e->next[region], index - first);
			ds_extent_describe(e, region, index, word, out);
			return 0;
		}
	}
	return -ENOSPC;
}

/* ---- giving back ---- */

static bool ds_extent_is_owned(struct ds_extent_record r, struct ds_owner owner)
{
	return r.state == DS_EXTENT_OWNED && r.owner.client == owner.client &&
	       r.owner.incarnation == owner.incarnation;
}

/* What becomes of a record when its owner has used @used of @nodes. */
static struct ds_extent_record ds_extent_given_back(struct ds_extent_record r, u32 used, u32 nodes)
{
	r.owner = (struct ds_owner) { 0 };
	r.used = used;
	if (used) {
		r.state = used < nodes ? DS_EXTENT_PART : DS_EXTENT_FULL;
	} else {
		r.state = DS_EXTENT_FREE;
		r.generation++;	/* 0 is 1 for who takes it */
	}
	return r;
}

int ds_extent_free(struct ds_extents *e, u32 index, struct ds_owner owner, u32 used)
{
	u32 region = ds_extent_region_of(&e->layout, index);
	struct ds_extent_record r;
	u32 nodes;
	u64 word;
	int ret;

	if (region == DS_REGION_COUNT)
		return -EINVAL;
	nodes = ds_extent_nodes(&e->layout, region);
	ret = ds_extent_read(e, index, &word, 1);
	if (ret)
		return ret;
	do {
		r = ds_extent_unpack(word);
		if (r.state != DS_EXTENT_OWNED)
			return -ESTALE;
		if (!ds_extent_is_owned(r, owner))
			return -EACCES;
		if (used < r.used || used > nodes)
			return -EINVAL;
		ret = ds_extent_change(e, index, &word, ds_extent_given_back(r, used, nodes));
	} while (!ret);
	return ret < 0 ? ret : 0;
}

/* ---- taking back from the dead ---- */

/* Nodes up to the last one that was written in this generation, or a negative errno. */
static int ds_extent_find_used(const struct ds_extents *e, const struct ds_extent *x)
{
	u32 mark = (u32)x->generation | DS_NODE_MARK << 16;
	u32 used = x->nodes;
	u64 word;
	int ret;

	for (; used > x->used; used--) {
		ret = e->ops->read(e->memory, x->offset + DS_NODE_MARK_OFFSET +
				   (u64)(used - 1) * DS_LAYOUT_NODE_SIZE, &word, 1);
		if (ret)
			return ret;
		if ((u32)word == mark)
			break;
	}
	return (int)used;
}

/* Return 1, 0 if it is not @owner's, or a negative errno. */
static int ds_extent_reclaim_one(struct ds_extents *e, u32 region, u32 index, u64 word,
				 struct ds_owner owner)
{
	struct ds_extent_record r = ds_extent_unpack(word);
	struct ds_extent extent;
	int used;

	if (!ds_extent_is_owned(r, owner))
		return 0;
	ds_extent_describe(e, region, index, word, &extent);
	used = ds_extent_find_used(e, &extent);
	if (used < 0)
		return used;
	/* If it is not what it was, another one has reclaimed it. */
	return ds_extent_change(e, index, &word, ds_extent_given_back(r, used, extent.nodes));
}

static int ds_extent_reclaim_region(struct ds_extents *e, u32 region, struct ds_owner owner)
{
	u32 index = ds_extent_first(&e->layout, region);
	u32 end = index + ds_extent_count(&e->layout, region);
	u64 records[DS_EXTENT_READ_WORDS];
	int ret, reclaimed = 0;
	u32 n, i;

	for (; index < end; index += n) {
		n = min(end - index, DS_EXTENT_READ_WORDS);
		ret = ds_extent_read(e, index, records, n);
		for (i = 0; ret >= 0 && i < n; i++) {
			ret = ds_extent_reclaim_one(e, region, index + i, records[i], owner);
			reclaimed += ret == 1;
		}
		if (ret < 0)
			return ret;
	}
	return reclaimed;
}

int ds_extent_reclaim(struct ds_extents *e, struct ds_owner owner)
{
	int ret, reclaimed = 0;
	u32 region;

	for (region = DS_REGION_LEVEL1; region < DS_REGION_COUNT; region++) {
		ret = ds_extent_reclaim_region(e, region, owner);
		if (ret < 0)
			return ret;
		reclaimed += ret;
	}
	return reclaimed;
}

/* ---- counting ---- */

int ds_extent_count_all(const struct ds_extents *e, struct ds_extent_tally *tally)
{
	u32 end = ds_extent_first(&e->layout, DS_REGION_COUNT);
	u64 records[DS_EXTENT_READ_WORDS];
	u32 count[DS_EXTENT_FULL + 1] = { 0 };
	u32 index, n, i;
	int ret;

	for (index = 0; index < end; index += n) {
		n = min(end - index, DS_EXTENT_READ_WORDS);
		ret = ds_extent_read(e, index, records, n);
		if (ret)
			return ret;
		for (i = 0; i < n; i++)
			count[ds_extent_unpack(records[i]).state]++;
	}
	*tally = (struct ds_extent_tally) {
		.free = count[DS_EXTENT_FREE],
		.owned = count[DS_EXTENT_OWNED],
		.part = count[DS_EXTENT_PART],
		.full = count[DS_EXTENT_FULL],
	};
	return 0;
}

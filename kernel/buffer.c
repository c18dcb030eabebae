// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: local buffers, and how pages are had: from the kernel or from the caller.
 */
#include <linux/cred.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/nodemask.h>
#include <linux/overflow.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>
#include "buffer.h"
#include "compat.h"
#include "params.h"

#define DS_PAGES_MAX_ORDER	9	/* 2 MiB: as long as a chunk of a segment */
#define DS_PAGES_BATCH		512ul	/* pages between two chances to reschedule */

/* ---- Pages of the kernel ---- */

/* Not a reason to kill processes: who asked for the memory hears that there is none. */
static gfp_t ds_pages_gfp(unsigned int order, int numa_node)
{
	gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;

	gfp |= order ? __GFP_NORETRY : __GFP_RETRY_MAYFAIL;
	if (numa_node != NUMA_NO_NODE)
		gfp |= __GFP_THISNODE;
	return gfp;
}

/* The array for @count pages; the caller's count is bounded by nothing but this. */
static struct page **ds_pages_array(u64 count)
{
	size_t bytes;

	if (check_mul_overflow((size_t)count, sizeof(struct page *), &bytes))
		return NULL;
	return kvmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

struct page **ds_pages_alloc(u64 count, int numa_node)
{
	unsigned int order = DS_PAGES_MAX_ORDER;
	struct page **pages;
	u64 done = 0;
	int err;

	if (numa_node != NUMA_NO_NODE &&
	    (numa_node < 0 || numa_node >= MAX_NUMNODES || !node_state(numa_node, N_MEMORY)))
		return ERR_PTR(-EINVAL);
	/* Do not first take all that others need, only to see that it is not enough. */
	if (count > totalram_pages())
		return ERR_PTR(-ENOMEM);

	pages = ds_pages_array(count);
	if (!pages)
		return ERR_PTR(-ENOMEM);

	while (done < count) {
		struct page *block;
		u32 i;

		order = min_t(unsigned int, order, ilog2(count - done));
		block = alloc_pages_node(numa_node, ds_pages_gfp(order, numa_node), order);
		if (!block && order) {
			order--;
			continue;
		}
		err = block ? 0 : -ENOMEM;
		if (!err && fatal_signal_pending(current)) {
			__free_pages(block, order);
			err = -EINTR;
		}
		if (err)
			goto free;

		split_page(block, order);
		for (i = 0; i < 1u << order; i++)
			pages[done++] = block + i;
		cond_resched();
	}
	return pages;

free:
	ds_pages_free(pages, done);
	return ERR_PTR(err);
}

void ds_pages_free(struct page **pages, u64 count)
{
	u64 i;

	for (i = 0; i < count; i++) {
		put_page(pages[i]);
		if (i % DS_PAGES_BATCH == 0)
			cond_resched();
	}
	kvfree(pages);
}

/* ---- Pages of the caller ---- */

/**
 * struct ds_pin - pages of a process
 * @link: in ds_pins_ending while its work runs, or in @others of one there
 * @others: of the same user, to be ended by the same work
 * @work: ends it and @others
 * @owner: the user
 * @mm: the process
 * @pages: its pages
 * @count: their number
 */
struct ds_pin {
	struct list_head	link;
	struct list_head	others;
	struct work_struct	work;
	kuid_t			owner;
	struct mm_struct	*mm;
	struct page		**pages;
	u64			count;
};

static LIST_HEAD(ds_pins_ending);	/* one of each user */
static DEFINE_SPINLOCK(ds_pins_lock);	/* for it and @others; innermost */

/* As the verbs count it: without the mmap lock, which its owner may hold for long. */
static int ds_pages_charge(struct mm_struct *mm, u64 count)
{
	u64 limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (atomic64_add_return(count, &mm->pinned_vm) <= limit || capable(CAP_IPC_LOCK))
		return 0;
	atomic64_sub(count, &mm->pinned_vm);
	return -ENOMEM;
}

static void ds_pages_unpin_some(struct page **pages, u64 count)
{
	while (count) {
		unsigned long n = min_t(u64, count, DS_PAGES_BATCH);

		unpin_user_pages_dirty_lock(pages, n, true);
		pages += n;
		count -= n;
		cond_resched();
	}
}

/* Its pages are not pinned, or not any more. */
static void ds_pin_free(struct ds_pin *pin)
{
	atomic64_sub(pin->count, &pin->mm->pinned_vm);
	mmdrop(pin->mm);
	kvfree(pin->pages);
	kfree(pin);
}

static void ds_pin_end(struct ds_pin *pin)
{
	ds_pages_unpin_some(pin->pages, pin->count);
	ds_pin_free(pin);
}

/* The next that @first's work is to end; when there is none, it is in no list any more. */
static struct ds_pin *ds_pin_next(struct ds_pin *first)
{
	struct ds_pin *pin;

	spin_lock(&ds_pins_lock);
	pin = list_first_entry_or_null(&first->others, struct ds_pin, link);
	list_del(pin ? &pin->link : &first->link);
	spin_unlock(&ds_pins_lock);
	return pin;
}

static void ds_pin_work(struct work_struct *work)
{
	struct ds_pin *first = container_of(work, struct ds_pin, work), *pin;

	ds_pages_unpin_some(first->pages, first->count);
	while ((pin = ds_pin_next(first)))
		ds_pin_end(pin);
	ds_pin_free(first);
}

/* A user can hold up one work, and no other user's by that. */
static void ds_pin_end_later(struct ds_pin *pin)
{
	struct ds_pin *first;

	spin_lock(&ds_pins_lock);
	list_for_each_entry(first, &ds_pins_ending, link) {
		if (uid_eq(first->owner, pin->owner)) {
			list_add_tail(&pin->link, &first->others);
			goto unlock;
		}
	}
	list_add_tail(&pin->link, &ds_pins_ending);
	queue_work(ds_unpin_wq, &pin->work);
unlock:
	spin_unlock(&ds_pins_lock);
}

/* Charged, but without pages yet. */
static struct ds_pin *ds_pin_new(u64 count)
{
	struct ds_pin *pin = kzalloc(sizeof(*pin), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!pin)
		return ERR_PTR(-ENOMEM);
	pin->pages = ds_pages_array(count);
	if (pin->pages)
		err = ds_pages_charge(current->mm, count);
	if (err) {
		kvfree(pin->pages);
		kfree(pin);
		return ERR_PTR(err);
	}
	INIT_WORK(&pin->work, ds_pin_work);
	INIT_LIST_HEAD(&pin->others);
	pin->owner = current_uid();
	mmgrab(current->mm);
	pin->mm = current->mm;
	pin->count = count;
	return pin;
}

struct page **ds_pages_pin(u64 addr, u64 count, struct ds_pin **out)
{
	u64 done = 0, bytes, last;
	struct page **pages;
	struct ds_pin *pin;
	int n;

	if (!PAGE_ALIGNED(addr) || !count ||
	    check_mul_overflow(count, (u64)PAGE_SIZE, &bytes) ||
	    check_add_overflow(addr, bytes - 1, &last))
		return ERR_PTR(-EINVAL);
	if (!access_ok(u64_to_user_ptr(addr), bytes))
		return ERR_PTR(-EFAULT);

	pin = ds_pin_new(count);
	if (IS_ERR(pin))
		return ERR_CAST(pin);
	pages = pin->pages;
	while (done < count) {
		n = pin_user_pages_fast(addr + (done << PAGE_SHIFT),
					min_t(u64, count - done, DS_PAGES_BATCH),
					FOLL_WRITE | FOLL_LONGTERM, pages + done);
		if (n > 0) {
			done += n;
			n = fatal_signal_pending(current) ? -EINTR : 0;
		} else if (!n) {
			n = -EFAULT;
		}
		if (n)
			goto unpin;
		cond_resched();
	}
	*out = pin;
	return pages;

unpin:
	ds_pages_unpin_some(pages, done);
	ds_pin_free(pin);
	return ERR_PTR(n);
}

void ds_pages_unpin(struct ds_pin *pin, bool wait)
{
	if (wait && pin->mm == current->mm)
		ds_pin_end(pin);
	else
		ds_pin_end_later(pin);
}

/* ---- Quotas ---- */

struct ds_quota *ds_quota_create(void)
{
	struct ds_quota *quota = kzalloc(sizeof(*quota), GFP_KERNEL_ACCOUNT);

	if (quota)
		kref_init(&quota->ref);
	return quota;
}

static void ds_quota_release(struct kref *ref)
{
	kfree(container_of(ref, struct ds_quota, ref));
}

void ds_quota_put(struct ds_quota *quota)
{
	kref_put(&quota->ref, ds_quota_release);
}

static int ds_quota_charge(struct ds_quota *quota, u64 length)
{
	u64 limit = (u64)ds_max_buf_mb << 20;

	/* Without the first test a sum of giants could wrap around. */
	if (length > limit)
		return -EDQUOT;
	if ((u64)atomic64_add_return(length, &quota->used) > limit) {
		atomic64_sub(length, &quota->used);
		return -EDQUOT;
	}
	kref_get(&quota->ref);
	return 0;
}

static void ds_quota_uncharge(struct ds_quota *quota, u64 length)
{
	atomic64_sub(length, &quota->used);
	ds_quota_put(quota);
}

/* ---- Buffers ---- */

static atomic_t ds_buffers;	/* that there are, of all files */

/* A buffer without pages, counted in @quota. */
static struct ds_buffer *ds_buffer_new(u64 length, struct ds_quota *quota)
{
	struct ds_buffer *buf;
	int err;

	if (!length || !PAGE_ALIGNED(length))
		return ERR_PTR(-EINVAL);

	buf = kzalloc(sizeof(*buf), GFP_KERNEL_ACCOUNT);
	if (!buf)
		return ERR_PTR(-ENOMEM);
	if (quota) {
		err = ds_quota_charge(quota, length);
		if (err) {
			kfree(buf);
			return ERR_PTR(err);
		}
	}
	kref_init(&buf->ref);
	buf->length = length;
	buf->quota = quota;
	atomic_inc(&ds_buffers);
	return buf;
}

static void ds_buffer_free(struct ds_buffer *buf)
{
	if (buf->quota)
		ds_quota_uncharge(buf->quota, buf->length);
	kfree(buf);
	atomic_dec(&ds_buffers);
}

void ds_buffer_exit(void)
{
	WARN_ON_ONCE(atomic_read(&ds_buffers));
}

struct ds_buffer *ds_buffer_create(u64 length, int numa_node, struct ds_quota *quota)
{
	struct ds_buffer *buf = ds_buffer_new(length, quota);
	struct page **pages;

	if (IS_ERR(buf))
		return buf;
	pages = ds_pages_alloc(length >> PAGE_SHIFT, numa_node);
	if (IS_ERR(pages)) {
		ds_buffer_free(buf);
		return ERR_CAST(pages);
	}
	buf->pages = pages;
	return buf;
}

struct ds_buffer *ds_buffer_pin(u64 addr, u64 length, struct ds_quota *quota)
{
	struct ds_buffer *buf = ds_buffer_new(length, quota);
	struct page **pages;

	if (IS_ERR(buf))
		return buf;
	pages = ds_pages_pin(addr, length >> PAGE_SHIFT, &buf->pin);
	if (IS_ERR(pages)) {
		ds_buffer_free(buf);
		return ERR_CAST(pages);
	}
	buf->pages = pages;
	return buf;
}

void ds_buffer_get(struct ds_buffer *buf)
{
	kref_get(&buf->ref);
}

static void ds_buffer_end(struct ds_buffer *buf, bool wait)
{
	if (buf->pin)
		ds_pages_unpin(buf->pin, wait);
	else
		ds_pages_free(buf->pages, buf->length >> PAGE_SHIFT);
	ds_buffer_free(buf);
}

static void ds_buffer_release(struct kref *ref)
{
	ds_buffer_end(container_of(ref, struct ds_buffer, ref), false);
}

static void ds_buffer_release_now(struct kref *ref)
{
	ds_buffer_end(container_of(ref, struct ds_buffer, ref), true);
}

void ds_buffer_put(struct ds_buffer *buf)
{
	kref_put(&buf->ref, ds_buffer_release);
}

void ds_buffer_close(struct ds_buffer *buf)
{
	kref_put(&buf->ref, ds_buffer_release_now);
}

/* ---- Mappings: each area holds a reference on its buffer ---- */

static void ds_buffer_vma_open(struct vm_area_struct *vma)
{
	ds_buffer_get(vma->vm_private_data);
}

static void ds_buffer_vma_close(struct vm_area_struct *vma)
{
	ds_buffer_put(vma->vm_private_data);
}

static vm_fault_t ds_buffer_vma_fault(struct vm_fault *vmf)
{
	struct ds_buffer *buf = vmf->vma->vm_private_data;

	if (vmf->pgoff >= buf->length >> PAGE_SHIFT)
		return VM_FAULT_SIGBUS;
	vmf->page = buf->pages[vmf->pgoff];
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct ds_buffer_vm_ops = {
	.open	= ds_buffer_vma_open,
	.close	= ds_buffer_vma_close,
	.fault	= ds_buffer_vma_fault,
};

int ds_buffer_mmap(struct ds_buffer *buf, struct vm_area_struct *vma)
{
	if (buf->pin || !(vma->vm_flags & VM_SHARED) ||
	    vma->vm_end - vma->vm_start != buf->length)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EACCES;

	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	vm_flags_clear(vma, VM_MAYEXEC);
	vma->vm_pgoff = 0;	/* the offset named the buffer; faults count from its start */
	vma->vm_private_data = buf;
	vma->vm_ops = &ds_buffer_vm_ops;
	ds_buffer_get(buf);
	return 0;
}

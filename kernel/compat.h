/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: differences between Debian's kernels 6.1 and 6.12, all of them.
 */
#ifndef _DS_COMPAT_H
#define _DS_COMPAT_H

#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_MAJOR == 6 && LINUX_VERSION_PATCHLEVEL < 3
/* Context: mmap lock held for writing, or the area not linked in yet. */
static inline void vm_flags_set(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags |= flags;
}

static inline void vm_flags_clear(struct vm_area_struct *vma, vm_flags_t flags)
{
	vma->vm_flags &= ~flags;
}
#endif

#endif

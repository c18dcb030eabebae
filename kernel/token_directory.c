// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: the token directory as programs read it.
 *
 * What is mapped are the pages themselves, when they are touched: who moves a token knows
 * nothing of its readers. The table is as old as the module, which the mapping holds by its
 * file; and each page that is mapped is held as any other.
 */
#include <linux/capability.h>
#include <linux/mm.h>
#include <uapi/ds/directory.h>
#include "compat.h"
#include "token_directory.h"
#include "tokencache/walk.h"
#include "tokens.h"

static_assert(DS_DIRECTORY_WORDS == PAGE_SIZE);
/* The offset of a buffer is its handle, whose generation is never 0. */
static_assert((DS_DIRECTORY_OFFSET + DS_DIRECTORY_BYTES) >> PAGE_SHIFT <=
	      1ul << DS_HANDLE_GEN_OFF);

static vm_fault_t ds_directory_fault(struct vm_fault *vmf)
{
	const void *part = ds_directory_part(&ds_tokens.table,
					     vmf->pgoff - (DS_DIRECTORY_OFFSET >> PAGE_SHIFT));

	if (!part)
		return VM_FAULT_SIGBUS;
	vmf->page = virt_to_page(part);
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct ds_directory_vm_ops = {
	.fault	= ds_directory_fault,
};

int ds_directory_mmap(struct vm_area_struct *vma)
{
	/* Nobody else shall see at which moments tokens are used. */
	if (!capable(CAP_NET_ADMIN))
		return -EPERM;
	if (!(vma->vm_flags & VM_SHARED) || vma->vm_end - vma->vm_start > DS_DIRECTORY_BYTES)
		return -EINVAL;
	if (vma->vm_flags & (VM_WRITE | VM_EXEC))
		return -EACCES;

	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	vm_flags_clear(vma, VM_MAYWRITE | VM_MAYEXEC);
	vma->vm_ops = &ds_directory_vm_ops;
	return 0;
}

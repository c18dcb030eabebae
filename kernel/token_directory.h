/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: the token directory as programs read it (uapi/ds/directory.h).
 */
#ifndef _DS_TOKEN_DIRECTORY_H
#define _DS_TOKEN_DIRECTORY_H

struct vm_area_struct;

/**
 * ds_directory_mmap - map the directory of the host's tokens
 * @vma: at DS_DIRECTORY_OFFSET of an open /dev/ds, which it holds
 *
 * Context: process, mmap lock held for writing.
 * Return: 0, -EPERM, -EACCES or -EINVAL
 */
int ds_directory_mmap(struct vm_area_struct *vma);

#endif

/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * DS: the token directory, which says of each token where it is.
 *
 * An administrator's program (CAP_NET_ADMIN) maps it from /dev/ds, opened with O_RDWR as always, to
 * read it as often as it likes without a call of the kernel:
 *
 *	mmap(NULL, DS_DIRECTORY_BYTES, PROT_READ, MAP_SHARED, fd, DS_DIRECTORY_OFFSET)
 *
 * The first page begins with struct ds_token_directory; the word of index i is the u64 at
 * byte DS_DIRECTORY_WORDS + 8 * i. These are the pages that the kernel itself works on. Each word
 * is whole if it is read by one load of 64 bits, but two words are not of the same moment. There
 * are pages for the indices below @end only: to touch one beyond is SIGBUS.
 *
 * A shorter mapping shows the first so many pages. Errors of mmap(): EPERM without
 * CAP_NET_ADMIN, EACCES with PROT_WRITE or PROT_EXEC, EINVAL if it is longer or not shared,
 * EBADF at another offset. What is mapped never becomes writable. A child inherits it.
 */
#ifndef _UAPI_DS_DIRECTORY_H
#define _UAPI_DS_DIRECTORY_H

#include <linux/types.h>

#define DS_DIRECTORY_OFFSET	0x10000000u	/* of /dev/ds; no buffer has it */
#define DS_DIRECTORY_WORDS	4096u
#define DS_DIRECTORY_BYTES	(4096u + 0x2000000u)
#define DS_DIRECTORY_VERSION	1u		/* of the bits of a word, too */

/**
 * struct ds_token_directory - what stands before the words
 * @version: DS_DIRECTORY_VERSION
 * @end: all indices that were ever used are below. It only grows, by 2048. The words below are
 *	there when it is read with acquire
 */
struct ds_token_directory {
	__u32 version;
	__u32 end;
};

/*
 * A word (document 001's TokenDirectoryEntry):
 *
 *	bits 0-15	uses
 *	bits 16-37	slot, in the tier where the token is
 *	bits 38-40	enum ds_token_state
 *	bits 41-42	enum ds_token_type
 *	bit 43		pinned: never moved
 *	bit 44		dirty: the home is older
 *	bits 45-52	generation; 0: the index was never used
 *	bit 53		somebody writes to the token
 *	bits 54-63	version: changes with each move and each write
 *
 * The handle is the type, the generation and the index (ds/token.h). Of a token on its way
 * the slot says where it still is: DS_FROM_HOME, else its slot in L1 and DS_FROM_L1, or its
 * slot in L2 with DS_FROM_L2. Of one that is free, revoked or at home it says nothing.
 */
#define DS_WORD_USE		1ull
#define DS_WORD_USES_MAX	0xffffull
#define DS_WORD_SLOT_OFF	16
#define DS_WORD_SLOT_MAX	0x3fffffull
#define DS_WORD_STATE_OFF	38
#define DS_WORD_STATE_MAX	7ull
#define DS_WORD_TYPE_OFF	41
#define DS_WORD_TYPE_MAX	3ull
#define DS_WORD_PINNED		0x080000000000ull
#define DS_WORD_DIRTY		0x100000000000ull
#define DS_WORD_GEN_OFF		45
#define DS_WORD_GEN_MAX		0xffull
#define DS_WORD_WRITER		0x20000000000000ull
#define DS_WORD_VERSION		0x40000000000000ull

#define DS_FROM_HOME		0u
#define DS_FROM_L1		1u
#define DS_FROM_L2		0x200000u

/**
 * enum ds_token_state - where a token is; document 001's layers keep their numbers
 * @DS_TOKEN_FREE: there is none
 * @DS_TOKEN_L1: in the small tier
 * @DS_TOKEN_L2: in the middle tier
 * @DS_TOKEN_L3: at home
 * @DS_TOKEN_REVOKED: nobody may begin to use it
 * @DS_TOKEN_TO_L1: on its way there
 * @DS_TOKEN_TO_L2: on its way there
 * @DS_TOKEN_TO_L3: on its way home
 */
enum ds_token_state {
	DS_TOKEN_FREE = 0,
	DS_TOKEN_L1 = 1,
	DS_TOKEN_L2 = 2,
	DS_TOKEN_L3 = 3,
	DS_TOKEN_REVOKED = 4,
	DS_TOKEN_TO_L1 = 5,
	DS_TOKEN_TO_L2 = 6,
	DS_TOKEN_TO_L3 = 7,
};

#endif /* _UAPI_DS_DIRECTORY_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: where each field of the ioctl interface and of the token directory is. A program that was built
 * yesterday, or for 32 bits, must mean the same; so this list is only added to.
 * Compiled for 64 and for 32 bits, never run.
 */
#include <stddef.h>

#include <ds/directory.h>
#include <ds/ioctl.h>

#define SIZE(type, bytes)	_Static_assert(sizeof(struct type) == (bytes), #type)
#define AT(type, field, bytes)	\
	_Static_assert(offsetof(struct type, field) == (bytes), #type "." #field)

SIZE(ds_ioc_info, 48);
AT(ds_ioc_info, size, 0);
AT(ds_ioc_info, flags, 4);
AT(ds_ioc_info, out_abi, 8);
AT(ds_ioc_info, out_node, 12);
AT(ds_ioc_info, out_max_ops, 16);
AT(ds_ioc_info, out_max_chain, 20);
AT(ds_ioc_info, out_max_op_bytes, 24);
AT(ds_ioc_info, out_max_msg_bytes, 28);
AT(ds_ioc_info, out_max_buf_bytes, 32);
AT(ds_ioc_info, out_features, 40);

SIZE(ds_ioc_space_open, 48);
AT(ds_ioc_space_open, size, 0);
AT(ds_ioc_space_open, flags, 4);
AT(ds_ioc_space_open, space, 8);
AT(ds_ioc_space_open, access, 12);
AT(ds_ioc_space_open, out_handle, 16);
AT(ds_ioc_space_open, out_servers, 20);
AT(ds_ioc_space_open, out_server_shift, 24);
AT(ds_ioc_space_open, reserved, 28);
AT(ds_ioc_space_open, out_base, 32);
AT(ds_ioc_space_open, out_last, 40);

SIZE(ds_ioc_close, 16);
AT(ds_ioc_close, size, 0);
AT(ds_ioc_close, flags, 4);
AT(ds_ioc_close, type, 8);
AT(ds_ioc_close, handle, 12);

SIZE(ds_ioc_buf_create, 32);
AT(ds_ioc_buf_create, size, 0);
AT(ds_ioc_buf_create, flags, 4);
AT(ds_ioc_buf_create, length, 8);
AT(ds_ioc_buf_create, numa_node, 16);
AT(ds_ioc_buf_create, out_handle, 20);
AT(ds_ioc_buf_create, out_mmap_offset, 24);

SIZE(ds_ioc_buf_pin, 32);
AT(ds_ioc_buf_pin, size, 0);
AT(ds_ioc_buf_pin, flags, 4);
AT(ds_ioc_buf_pin, addr, 8);
AT(ds_ioc_buf_pin, length, 16);
AT(ds_ioc_buf_pin, out_handle, 24);
AT(ds_ioc_buf_pin, reserved, 28);

SIZE(ds_ioc_seg_create, 48);
AT(ds_ioc_seg_create, size, 0);
AT(ds_ioc_seg_create, flags, 4);
AT(ds_ioc_seg_create, length, 8);
AT(ds_ioc_seg_create, addr, 16);
AT(ds_ioc_seg_create, domain, 24);
AT(ds_ioc_seg_create, access, 28);
AT(ds_ioc_seg_create, numa_node, 32);
AT(ds_ioc_seg_create, out_handle, 36);
AT(ds_ioc_seg_create, out_segment, 40);

SIZE(ds_op, 64);
AT(ds_op, opcode, 0);
AT(ds_op, flags, 1);
AT(ds_op, lane, 2);
AT(ds_op, space, 4);
AT(ds_op, addr, 8);
AT(ds_op, length, 16);
AT(ds_op, buf, 20);
AT(ds_op, buf_offset, 24);
AT(ds_op, compare_add, 32);
AT(ds_op, swap, 40);
AT(ds_op, user_data, 48);
AT(ds_op, reserved, 56);

SIZE(ds_cqe, 32);
AT(ds_cqe, user_data, 0);
AT(ds_cqe, value, 8);
AT(ds_cqe, status, 16);
AT(ds_cqe, outcome, 20);
AT(ds_cqe, reserved, 21);
AT(ds_cqe, node, 24);
AT(ds_cqe, length, 28);

SIZE(ds_ring, 128);
AT(ds_ring, tail, 0);
AT(ds_ring, entries, 4);
AT(ds_ring, reserved0, 8);
AT(ds_ring, head, 64);
AT(ds_ring, reserved1, 68);
AT(ds_ring, cqes, 128);

SIZE(ds_ioc_ring_create, 32);
AT(ds_ioc_ring_create, size, 0);
AT(ds_ioc_ring_create, flags, 4);
AT(ds_ioc_ring_create, entries, 8);
AT(ds_ioc_ring_create, reserved, 12);
AT(ds_ioc_ring_create, out_mmap_offset, 16);
AT(ds_ioc_ring_create, out_mmap_length, 24);

SIZE(ds_ioc_submit, 40);
AT(ds_ioc_submit, size, 0);
AT(ds_ioc_submit, flags, 4);
AT(ds_ioc_submit, ops, 8);
AT(ds_ioc_submit, cqes, 16);
AT(ds_ioc_submit, nr_ops, 24);
AT(ds_ioc_submit, timeout_ms, 28);
AT(ds_ioc_submit, out_accepted, 32);
AT(ds_ioc_submit, patience_ms, 36);

SIZE(ds_ioc_service_bind, 24);
AT(ds_ioc_service_bind, size, 0);
AT(ds_ioc_service_bind, flags, 4);
AT(ds_ioc_service_bind, service, 8);
AT(ds_ioc_service_bind, queue, 12);
AT(ds_ioc_service_bind, out_handle, 16);
AT(ds_ioc_service_bind, reserved, 20);

SIZE(ds_ioc_msg_send, 56);
AT(ds_ioc_msg_send, size, 0);
AT(ds_ioc_msg_send, flags, 4);
AT(ds_ioc_msg_send, node, 8);
AT(ds_ioc_msg_send, service, 12);
AT(ds_ioc_msg_send, data, 16);
AT(ds_ioc_msg_send, reply, 24);
AT(ds_ioc_msg_send, length, 32);
AT(ds_ioc_msg_send, reply_size, 36);
AT(ds_ioc_msg_send, timeout_ms, 40);
AT(ds_ioc_msg_send, out_reply_length, 44);
AT(ds_ioc_msg_send, out_status, 48);
AT(ds_ioc_msg_send, out_outcome, 52);

SIZE(ds_ioc_msg_recv, 48);
AT(ds_ioc_msg_recv, size, 0);
AT(ds_ioc_msg_recv, flags, 4);
AT(ds_ioc_msg_recv, handle, 8);
AT(ds_ioc_msg_recv, timeout_ms, 12);
AT(ds_ioc_msg_recv, data, 16);
AT(ds_ioc_msg_recv, data_size, 24);
AT(ds_ioc_msg_recv, out_length, 28);
AT(ds_ioc_msg_recv, out_node, 32);
AT(ds_ioc_msg_recv, out_want_reply, 36);
AT(ds_ioc_msg_recv, out_cookie, 40);

SIZE(ds_ioc_msg_reply, 40);
AT(ds_ioc_msg_reply, size, 0);
AT(ds_ioc_msg_reply, flags, 4);
AT(ds_ioc_msg_reply, handle, 8);
AT(ds_ioc_msg_reply, status, 12);
AT(ds_ioc_msg_reply, cookie, 16);
AT(ds_ioc_msg_reply, data, 24);
AT(ds_ioc_msg_reply, length, 32);
AT(ds_ioc_msg_reply, reserved, 36);

SIZE(ds_ioc_enroll, 24);
AT(ds_ioc_enroll, size, 0);
AT(ds_ioc_enroll, flags, 4);
AT(ds_ioc_enroll, space, 8);
AT(ds_ioc_enroll, timeout_ms, 12);
AT(ds_ioc_enroll, out_token, 16);

SIZE(ds_ioc_fence, 32);
AT(ds_ioc_fence, size, 0);
AT(ds_ioc_fence, flags, 4);
AT(ds_ioc_fence, space, 8);
AT(ds_ioc_fence, node, 12);
AT(ds_ioc_fence, token, 16);
AT(ds_ioc_fence, timeout_ms, 24);
AT(ds_ioc_fence, reserved, 28);

#define NUMBER(cmd, number)	_Static_assert((cmd) == (number), #cmd)

NUMBER(DS_IOC_INFO, 0xc030bd00u);
NUMBER(DS_IOC_SPACE_OPEN, 0xc030bd01u);
NUMBER(DS_IOC_CLOSE, 0xc010bd02u);
NUMBER(DS_IOC_BUF_CREATE, 0xc020bd03u);
NUMBER(DS_IOC_BUF_PIN, 0xc020bd04u);
NUMBER(DS_IOC_SEG_CREATE, 0xc030bd05u);
NUMBER(DS_IOC_RING_CREATE, 0xc020bd06u);
NUMBER(DS_IOC_SUBMIT, 0xc028bd07u);
NUMBER(DS_IOC_SERVICE_BIND, 0xc018bd08u);
NUMBER(DS_IOC_MSG_SEND, 0xc038bd09u);
NUMBER(DS_IOC_MSG_RECV, 0xc030bd0au);
NUMBER(DS_IOC_MSG_REPLY, 0xc028bd0bu);
NUMBER(DS_IOC_ENROLL, 0xc018bd0cu);
NUMBER(DS_IOC_FENCE, 0xc020bd0du);

SIZE(ds_token_directory, 8);
AT(ds_token_directory, version, 0);
AT(ds_token_directory, end, 4);

/* Whose bits are where; a new version of the directory would begin anew. */
#define IS(value, number)	_Static_assert((value) == (number), #value)

IS(DS_DIRECTORY_VERSION, 1);
IS(DS_DIRECTORY_OFFSET, 0x10000000);
IS(DS_DIRECTORY_WORDS, 4096);
IS(DS_DIRECTORY_BYTES, 4096 + (8 << 22));
IS(DS_WORD_USES_MAX, 0xffff);
IS(DS_WORD_SLOT_MAX << DS_WORD_SLOT_OFF, 0x3fffff0000);
IS(DS_WORD_STATE_MAX << DS_WORD_STATE_OFF, 7ull << 38);
IS(DS_WORD_TYPE_MAX << DS_WORD_TYPE_OFF, 3ull << 41);
IS(DS_WORD_PINNED, 1ull << 43);
IS(DS_WORD_DIRTY, 1ull << 44);
IS(DS_WORD_GEN_MAX << DS_WORD_GEN_OFF, 0xffull << 45);
IS(DS_WORD_WRITER, 1ull << 53);
IS(DS_WORD_VERSION, 1ull << 54);
IS(DS_TOKEN_FREE, 0);
IS(DS_TOKEN_L1, 1);
IS(DS_TOKEN_L2, 2);
IS(DS_TOKEN_L3, 3);
IS(DS_TOKEN_REVOKED, 4);
IS(DS_TOKEN_TO_L1, 5);
IS(DS_TOKEN_TO_L2, 6);
IS(DS_TOKEN_TO_L3, 7);
IS(DS_FROM_HOME, 0);
IS(DS_FROM_L1, 1);
IS(DS_FROM_L2, 1 << 21);

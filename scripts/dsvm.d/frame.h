/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames that the runner, the agent in a guest and the commands `on` and
 * `vm` exchange. Little endian, a fixed header, then @len bytes.
 *
 * An id names a running command. The runner chooses the ids of the commands it
 * gives to an agent (RUN). The agent chooses the ids of the requests of local
 * clients (CALL) and sets FRAME_CALL_BIT in them, so the two never meet.
 *
 * Flow control: whoever sends OUT, ERR or IN may have FRAME_WINDOW bytes
 * underway; the receiver returns them with ACK once it has passed them on. So
 * every buffer between the two ends is bounded.
 */
#ifndef DSVM_FRAME_H
#define DSVM_FRAME_H

#include <stdint.h>

#define FRAME_MAX	(32u * 1024)		/* longest payload */
#define FRAME_WINDOW	(128u * 1024)
#define FRAME_CALL_BIT	0x80000000u

enum frame_type {
	FRAME_HELLO = 1,	/* agent: the node is ready */
	FRAME_PING,		/* runner: a word; the agent writes it to the kernel's log */
	FRAME_RUN,		/* runner: u8 flags, cwd\0, argument\0 ... */
	FRAME_CALL,		/* agent: the same, argument 0 is on or vm */
	FRAME_IN,		/* bytes for standard input; none = end */
	FRAME_OUT,		/* bytes of standard output */
	FRAME_ERR,		/* bytes of standard error */
	FRAME_ACK,		/* u32 stream (0 in, 1 out and err), u32 bytes */
	FRAME_SIGNAL,		/* u32 signal for the command's process group */
	FRAME_RESIZE,		/* u16 rows, u16 columns of the terminal */
	FRAME_EXIT,		/* u32 status, 128 + N after signal N */
};

#define FRAME_FLAG_STDIN	1	/* standard input is sent in IN frames */
#define FRAME_FLAG_TTY		2	/* run on a terminal of its own */

struct frame_header {
	uint32_t type;
	uint32_t id;
	uint32_t len;
};

#define DSVM_SOCKET	"/run/dsvm.sock"

#endif

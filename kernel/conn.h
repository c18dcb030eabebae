/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: one connection to another host: the control queue pair, and the bulk and
 * urgent queue pairs that its handshake allowed.
 *
 * The host that connects uses the connection for its own one-sided operations;
 * the host that accepted answers them by its device alone. Messages go both
 * ways. A connection is made once and torn down once; a peer that comes back
 * gets a new one.
 */
#ifndef _DS_CONN_H
#define _DS_CONN_H

#include <linux/completion.h>
#include <linux/kref.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>
#include "handshake.h"
#include "stats.h"

struct ds_device;
struct ds_pd;
struct ds_domain;
struct ds_peer;
struct ds_qp;

enum ds_conn_state {
	DS_CONN_NEW,		/* being connected or accepted, handshake running */
	DS_CONN_UP,
	DS_CONN_CLOSING,	/* ds_conn_close() was called */
};

/**
 * struct ds_lane - one queue pair of a connection
 * @conn: the connection
 * @id: its connection manager id
 * @qp: its queue pair
 * @watch: server: completion of a data lane's one receive, which no message is for
 * @cookie: server: one-time value that allows it; 0 once used
 * @step: client: completed when what it waits for has happened or failed
 * @error: client: 0 or why it failed
 * @established: the connection manager said so
 */
struct ds_lane {
	struct ds_conn		*conn;
	struct rdma_cm_id	*id;
	struct ds_qp		*qp;
	struct ib_cqe		watch;
	u64			cookie;
	struct completion	step;
	int			error;
	bool			established;
};

/**
 * struct ds_conn - a connection
 * @ref: lifetime of the struct
 * @link: in the list of connections
 * @serial: connections are numbered as they are made
 * @server: the other host connected to us
 * @trusted: the other host has proved the domain key
 * @was_up: it got to DS_CONN_UP, under @lock
 * @state: enum ds_conn_state, changes under @lock
 * @lock: protects @state, @reason and the cookies of the lanes
 * @lanes_lock: held while lanes are made, so that the teardown sees them whole;
 *	outermost
 * @dev: device it runs on; a reference is held once it is set
 * @pd: of the data lanes, set when the handshake is through
 * @domain: trust domain; client: from the start; server: from the handshake
 * @domain_serial: of the one whose key was used
 * @hs: the handshake; hs.peer is who the other host is once it is up
 * @ctrl: the control lane, which carries the messages
 * @bulk: lanes for one-sided operations
 * @lanes: their number
 * @mtu: path MTU in bytes, the same for all lanes; 0: not known
 * @urgent: lane for page faults and object-owner words
 * @peer: client: the peer that owns it
 * @attaches: server: segments that the other host has attached
 * @fences: client: answers to the other host that wait for a client here to end
 * @deaf_until: it left a REVOKE unanswered; ktime ns
 * @stats: counters of the other host
 * @own_stats: @stats of a server
 * @reason: static sentence: why it ended or was refused
 * @refused: enum ds_reject, if the other side refused
 * @refusing: REFUSE has been sent
 * @settled: completed when it is up or has failed
 * @beat_work: heartbeat; watches the handshake before
 * @close_work: the teardown
 * @closed: completed when the teardown is through
 * @addr: address of the other host
 * @msg: state of msg.c and inbox.c
 */
struct ds_conn {
	struct kref		ref;
	struct list_head	link;
	u64			serial;
	bool			server;
	bool			trusted;
	bool			was_up;
	enum ds_conn_state	state;
	spinlock_t		lock;		/* see above */
	struct mutex		lanes_lock;	/* see above */
	struct ds_device	*dev;
	struct ds_pd		*pd;
	struct ds_domain	*domain;
	u64			domain_serial;
	struct ds_hs		hs;
	struct ds_lane		ctrl;
	struct ds_lane		bulk[DS_MAX_LANES];
	u32			lanes;
	u32			mtu;
	struct ds_lane		urgent;
	struct ds_peer		*peer;
	atomic_t		attaches;
	atomic_t		fences;
	u64			deaf_until;
	struct ds_stats		*stats;
	struct ds_stats		own_stats;
	const char		*reason;
	u32			refused;
	bool			refusing;
	struct completion	settled;
	struct delayed_work	beat_work;
	struct work_struct	close_work;
	struct completion	closed;
	struct sockaddr_storage	addr;
	struct ds_msg_state	*msg;
};

/**
 * ds_conn_alloc - a connection that @peer will open
 *
 * Return: it with a reference, or NULL
 */
struct ds_conn *ds_conn_alloc(struct ds_peer *peer);

/**
 * ds_conn_open - connect to the peer's address and prove the domain key
 *
 * Takes at most DS_CONN_STEP_MS for each of its steps; ds_conn_close() ends it
 * early. Context: process.
 * Return: 0 when it is up; else it is closed and gone but for the reference of
 *	ds_conn_alloc(), and @conn->reason says why
 */
int ds_conn_open(struct ds_conn *conn);

#define DS_CONN_STEP_MS		3000
#define DS_HANDSHAKE_MS		5000

/**
 * ds_conn_close - begin the teardown; safe to call from anywhere, many times
 * @reason: static sentence, kept from the first call
 *
 * Context: any but hard interrupt.
 */
void ds_conn_close(struct ds_conn *conn, const char *reason);

/* Wait until the teardown that ds_conn_close() began is through. */
void ds_conn_wait_closed(struct ds_conn *conn);

void ds_conn_get(struct ds_conn *conn);
void ds_conn_put(struct ds_conn *conn);

/* The queue pair for chains with hash @hash. */
struct ds_qp *ds_conn_lane(struct ds_conn *conn, u32 hash);

/* A message of the handshake arrived (from inbox.c). */
void ds_conn_handshake(struct ds_conn *conn, const struct ds_msg_hdr *hdr, const void *payload);

/*
 * A REFUSE arrived (from inbox.c), perhaps with the end of the connection right
 * behind it. Context: of completions.
 */
void ds_conn_refused(struct ds_conn *conn, u32 reason);

int ds_conn_init(void);
void ds_conn_exit(void);

/* listen.c: accept connections on ds_port. */
int ds_listen_start(void);
void ds_listen_stop(void);

/*
 * For accept.c. A new connection has one reference. ds_conn_beat_after() has the
 * beat work run if the state is still @state. ds_conn_set_up() goes from NEW to UP;
 * false if it is being closed.
 */
struct ds_conn *ds_conn_new(bool server);
void ds_conn_beat_after(struct ds_conn *conn, enum ds_conn_state state, u32 ms);
bool ds_conn_set_up(struct ds_conn *conn);

#endif

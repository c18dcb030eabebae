/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * DS: the generic netlink family "ds", by which a host is configured and watched.
 *
 * Every attribute is flat: enum ds_attr is one list for all commands, and
 * docs/netlink.md has the table of which command takes and gives which. A GET
 * command is a dump (NLM_F_DUMP) of one message an object; retry the dump when
 * NLM_F_DUMP_INTR is set. Commands that change something need CAP_NET_ADMIN in
 * the initial user namespace, and the family exists in the initial network
 * namespace only. Errors carry a sentence in NLMSGERR_ATTR_MSG and, where one
 * attribute is at fault, NLMSGERR_ATTR_OFFS.
 */
#ifndef _UAPI_DS_NETLINK_H
#define _UAPI_DS_NETLINK_H

#define DS_GENL_NAME	"ds"
#define DS_GENL_VERSION	1
#define DS_GENL_GROUP	"events"

#define DS_DOMAIN_KEY_LEN	32	/* bytes of a domain key */
#define DS_UUID_LEN		16

/**
 * enum ds_cmd - commands; never renumbered
 * @DS_CMD_UNSPEC: unused
 * @DS_CMD_NODE_GET: do: this host's identity and module state
 * @DS_CMD_NODE_SET: do: set DS_A_NODE and optionally DS_A_GROUP; before any peer
 * @DS_CMD_DOMAIN_ADD: do: DS_A_DOMAIN, DS_A_KEY
 * @DS_CMD_DOMAIN_DEL: do: DS_A_DOMAIN; -EBUSY while something uses it
 * @DS_CMD_DOMAIN_GET: dump
 * @DS_CMD_DEV_GET: dump: RDMA devices, used or refused (DS_A_REASON says why)
 * @DS_CMD_PEER_ADD: do: DS_A_DOMAIN, DS_A_IPV4 or DS_A_IPV6, optionally DS_A_PORT,
 *	DS_A_TIMEOUT_MS; waits until connected and gives DS_A_NODE. On
 *	-ETIMEDOUT the peer stays and goes on trying
 * @DS_CMD_PEER_DEL: do: DS_A_NODE or the address; waits until drained
 * @DS_CMD_PEER_GET: dump: peers that this host connects to, and hosts connected to it
 * @DS_CMD_SEG_ADD: do: DS_A_LENGTH, DS_A_DOMAIN, optionally DS_A_ACCESS,
 *	DS_A_NUMA_NODE, DS_A_NAME, DS_A_FD; gives DS_A_SEGMENT
 * @DS_CMD_SEG_DEL: do: DS_A_SEGMENT; returns when no peer can reach its pages
 * @DS_CMD_SEG_REVOKE: do: DS_A_SEGMENT; takes all attachers' keys away, keeps the data
 * @DS_CMD_SEG_GET: dump: segments of this host
 * @DS_CMD_SPACE_ADD: do: DS_A_SPACE, DS_A_DOMAIN, DS_A_SERVERS, DS_A_SERVER_SHIFT,
 *	optionally DS_A_UID, DS_A_ACCESS
 * @DS_CMD_SPACE_DEL: do: DS_A_SPACE; detaches its servers, waits until drained
 * @DS_CMD_SPACE_GET: dump
 * @DS_CMD_ATTACH_ADD: do: DS_A_SPACE, DS_A_SERVER, DS_A_NODE, DS_A_SEGMENT
 * @DS_CMD_ATTACH_DEL: do: DS_A_SPACE, DS_A_SERVER; waits until drained
 * @DS_CMD_ATTACH_GET: dump: servers of spaces with their state
 * @DS_CMD_FILE_GET: dump: open /dev/ds, by process (what keeps the module loaded)
 * @DS_CMD_STAT_GET: dump: counters, one a message: DS_A_OBJECT, DS_A_NAME, DS_A_VALUE
 * @DS_CMD_EVENT: multicast: DS_A_EVENT and what identifies the object
 * @DS_CMD_RDM_SPACE_ADD: do: DS_A_RDM_SPACE, DS_A_SEGMENT, optionally DS_A_LENGTH (else
 *	the segment's), DS_A_KIND, DS_A_PAGE_SHIFT, DS_A_TENANT, DS_A_ACCESS, DS_A_MAC_KEY
 * @DS_CMD_RDM_SPACE_DEL: do: DS_A_RDM_SPACE; no request is at work when it returns
 * @DS_CMD_RDM_SPACE_GET: dump: spaces of the packet service
 * @DS_CMD_RDM_LISTEN_ADD: do: DS_A_WIRE, DS_A_IPV4, optionally DS_A_PORT, DS_A_FLAGS
 * @DS_CMD_RDM_LISTEN_DEL: do: DS_A_WIRE, DS_A_IPV4, optionally DS_A_PORT
 * @DS_CMD_RDM_LISTEN_GET: dump: where packets are received by UDP
 * @DS_CMD_RDM_PEER_ADD: do: DS_A_IPV4, optionally DS_A_TENANT: the host may send packets
 * @DS_CMD_RDM_PEER_DEL: do: DS_A_IPV4
 * @DS_CMD_RDM_PEER_GET: dump: hosts that may
 * @DS_CMD_RDM_SELFTEST: do: optionally DS_A_VALUE, requests; drives the service with
 *	packets of its own and gives DS_A_PASSED and DS_A_FAILED
 * @DS_CMD_TOKEN_GET: dump: tokens of the RDMA objects of this host; keys of memory regions,
 *	where a token is and how it is used only for who has CAP_NET_ADMIN in the initial user
 *	namespace. It is resumed by index: a token that is there all the time is given once,
 *	whatever comes and goes; an import, which numbers anew, interrupts the dump
 * @DS_CMD_TOKEN_STAT_GET: dump: counters of the token cache, one a message: DS_A_DEVICE,
 *	DS_A_NAME, and DS_A_VALUE or DS_A_HISTOGRAM. What is not of an RDMA device has
 *	"(packets)", memory that only packets reach, or "(fetch)", batch and mailbox
 * @DS_CMD_TOKEN_PARAM_GET: dump: parameters of the token cache: DS_A_NAME, DS_A_SETTING,
 *	DS_A_LEAST, DS_A_MOST, DS_A_DEFAULT, perhaps DS_A_REASON; one with DS_A_LEAST equal
 *	to DS_A_MOST cannot be set. Those of a trust domain, SHARE_MIN and SHARE_MAX, have
 *	DS_A_DOMAIN, and are given for domains that have a share of L1
 * @DS_CMD_TOKEN_SET: do: DS_A_NAME, DS_A_SETTING, of a trust domain DS_A_DOMAIN
 * @DS_CMD_TOKEN_IMPORT: do: DS_A_DEVICE, optionally DS_A_OBJECTS, DS_A_PART, DS_A_PARTS:
 *	objects of other users of a device; the last part puts all parts in the place of
 *	what was imported of the device before
 * @DS_CMD_TOKEN_FORGET: do: DS_A_DEVICE; -ENOENT when nothing was imported of it
 * @DS_CMD_TOKEN_PIN: do: DS_A_TOKEN stays in its tier until it is revoked or unpinned;
 *	at most half of L1 can be pinned, -EDQUOT
 * @DS_CMD_TOKEN_UNPIN: do: DS_A_TOKEN no longer has to
 */
enum ds_cmd {
	DS_CMD_UNSPEC = 0,
	DS_CMD_NODE_GET = 1,
	DS_CMD_NODE_SET = 2,
	DS_CMD_DOMAIN_ADD = 3,
	DS_CMD_DOMAIN_DEL = 4,
	DS_CMD_DOMAIN_GET = 5,
	DS_CMD_DEV_GET = 6,
	DS_CMD_PEER_ADD = 7,
	DS_CMD_PEER_DEL = 8,
	DS_CMD_PEER_GET = 9,
	DS_CMD_SEG_ADD = 10,
	DS_CMD_SEG_DEL = 11,
	DS_CMD_SEG_REVOKE = 12,
	DS_CMD_SEG_GET = 13,
	DS_CMD_SPACE_ADD = 14,
	DS_CMD_SPACE_DEL = 15,
	DS_CMD_SPACE_GET = 16,
	DS_CMD_ATTACH_ADD = 17,
	DS_CMD_ATTACH_DEL = 18,
	DS_CMD_ATTACH_GET = 19,
	DS_CMD_FILE_GET = 20,
	DS_CMD_STAT_GET = 21,
	DS_CMD_EVENT = 22,
	DS_CMD_RDM_SPACE_ADD = 23,
	DS_CMD_RDM_SPACE_DEL = 24,
	DS_CMD_RDM_SPACE_GET = 25,
	DS_CMD_RDM_LISTEN_ADD = 26,
	DS_CMD_RDM_LISTEN_DEL = 27,
	DS_CMD_RDM_LISTEN_GET = 28,
	DS_CMD_RDM_PEER_ADD = 29,
	DS_CMD_RDM_PEER_DEL = 30,
	DS_CMD_RDM_PEER_GET = 31,
	DS_CMD_RDM_SELFTEST = 32,
	DS_CMD_TOKEN_GET = 33,
	DS_CMD_TOKEN_STAT_GET = 34,
	DS_CMD_TOKEN_PARAM_GET = 35,
	DS_CMD_TOKEN_SET = 36,
	DS_CMD_TOKEN_IMPORT = 37,
	DS_CMD_TOKEN_FORGET = 38,
	DS_CMD_TOKEN_PIN = 39,
	DS_CMD_TOKEN_UNPIN = 40,
};

#define DS_CMD_MAX	DS_CMD_TOKEN_UNPIN

/**
 * enum ds_attr - attributes; never renumbered
 * @DS_A_UNSPEC: unused
 * @DS_A_PAD: padding of 64-bit attributes
 * @DS_A_NODE: u32, node number, 1 to 65535
 * @DS_A_UUID: binary, DS_UUID_LEN, of a host, made at module load
 * @DS_A_INCARNATION: u64, of a host; another one means that it restarted
 * @DS_A_GROUP: u64, only hosts of one group connect to each other
 * @DS_A_DOMAIN: u32, trust domain, 1 to 65535
 * @DS_A_KEY: binary, DS_DOMAIN_KEY_LEN; never given back
 * @DS_A_DEVICE: string, RDMA device
 * @DS_A_REASON: string, why a device or a peer is not usable; what is to be known of the
 *	value of a parameter
 * @DS_A_IPV4: u32, network byte order
 * @DS_A_IPV6: binary, 16
 * @DS_A_PORT: u16, port of the peer's listener
 * @DS_A_STATE: u32, enum ds_peer_state, ds_dev_state or ds_attach_state; of a queue pair
 *	0 RESET, 1 INIT, 2 RTR, 3 RTS, 4 SQD, 5 SQE, 6 the error state
 * @DS_A_PASSIVE: u8, 1 if the peer connected to us, 0 if we connected to it
 * @DS_A_TIMEOUT_MS: u32, longest wait of the command, default 10 s
 * @DS_A_SEGMENT: u64, number of a segment, never used twice by a host
 * @DS_A_LENGTH: u64, bytes
 * @DS_A_ACCESS: u32, DS_ACCESS_* of ds/ioctl.h; default all
 * @DS_A_NUMA_NODE: s32, default -1
 * @DS_A_NAME: string, at most 31 characters: of a segment, of a counter, of a parameter
 * @DS_A_SPACE: u32, number of a space, at least 1
 * @DS_A_SERVERS: u32, servers of a space, 1 to 1024
 * @DS_A_SERVER_SHIFT: u32, log2 of a server's size, 24 to 40
 * @DS_A_SERVER: u32, server index within a space
 * @DS_A_UID: u32, user who may open the space; without it all who may open /dev/ds
 * @DS_A_PID: u32, process
 * @DS_A_COMM: string, its name
 * @DS_A_OBJECT: string, what a counter belongs to, as "peer 2" or "rdm 1"
 * @DS_A_VALUE: u64, a counter's value
 * @DS_A_EVENT: u32, enum ds_event
 * @DS_A_ATTACHED: u32, attachers of a segment, or attached servers of a space
 * @DS_A_FLAGS: u32, of a segment: DS_SEG_* of ds/ioctl.h; of a listener: DS_RDM_*; of a
 *	token: DS_TOKEN_PINNED and the others
 * @DS_A_VERSION: string, version of the module
 * @DS_A_LANES: u32, bulk queue pairs to a peer
 * @DS_A_RTT_NS: u64, smoothed round trip of a peer's control messages
 * @DS_A_MTU: u32, path MTU in bytes
 * @DS_A_BUFS: u32, buffers of an open file
 * @DS_A_CHUNKS: u32, memory regions of a segment or an attachment
 * @DS_A_RDM_SPACE: u32, number of a space of the packet service, 0 to 65535; wire
 *	version 1 reaches those up to 255
 * @DS_A_TENANT: u32, whose the space is, default 0; of a peer: the only one for whom it
 *	may speak
 * @DS_A_KIND: u32, enum ds_packet_kind of ds/packet.h, default DS_PACKET_HASH
 * @DS_A_PAGE_SHIFT: u32, log2 of a page's bytes, 12 to 21, default 12
 * @DS_A_MAC_KEY: binary, DS_PACKET_KEY_LEN; never given back
 * @DS_A_KEYED: u8, 1 if a space has a key
 * @DS_A_WIRE: u32, version of packets, 1 or 2
 * @DS_A_FD: u32, file of the caller that stands behind a segment: its content is read
 *	first, and WRITE_PERSISTENT reaches it
 * @DS_A_ALLOCATIONS: u64, of a space
 * @DS_A_FREE: u64, bytes of a space that are free
 * @DS_A_LARGEST: u64, bytes of its longest free block
 * @DS_A_GENERATION: u32, of its addresses; of a token
 * @DS_A_TABLE: u64, bytes of its translation
 * @DS_A_SESSIONS: u32, open sessions of a space
 * @DS_A_PASSED: u64, requests of a selftest that were answered rightly
 * @DS_A_FAILED: u64, the others
 * @DS_A_SETTING: u64, value of a parameter
 * @DS_A_OBJECTS: binary, at most DS_TOKEN_OBJECTS_MAX struct ds_token_object of ds/token.h
 * @DS_A_PART: u32, which message of an import it is, from 1, the default
 * @DS_A_PARTS: u32, how many there are, default 1
 * @DS_A_TOKEN: u32, handle (ds/token.h)
 * @DS_A_TYPE: u32, enum ds_token_type
 * @DS_A_TIER: u32, where a token is: 1 to 3
 * @DS_A_SLOT: u32, its slot there, of L1 and L2
 * @DS_A_USES: u32, operations and moves that hold it now
 * @DS_A_WORD_VERSION: u32, 0 to 1023: changes with each move and each write of a token
 * @DS_A_NUMBER: u32, that the device gave a PD, a CQ or a queue pair
 * @DS_A_PD: u32, handle of the token of the protection domain, if it is known
 * @DS_A_LKEY: u32, local key of a memory region, 0 for memory of another host
 * @DS_A_RKEY: u32, its remote key, 0 if it has none
 * @DS_A_IOVA: u64, I/O address of its first byte
 * @DS_A_IB_ACCESS: u32, IB_ACCESS_* of a memory region or of the peer of a queue pair
 * @DS_A_ENTRIES: u32, of a CQ
 * @DS_A_VECTOR: u32, its completion vector
 * @DS_A_QP_TYPE: u32, as RDMA_NLDEV_ATTR_RES_TYPE: 1 GSI, 2 RC, 4 UD, and others of imported
 *	queue pairs
 * @DS_A_SCQ: u32, handle of the token of the CQ of sends, if it is known
 * @DS_A_RCQ: u32, likewise of receives
 * @DS_A_POSTED: u32, work requests posted to a queue pair, modulo 2^16
 * @DS_A_HISTOGRAM: binary, DS_TOKEN_BUCKETS u64: how often it took 2^i ns and more, but less
 *	than 2^(i+1); the last one counts all that is longer. Of look-ups a sample
 *	(parameter LATENCY_SAMPLING), of moves all
 * @DS_A_LEAST: u64, smallest value of a parameter
 * @DS_A_MOST: u64, largest value
 * @DS_A_DEFAULT: u64, what it is if nobody sets it; of one that cannot be set, as
 *	@DS_A_LEAST and @DS_A_MOST, its value
 * @DS_A_LAYOUT: u32, how a token is packed: DS_TOKEN_LAYOUT_NARROW or DS_TOKEN_LAYOUT_WIDE
 * @DS_A_PAGES: u64, of a memory region, one that is only begun included
 * @DS_A_CQ_FLAGS: u32, IB_CQ_FLAGS_* with which a CQ was made
 * @DS_A_SRQ: u8, 1 if the receives of a queue pair come from a shared queue
 */
enum ds_attr {
	DS_A_UNSPEC = 0,
	DS_A_PAD = 1,
	DS_A_NODE = 2,
	DS_A_UUID = 3,
	DS_A_INCARNATION = 4,
	DS_A_GROUP = 5,
	DS_A_DOMAIN = 6,
	DS_A_KEY = 7,
	DS_A_DEVICE = 8,
	DS_A_REASON = 9,
	DS_A_IPV4 = 10,
	DS_A_IPV6 = 11,
	DS_A_PORT = 12,
	DS_A_STATE = 13,
	DS_A_PASSIVE = 14,
	DS_A_TIMEOUT_MS = 15,
	DS_A_SEGMENT = 16,
	DS_A_LENGTH = 17,
	DS_A_ACCESS = 18,
	DS_A_NUMA_NODE = 19,
	DS_A_NAME = 20,
	DS_A_SPACE = 21,
	DS_A_SERVERS = 22,
	DS_A_SERVER_SHIFT = 23,
	DS_A_SERVER = 24,
	DS_A_UID = 25,
	DS_A_PID = 26,
	DS_A_COMM = 27,
	DS_A_OBJECT = 28,
	DS_A_VALUE = 29,
	DS_A_EVENT = 30,
	DS_A_ATTACHED = 31,
	DS_A_FLAGS = 32,
	DS_A_VERSION = 33,
	DS_A_LANES = 34,
	DS_A_RTT_NS = 35,
	DS_A_MTU = 36,
	DS_A_BUFS = 37,
	DS_A_CHUNKS = 38,
	DS_A_RDM_SPACE = 39,
	DS_A_TENANT = 40,
	DS_A_KIND = 41,
	DS_A_PAGE_SHIFT = 42,
	DS_A_MAC_KEY = 43,
	DS_A_KEYED = 44,
	DS_A_WIRE = 45,
	DS_A_FD = 46,
	DS_A_ALLOCATIONS = 47,
	DS_A_FREE = 48,
	DS_A_LARGEST = 49,
	DS_A_GENERATION = 50,
	DS_A_TABLE = 51,
	DS_A_SESSIONS = 52,
	DS_A_PASSED = 53,
	DS_A_FAILED = 54,
	DS_A_SETTING = 55,
	DS_A_OBJECTS = 56,
	DS_A_PART = 57,
	DS_A_PARTS = 58,
	DS_A_TOKEN = 59,
	DS_A_TYPE = 60,
	DS_A_TIER = 61,
	DS_A_SLOT = 62,
	DS_A_USES = 63,
	DS_A_WORD_VERSION = 64,
	DS_A_NUMBER = 65,
	DS_A_PD = 66,
	DS_A_LKEY = 67,
	DS_A_RKEY = 68,
	DS_A_IOVA = 69,
	DS_A_IB_ACCESS = 70,
	DS_A_ENTRIES = 71,
	DS_A_VECTOR = 72,
	DS_A_QP_TYPE = 73,
	DS_A_SCQ = 74,
	DS_A_RCQ = 75,
	DS_A_POSTED = 76,
	DS_A_HISTOGRAM = 77,
	DS_A_LEAST = 78,
	DS_A_MOST = 79,
	DS_A_DEFAULT = 80,
	DS_A_LAYOUT = 81,
	DS_A_PAGES = 82,
	DS_A_CQ_FLAGS = 83,
	DS_A_SRQ = 84,
};

#define DS_A_MAX	DS_A_SRQ

#define DS_TOKEN_BUCKETS	32	/* of DS_A_HISTOGRAM */

#define DS_RDM_ANSWER_WRITES	(1u << 0)	/* wire version 1: WRITE is answered */

/**
 * enum ds_peer_state - DS_A_STATE of a peer
 * @DS_PEER_CONNECTING: no connection; tries with back-off
 * @DS_PEER_UP: connected and authenticated
 * @DS_PEER_REFUSED: the other side refused (DS_A_REASON); tries again, slowly
 * @DS_PEER_CLOSING: being deleted
 */
enum ds_peer_state {
	DS_PEER_CONNECTING = 0,
	DS_PEER_UP = 1,
	DS_PEER_REFUSED = 2,
	DS_PEER_CLOSING = 3,
};

/**
 * enum ds_dev_state - DS_A_STATE of a device
 * @DS_DEV_USED: DS uses it
 * @DS_DEV_REFUSED: it lacks something (DS_A_REASON)
 */
enum ds_dev_state {
	DS_DEV_USED = 0,
	DS_DEV_REFUSED = 1,
};

/**
 * enum ds_attach_state - DS_A_STATE of a server of a space
 * @DS_ATTACH_DOWN: the peer is not connected; comes back by itself
 * @DS_ATTACH_UP: usable
 * @DS_ATTACH_LOST: the peer restarted or deleted the segment: the data is gone
 * @DS_ATTACH_REVOKED: the peer took the keys away; attach again to ask anew
 */
enum ds_attach_state {
	DS_ATTACH_DOWN = 0,
	DS_ATTACH_UP = 1,
	DS_ATTACH_LOST = 2,
	DS_ATTACH_REVOKED = 3,
};

/**
 * enum ds_event - DS_A_EVENT
 * @DS_EVENT_DEV_ADDED: DS_A_DEVICE, DS_A_STATE
 * @DS_EVENT_DEV_REMOVED: DS_A_DEVICE
 * @DS_EVENT_PEER_UP: DS_A_NODE, DS_A_PASSIVE
 * @DS_EVENT_PEER_DOWN: DS_A_NODE, DS_A_PASSIVE, DS_A_REASON
 * @DS_EVENT_SEG_ADDED: DS_A_SEGMENT, DS_A_LENGTH
 * @DS_EVENT_SEG_REMOVED: DS_A_SEGMENT
 * @DS_EVENT_SEG_REVOKED: DS_A_SEGMENT
 * @DS_EVENT_ATTACH_STATE: DS_A_SPACE, DS_A_SERVER, DS_A_NODE, DS_A_STATE
 */
enum ds_event {
	DS_EVENT_DEV_ADDED = 1,
	DS_EVENT_DEV_REMOVED = 2,
	DS_EVENT_PEER_UP = 3,
	DS_EVENT_PEER_DOWN = 4,
	DS_EVENT_SEG_ADDED = 5,
	DS_EVENT_SEG_REMOVED = 6,
	DS_EVENT_SEG_REVOKED = 7,
	DS_EVENT_ATTACH_STATE = 8,
};

#endif /* _UAPI_DS_NETLINK_H */

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: where packets come in by UDP, and how they are answered.
 *
 * Normal operation. The stack hands each datagram of a listener's socket to
 * ds_udp_receive(), in softirq; what no caller has sent is dropped there, the rest
 * waits for its turn (caller.c). The one worker serves it and sends the answer.
 *
 * The stack has checked the headers' lengths and checksums by then; a UDP checksum of
 * 0 is none. IP options are refused, and so is a datagram that is longer than the
 * link's MTU and has come in fragments.
 */
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <linux/slab.h>
#include <linux/udp.h>
#include <net/sock.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>
#include <uapi/ds/netlink.h>
#include "netlink.h"
#include "stats.h"
#include "trace.h"
#include "caller.h"
#include "packet1.h"
#include "packet2.h"
#include "packet_udp.h"
#include "rdm_space.h"
#include "serve.h"

#define DS_UDP_HEADERS	((u32)(sizeof(struct iphdr) + sizeof(struct udphdr)))
#define DS_UDP_MAX	(65535u - DS_UDP_HEADERS)
#define DS_UDP_SNDBUF	(4 << 20)	/* answers to a host that has gone may wait for ARP there */

/**
 * struct ds_udp - a listener
 * @link: in the list of listeners
 * @attr: as made
 * @sock: its socket
 * @reply: room for an answer, the worker's
 */
struct ds_udp {
	struct list_head	link;
	struct ds_udp_attr	attr;
	struct socket		*sock;
	u8			*reply;
};

static LIST_HEAD(ds_udps);
static DEFINE_MUTEX(ds_udps_lock);

/* ---- receive ---- */

static int ds_udp_drop(struct sk_buff *skb, enum ds_stat why)
{
	ds_stat_inc(NULL, why);
	kfree_skb(skb);
	return 0;
}

/* For the stack: takes each datagram of the socket. Context: softirq, RCU. */
static int ds_udp_receive(struct sock *sk, struct sk_buff *skb)
{
	struct ds_udp *udp = rcu_dereference_sk_user_data(sk);
	struct ds_caller *caller;

	ds_stat_inc(NULL, DS_STAT_PACKETS_RECEIVED);
	if (!udp || ip_hdr(skb)->ihl != 5 || skb->len < sizeof(struct udphdr))
		return ds_udp_drop(skb, DS_STAT_PACKETS_MALFORMED);
	caller = ds_caller_find(ip_hdr(skb)->saddr);
	if (!caller)
		return ds_udp_drop(skb, DS_STAT_PACKETS_STRANGERS);
	if (!ds_caller_enqueue(caller, udp, skb))
		ds_stat_inc(NULL, DS_STAT_PACKETS_QUEUE_FULL);
	return 0;
}

/* ---- serve ---- */

/**
 * struct ds_udp_out - where the answers to a datagram go
 * @out: of serve.h
 * @udp: by which listener
 * @to: to whom
 */
struct ds_udp_out {
	struct ds_packet_out	out;
	struct ds_udp		*udp;
	struct sockaddr_in	to;
};

static void ds_udp_emit(struct ds_packet_out *out, u32 length)
{
	struct ds_udp_out *o = container_of(out, struct ds_udp_out, out);
	struct msghdr msg = {
		.msg_name	= &o->to,
		.msg_namelen	= sizeof(o->to),
		.msg_flags	= MSG_DONTWAIT,	/* or one host could stop all */
	};
	struct kvec vec = { .iov_base = out->packet, .iov_len = length };
	int sent;

	sent = kernel_sendmsg(o->udp->sock, &msg, &vec, 1, length);
	ds_stat_inc(NULL, sent == length ? DS_STAT_PACKETS_SENT : DS_STAT_PACKETS_UNSENT);
	/* The rest of a long READ is asked for again; answers to others need room, too. */
	if (sent != length || sk_wmem_alloc_get(o->udp->sock->sk) > DS_UDP_SNDBUF / 2)
		out->room = 0;
}

/* Who may speak for one tenant only has no part in another's space. */
static struct ds_rdm_space *ds_udp_enter(const struct ds_caller *caller, u32 id)
{
	struct ds_rdm_space *space = ds_rdm_space_enter(id);

	if (space && caller->bound && caller->tenant != space->core.attr.tenant) {
		ds_rdm_space_leave(space);
		return NULL;
	}
	return space;
}

static void ds_udp_serve1(struct ds_udp_out *o, struct ds_caller *caller,
			  const struct ds_packet *p)
{
	bool answer = o->udp->attr.flags & DS_RDM_ANSWER_WRITES;
	struct ds_rdm_space *space = ds_udp_enter(caller, p->space);

	ds_packet_serve1(space ? &space->core : NULL, p, answer, &caller->replies, &o->out);
	if (space)
		ds_rdm_space_leave(space);
}

static void ds_udp_serve2(struct ds_udp_out *o, struct ds_caller *caller,
			  const struct ds_packet *p, const void *packet, u32 size)
{
	struct ds_rdm_space *space = ds_udp_enter(caller, p->space);

	/* Without a key there is nobody to say no to. */
	if (space && !ds_packet2_authentic(packet, size, ds_packet_space_key(&space->core)))
		ds_stat_inc(NULL, DS_STAT_PACKETS_FORGED);
	else
		ds_packet_serve2(space ? &space->core : NULL, be32_to_cpu(caller->addr), p,
				 &o->out);
	if (space)
		ds_rdm_space_leave(space);
}

static int ds_udp_parse(const struct ds_udp *udp, const void *packet, u32 length,
			struct ds_packet *p)
{
	int size;

	if (udp->attr.wire == 1)
		return ds_packet1_parse(packet, length, p) ?: length;
	size = ds_packet2_parse(packet, length, false, p);
	return size == length ? size : -EBADMSG;	/* one packet a datagram */
}

/* Largest datagram of the link that it came by. The device may be gone: no link. */
static u32 ds_udp_room(int ifindex)
{
	struct net_device *dev;
	u32 mtu = 0;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(&init_net, ifindex);
	if (dev)
		mtu = READ_ONCE(dev->mtu);
	rcu_read_unlock();
	return clamp(mtu, DS_UDP_HEADERS, DS_UDP_MAX + DS_UDP_HEADERS) - DS_UDP_HEADERS;
}

void ds_udp_serve(struct ds_udp *udp, struct ds_caller *caller, struct sk_buff *skb)
{
	struct ds_udp_out o = { .udp = udp };
	struct ds_packet p;
	const void *packet;
	int size;

	if (skb_linearize(skb)) {
		ds_stat_inc(NULL, DS_STAT_PACKETS_MALFORMED);
		return;
	}
	packet = skb->data + sizeof(struct udphdr);
	size = ds_udp_parse(udp, packet, skb->len - sizeof(struct udphdr), &p);
	if (size < 0) {
		ds_stat_inc(NULL, DS_STAT_PACKETS_MALFORMED);
		return;
	}
	o.out.packet = udp->reply;
	o.out.room = ds_udp_room(skb->skb_iif);
	o.out.emit = ds_udp_emit;
	o.to.sin_family = AF_INET;
	o.to.sin_addr.s_addr = ip_hdr(skb)->saddr;
	o.to.sin_port = udp_hdr(skb)->source;
	if (size > o.out.room && !p.status)
		p.status = DS_PACKET_MTU;
	trace_ds_packet(udp->attr.wire, be32_to_cpu(caller->addr), &p);
	if (udp->attr.wire == 1)
		ds_udp_serve1(&o, caller, &p);
	else
		ds_udp_serve2(&o, caller, &p, packet, size);
}

/* ---- listeners ---- */

static int ds_udp_bind(struct ds_udp *udp, struct netlink_ext_ack *extack)
{
	struct sockaddr_in addr = {
		.sin_family		= AF_INET,
		.sin_addr.s_addr	= udp->attr.addr,
		.sin_port		= htons(udp->attr.port),
	};
	int err;

	err = kernel_bind(udp->sock, (struct sockaddr *)&addr, sizeof(addr));
	if (err == -EADDRINUSE)
		NL_SET_ERR_MSG(extack, "the port is taken; choose another");
	else if (err == -EADDRNOTAVAIL)
		NL_SET_ERR_MSG(extack, "this is no address of this host");
	return err;
}

static void ds_udp_open(struct ds_udp *udp)
{
	struct sock *sk = udp->sock->sk;

	/* No answer is in fragments, and no stranger's ICMP message makes them shorter. */
	ip_sock_set_mtu_discover(sk, IP_PMTUDISC_PROBE);
	WRITE_ONCE(sk->sk_sndbuf, DS_UDP_SNDBUF);
	rcu_assign_sk_user_data(sk, udp);
	udp_sk(sk)->encap_rcv = ds_udp_receive;
	WRITE_ONCE(udp_sk(sk)->encap_type, 1);
	udp_tunnel_encap_enable(sk);
}

static struct ds_udp *ds_udp_make(const struct ds_udp_attr *attr, struct netlink_ext_ack *extack)
{
	struct ds_udp *udp;
	int err = -ENOMEM;

	udp = kzalloc(sizeof(*udp), GFP_KERNEL_ACCOUNT);
	if (!udp)
		return ERR_PTR(err);
	udp->attr = *attr;
	udp->reply = kvmalloc(DS_UDP_MAX, GFP_KERNEL_ACCOUNT);
	if (!udp->reply)
		goto err_free;
	err = sock_create_kern(&init_net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &udp->sock);
	if (err)
		goto err_reply;
	err = ds_udp_bind(udp, extack);
	if (err)
		goto err_sock;
	ds_udp_open(udp);
	return udp;

err_sock:
	sock_release(udp->sock);
err_reply:
	kvfree(udp->reply);
err_free:
	kfree(udp);
	return ERR_PTR(err);
}

static void ds_udp_end(struct ds_udp *udp)
{
	rcu_assign_sk_user_data(udp->sock->sk, NULL);
	synchronize_rcu();
	ds_callers_forget(udp);
	kernel_sock_shutdown(udp->sock, SHUT_RDWR);
	sock_release(udp->sock);
	kvfree(udp->reply);
	kfree(udp);
}

static struct ds_udp *ds_udp_find(const struct ds_udp_attr *attr)
{
	struct ds_udp *udp;

	lockdep_assert_held(&ds_udps_lock);
	list_for_each_entry(udp, &ds_udps, link) {
		if (udp->attr.wire == attr->wire && udp->attr.addr == attr->addr &&
		    udp->attr.port == attr->port)
			return udp;
	}
	return NULL;
}

int ds_udp_add(const struct ds_udp_attr *attr, struct netlink_ext_ack *extack)
{
	struct ds_udp *udp;

	udp = ds_udp_make(attr, extack);
	if (IS_ERR(udp))
		return PTR_ERR(udp);
	mutex_lock(&ds_udps_lock);
	list_add_tail(&udp->link, &ds_udps);
	ds_netlink_changed(DS_CMD_RDM_LISTEN_GET);
	mutex_unlock(&ds_udps_lock);
	return 0;
}

int ds_udp_del(const struct ds_udp_attr *attr, struct netlink_ext_ack *extack)
{
	struct ds_udp *udp;

	mutex_lock(&ds_udps_lock);
	udp = ds_udp_find(attr);
	if (udp) {
		list_del(&udp->link);
		ds_netlink_changed(DS_CMD_RDM_LISTEN_GET);
	}
	mutex_unlock(&ds_udps_lock);
	if (!udp) {
		NL_SET_ERR_MSG(extack, "no packets are received there");
		return -ENOENT;
	}
	ds_udp_end(udp);
	return 0;
}

int ds_udp_for_each(int (*fn)(const struct ds_udp_attr *attr, void *ctx), void *ctx)
{
	struct ds_udp *udp;
	int ret = 0;

	mutex_lock(&ds_udps_lock);
	list_for_each_entry(udp, &ds_udps, link) {
		ret = fn(&udp->attr, ctx);
		if (ret)
			break;
	}
	mutex_unlock(&ds_udps_lock);
	return ret;
}

void ds_udp_exit(void)
{
	struct ds_udp *udp, *next;

	list_for_each_entry_safe(udp, next, &ds_udps, link) {
		list_del(&udp->link);
		ds_udp_end(udp);
	}
}

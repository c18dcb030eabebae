// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: a UDP echo in the kernel, as good as it is simple: what the packet service is
 * compared with. It knows nothing of ds.ko.
 *
 * how=thread: a thread receives and answers, in the way of any kernel server.
 * how=encap: the stack hands datagrams over in softirq, as it does to tunnels, and a
 * work item answers. The faster one of them is the fair opponent.
 */
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/skbuff.h>
#include <linux/udp.h>
#include <linux/workqueue.h>
#include <net/sock.h>
#include <net/udp.h>
#include <net/udp_tunnel.h>

#define DS_ECHO_ROOM	65507	/* the longest payload of a datagram */
#define DS_ECHO_QUEUE	1024	/* datagrams that wait for the work item */

static unsigned short port = 7;
module_param(port, ushort, 0444);
MODULE_PARM_DESC(port, "UDP port (7)");

static unsigned int reply;
module_param(reply, uint, 0444);
MODULE_PARM_DESC(reply, "bytes of a shorter datagram's answer, filled up with zeros (0: as long as it came)");

static char *how = "thread";
module_param(how, charp, 0444);
MODULE_PARM_DESC(how, "thread or encap");

static struct socket *ds_echo_sock;
static u8 *ds_echo_buf;		/* of the one thread or work item */

/* ---- answer ---- */

static void ds_echo_answer(struct sockaddr_in *to, size_t length)
{
	struct msghdr msg = { .msg_name = to, .msg_namelen = sizeof(*to) };
	struct kvec vec = { .iov_base = ds_echo_buf };

	if (length < reply) {
		memset(ds_echo_buf + length, 0, reply - length);
		length = reply;
	}
	vec.iov_len = length;
	kernel_sendmsg(ds_echo_sock, &msg, &vec, 1, length);	/* UDP may lose it */
}

/* ---- how=thread ---- */

static struct task_struct *ds_echo_thread;

static int ds_echo_run(void *unused)
{
	struct sockaddr_in from;
	int length;

	while (!kthread_should_stop()) {
		struct msghdr msg = { .msg_name = &from, .msg_namelen = sizeof(from) };
		struct kvec vec = { .iov_base = ds_echo_buf, .iov_len = DS_ECHO_ROOM };

		length = kernel_recvmsg(ds_echo_sock, &msg, &vec, 1, DS_ECHO_ROOM, 0);
		if (length > 0)
			ds_echo_answer(&from, length);
	}
	return 0;
}

static int ds_echo_start_thread(void)
{
	ds_echo_thread = kthread_run(ds_echo_run, NULL, "ds_echo");
	return PTR_ERR_OR_ZERO(ds_echo_thread);
}

/* ---- how=encap ---- */

static struct sk_buff_head ds_echo_queue;

static void ds_echo_work(struct work_struct *work)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct sk_buff *skb;
	int length;

	while ((skb = skb_dequeue(&ds_echo_queue))) {
		length = skb->len - sizeof(struct udphdr);
		to.sin_addr.s_addr = ip_hdr(skb)->saddr;
		to.sin_port = udp_hdr(skb)->source;
		if (!skb_copy_bits(skb, sizeof(struct udphdr), ds_echo_buf, length))
			ds_echo_answer(&to, length);
		consume_skb(skb);
		cond_resched();
	}
}

static DECLARE_WORK(ds_echo_worker, ds_echo_work);

/* For the stack. Context: softirq, RCU. */
static int ds_echo_receive(struct sock *sk, struct sk_buff *skb)
{
	if (skb_queue_len_lockless(&ds_echo_queue) >= DS_ECHO_QUEUE) {
		kfree_skb(skb);
		return 0;
	}
	skb_queue_tail(&ds_echo_queue, skb);
	queue_work(system_unbound_wq, &ds_echo_worker);
	return 0;
}

static int ds_echo_start_encap(void)
{
	struct udp_sock *up = udp_sk(ds_echo_sock->sk);

	skb_queue_head_init(&ds_echo_queue);
	up->encap_rcv = ds_echo_receive;
	WRITE_ONCE(up->encap_type, 1);	/* any but 0 */
	udp_tunnel_encap_enable(ds_echo_sock->sk);
	return 0;
}

/* ---- module ---- */

static int ds_echo_open(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET, .sin_port = htons(port) };
	int err;

	ds_echo_buf = kvmalloc(DS_ECHO_ROOM, GFP_KERNEL);
	if (!ds_echo_buf)
		return -ENOMEM;
	err = sock_create_kern(&init_net, AF_INET, SOCK_DGRAM, IPPROTO_UDP, &ds_echo_sock);
	if (err)
		goto err_buf;
	err = kernel_bind(ds_echo_sock, (struct sockaddr *)&addr, sizeof(addr));
	if (!err)
		return 0;
	sock_release(ds_echo_sock);
err_buf:
	kvfree(ds_echo_buf);
	return err;
}

static int __init ds_echo_init(void)
{
	bool encap = !strcmp(how, "encap");
	int err;

	if ((!encap && strcmp(how, "thread")) || reply > DS_ECHO_ROOM)
		return -EINVAL;
	err = ds_echo_open();
	if (err)
		return err;
	err = encap ? ds_echo_start_encap() : ds_echo_start_thread();
	if (err) {
		sock_release(ds_echo_sock);
		kvfree(ds_echo_buf);
	}
	return err;
}

static void __exit ds_echo_exit(void)
{
	/* Nothing is received from now on; the thread that waits wakes up. */
	kernel_sock_shutdown(ds_echo_sock, SHUT_RDWR);
	if (ds_echo_thread) {
		kthread_stop(ds_echo_thread);
	} else {
		udp_sk(ds_echo_sock->sk)->encap_rcv = NULL;
		synchronize_rcu();
		cancel_work_sync(&ds_echo_worker);
		skb_queue_purge(&ds_echo_queue);
	}
	sock_release(ds_echo_sock);
	kvfree(ds_echo_buf);
}

module_init(ds_echo_init);
module_exit(ds_echo_exit);
MODULE_DESCRIPTION("UDP echo, for comparison");
MODULE_LICENSE("GPL");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: parameters, start and end of the module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/numa.h>
#include <linux/reboot.h>
#include <linux/suspend.h>
#include <linux/sysfs.h>
#include <linux/workqueue.h>
#include <net/genetlink.h>
#include <uapi/ds/netlink.h>
#include <uapi/ds/wire.h>
#include "buffer.h"
#include "chardev.h"
#include "conn.h"
#include "conn_list.h"
#include "debug.h"
#include "device.h"
#include "domain.h"
#include "msg.h"
#include "netlink.h"
#include "params.h"
#include "peer.h"
#include "rdm/caller.h"
#include "rdm/fence.h"
#include "rdm/packet_msg.h"
#include "rdm/packet_udp.h"
#include "rdm/rdm_space.h"
#include "rdm/segment.h"
#include "rdm/space.h"
#include "tokens.h"

/* Who waits for a token's writer spins, and there a writer can be preempted. */
#ifdef CONFIG_PREEMPT_RT
#error "ds: there is no support for kernels with PREEMPT_RT"
#endif

/* A parameter and its range; the module is not loaded with a value outside. */
struct ds_uint_param {
	unsigned int	*value;
	unsigned int	min;
	unsigned int	max;
};

static int ds_param_set(const char *text, const struct kernel_param *kp)
{
	const struct ds_uint_param *param = kp->arg;
	unsigned int value;

	if (!text || kstrtouint(text, 0, &value) || value < param->min || value > param->max) {
		pr_err("parameter %s must be a number from %u to %u, not \"%s\"\n",
		       kp->name, param->min, param->max, text ?: "");
		return -EINVAL;
	}
	WRITE_ONCE(*param->value, value);
	return 0;
}

static int ds_param_get(char *text, const struct kernel_param *kp)
{
	const struct ds_uint_param *param = kp->arg;

	return sysfs_emit(text, "%u\n", *param->value);
}

static const struct kernel_param_ops ds_param_ops = {
	.set = ds_param_set,
	.get = ds_param_get,
};

unsigned int ds_port = DS_WIRE_PORT;
static struct ds_uint_param ds_param_port = { &ds_port, 1024, 65535 };
module_param_cb(port, &ds_param_ops, &ds_param_port, 0444);
__MODULE_PARM_TYPE(port, "uint");
MODULE_PARM_DESC(port,
		 "Port on which peers connect, 1024 to 65535 (default 18527)");

unsigned int ds_qp_mul_factor = 2;
static struct ds_uint_param ds_param_qp_mul_factor = { &ds_qp_mul_factor, 1, DS_MAX_LANES };
module_param_cb(qp_mul_factor, &ds_param_ops, &ds_param_qp_mul_factor, 0444);
__MODULE_PARM_TYPE(qp_mul_factor, "uint");
MODULE_PARM_DESC(qp_mul_factor,
		 "Bulk queue pairs for each pair of NICs, 1 to 32 (default 2)");

unsigned int ds_heartbeat_ms = 1000;
static struct ds_uint_param ds_param_heartbeat_ms = { &ds_heartbeat_ms, 100, 10000 };
module_param_cb(heartbeat_ms, &ds_param_ops, &ds_param_heartbeat_ms, 0444);
__MODULE_PARM_TYPE(heartbeat_ms, "uint");
MODULE_PARM_DESC(heartbeat_ms,
		 "Milliseconds between heartbeats, 100 to 10000; a peer is gone after five (default 1000)");

unsigned int ds_sq_size = 512;
static struct ds_uint_param ds_param_sq_size = { &ds_sq_size, 64, 4096 };
module_param_cb(sq_size, &ds_param_ops, &ds_param_sq_size, 0444);
__MODULE_PARM_TYPE(sq_size, "uint");
MODULE_PARM_DESC(sq_size,
		 "Work requests in a bulk send queue, 64 to 4096 (default 512)");

unsigned int ds_max_buf_mb = 1024;
static struct ds_uint_param ds_param_max_buf_mb = { &ds_max_buf_mb, 1, UINT_MAX };
module_param_cb(max_buf_mb, &ds_param_ops, &ds_param_max_buf_mb, 0444);
__MODULE_PARM_TYPE(max_buf_mb, "uint");
MODULE_PARM_DESC(max_buf_mb,
		 "Most MiB of buffers of one open /dev/ds, at least 1 (default 1024)");

unsigned int ds_max_seg_mb;
static struct ds_uint_param ds_param_max_seg_mb = { &ds_max_seg_mb, 0, UINT_MAX };
module_param_cb(max_seg_mb, &ds_param_ops, &ds_param_max_seg_mb, 0444);
__MODULE_PARM_TYPE(max_seg_mb, "uint");
MODULE_PARM_DESC(max_seg_mb,
		 "Most MiB of segments of this host, 0 for no limit but the memory (default 0)");

unsigned int ds_max_peers = 256;
static struct ds_uint_param ds_param_max_peers = { &ds_max_peers, 1, 4096 };
module_param_cb(max_peers, &ds_param_ops, &ds_param_max_peers, 0444);
__MODULE_PARM_TYPE(max_peers, "uint");
MODULE_PARM_DESC(max_peers,
		 "Most hosts that may be connected to this host, 1 to 4096 (default 256)");

unsigned int ds_token_cache = 1;
static struct ds_uint_param ds_param_token_cache = { &ds_token_cache, 0, 1 };
module_param_cb(token_cache, &ds_param_ops, &ds_param_token_cache, 0644);
__MODULE_PARM_TYPE(token_cache, "uint");
MODULE_PARM_DESC(token_cache,
		 "0: operations pass the token cache by, to see what it costs (default 1)");

unsigned int ds_token_l1 = 8192;
static struct ds_uint_param ds_param_token_l1 = { &ds_token_l1, DS_POLICY_CAPACITY_MIN, DS_L1_MAX };
module_param_cb(token_l1, &ds_param_ops, &ds_param_token_l1, 0444);
__MODULE_PARM_TYPE(token_l1, "uint");
MODULE_PARM_DESC(token_l1,
		 "Tokens in L1 of the token cache, 16 to 2097150 (default 8192)");

static const char *const ds_token_policies[DS_POLICY_MODES] = {
	[DS_POLICY_DEFAULT]		= "default",
	[DS_POLICY_LITERAL_001]		= "literal-001",
	[DS_POLICY_ADAPTIVE_001]	= "adaptive-001",
};

static int ds_param_set_policy(const char *text, const struct kernel_param *kp)
{
	int mode = text ? sysfs_match_string(ds_token_policies, text) : -EINVAL;

	if (mode < 0) {
		pr_err("parameter %s must be default, literal-001 or adaptive-001, not \"%s\"\n",
		       kp->name, text ?: "");
		return -EINVAL;
	}
	ds_token_policy = mode;
	return 0;
}

static int ds_param_get_policy(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%s\n", ds_token_policy_name());
}

static const struct kernel_param_ops ds_param_policy_ops = {
	.set = ds_param_set_policy,
	.get = ds_param_get_policy,
};

unsigned int ds_token_policy = DS_POLICY_DEFAULT;
module_param_cb(token_policy, &ds_param_policy_ops, NULL, 0444);
__MODULE_PARM_TYPE(token_policy, "charp");
MODULE_PARM_DESC(token_policy,
		 "Who is in L1: default, or by document 001 literal-001 or adaptive-001");

const char *ds_token_policy_name(void)
{
	return ds_token_policies[ds_token_policy];
}

unsigned int ds_token_l2 = 4;
static struct ds_uint_param ds_param_token_l2 = { &ds_token_l2, 0, 32 };
module_param_cb(token_l2, &ds_param_ops, &ds_param_token_l2, 0444);
__MODULE_PARM_TYPE(token_l2, "uint");
MODULE_PARM_DESC(token_l2,
		 "MiB of L2 of the token cache, 0 to 32; 0 for none (default 4)");

static int ds_param_set_node(const char *text, const struct kernel_param *kp)
{
	int value;

	if (!text || kstrtoint(text, 0, &value) || value < DS_L2_NODE_BEST ||
	    value >= MAX_NUMNODES) {
		pr_err("parameter %s must be a number from %d to %d, not \"%s\"\n",
		       kp->name, DS_L2_NODE_BEST, MAX_NUMNODES - 1, text ?: "");
		return -EINVAL;
	}
	*(int *)kp->arg = value;
	return 0;
}

static const struct kernel_param_ops ds_param_node_ops = {
	.set = ds_param_set_node,
	.get = param_get_int,
};

int ds_token_l2_node = DS_L2_NODE_BEST;
module_param_cb(token_l2_node, &ds_param_node_ops, &ds_token_l2_node, 0444);
__MODULE_PARM_TYPE(token_l2_node, "int");
MODULE_PARM_DESC(token_l2_node,
		 "NUMA node of L2; -1 for the one without processors, if there is one (default -1)");

unsigned int ds_max_attaches = 4096;
static struct ds_uint_param ds_param_max_attaches = { &ds_max_attaches, 1, 65536 };
module_param_cb(max_attaches, &ds_param_ops, &ds_param_max_attaches, 0444);
__MODULE_PARM_TYPE(max_attaches, "uint");
MODULE_PARM_DESC(max_attaches,
		 "Most segments that one peer may attach, 1 to 65536 (default 4096)");

struct workqueue_struct *ds_fence_wq;
struct workqueue_struct *ds_wq;
struct workqueue_struct *ds_inbox_wq;
struct workqueue_struct *ds_packet_wq;
struct workqueue_struct *ds_close_wq;
struct workqueue_struct *ds_unpin_wq;
struct workqueue_struct *ds_storage_wq;

static void ds_queue_destroy(struct workqueue_struct *wq)
{
	if (wq)
		destroy_workqueue(wq);
}

static void ds_queues_exit(void)
{
	ds_queue_destroy(ds_fence_wq);
	ds_queue_destroy(ds_wq);
	ds_queue_destroy(ds_inbox_wq);
	ds_queue_destroy(ds_packet_wq);
	ds_queue_destroy(ds_close_wq);
	ds_queue_destroy(ds_unpin_wq);
	ds_queue_destroy(ds_storage_wq);
}

/*
 * Not WQ_MEM_RECLAIM: no memory is freed by way of DS, and the connection
 * manager, on which the teardown waits, has no rescuer either.
 */
static int ds_queues_init(void)
{
	ds_fence_wq = alloc_workqueue("ds_fence", WQ_UNBOUND, WQ_MAX_ACTIVE);
	ds_wq = alloc_workqueue("ds", WQ_UNBOUND, 0);
	ds_inbox_wq = alloc_workqueue("ds_inbox", WQ_UNBOUND, WQ_MAX_ACTIVE);
	ds_packet_wq = alloc_workqueue("ds_packet", WQ_UNBOUND, WQ_MAX_ACTIVE);
	ds_close_wq = alloc_workqueue("ds_close", WQ_UNBOUND, WQ_MAX_ACTIVE);
	ds_unpin_wq = alloc_workqueue("ds_unpin", WQ_UNBOUND, WQ_MAX_ACTIVE);
	ds_storage_wq = alloc_workqueue("ds_storage", WQ_UNBOUND, WQ_MAX_ACTIVE);
	if (ds_fence_wq && ds_wq && ds_inbox_wq && ds_packet_wq && ds_close_wq && ds_unpin_wq &&
	    ds_storage_wq)
		return 0;
	ds_queues_exit();
	return -ENOMEM;
}

/*
 * The host goes down or into another kernel: no peer may write to its memory
 * any more. Nobody gets in again once the listener is gone, and our peers, which
 * would connect anew, are ended first.
 */
static int ds_reboot(struct notifier_block *nb, unsigned long event, void *unused)
{
	ds_listen_stop();
	ds_peer_exit();
	ds_conn_close_device(NULL, "the host shuts down");
	return NOTIFY_DONE;
}

static struct notifier_block ds_reboot_nb = {
	.notifier_call = ds_reboot,
};

/* Peers cannot wait for memory that sleeps. */
static int ds_suspend(struct notifier_block *nb, unsigned long event, void *unused)
{
	if (event != PM_SUSPEND_PREPARE && event != PM_HIBERNATION_PREPARE)
		return NOTIFY_DONE;
	if (!ds_segment_any())
		return NOTIFY_DONE;
	pr_warn("no suspend while memory is exported; delete the segments first\n");
	return notifier_from_errno(-EBUSY);
}

static struct notifier_block ds_suspend_nb = {
	.notifier_call = ds_suspend,
};

/* No packet comes any more, then the spaces go. */
static void ds_packet_exit(void)
{
	ds_udp_exit();
	ds_callers_exit();
	ds_rdm_space_exit();
}

static int __init ds_init(void)
{
	int err;

	ds_node_init();

	err = ds_queues_init();
	if (err)
		goto err_domain;
	err = ds_tokens_init();
	if (err)
		goto err_queues;
	err = ds_msg_init();
	if (err)
		goto err_tokens;
	err = ds_segment_init();
	if (err)
		goto err_msg;
	err = ds_space_init();
	if (err)
		goto err_segment;
	err = ds_fence_init();
	if (err)
		goto err_space;
	err = ds_packet_msg_init();
	if (err)
		goto err_fence;
	err = ds_conn_init();
	if (err)
		goto err_packet_msg;
	err = ds_device_init();
	if (err)
		goto err_conn;
	err = ds_listen_start();
	if (err)
		goto err_device;
	err = register_reboot_notifier(&ds_reboot_nb);
	if (err)
		goto err_listen;
	err = register_pm_notifier(&ds_suspend_nb);
	if (err)
		goto err_reboot;
	/*
	 * What programs can open comes behind all that may well fail, as a port in use: who
	 * has it open holds the module, but a load that fails does not ask.
	 */
	err = ds_netlink_init();
	if (err)
		goto err_pm;
	err = ds_chardev_init();
	if (err)
		goto err_netlink;
	ds_debug_init();	/* cannot fail */
	return 0;

err_netlink:
	ds_peer_exit();
	ds_netlink_exit();
	ds_packet_exit();
err_pm:
	unregister_pm_notifier(&ds_suspend_nb);
err_reboot:
	unregister_reboot_notifier(&ds_reboot_nb);
err_listen:
	ds_listen_stop();
err_device:
	ds_device_exit();
err_conn:
	ds_conn_exit();
err_packet_msg:
	ds_packet_msg_exit();
err_fence:
	ds_fence_exit();
err_space:
	ds_space_exit();
err_segment:
	ds_segment_exit();
err_msg:
	ds_msg_exit();
err_tokens:
	ds_tokens_exit();
err_queues:
	ds_queues_exit();
err_domain:
	ds_domain_exit();
	return err;
}

/*
 * Nobody has /dev/ds open, or the module would not be unloaded. First no host
 * and no command gets in, then all connections go, then what they used.
 */
static void __exit ds_exit(void)
{
	unregister_pm_notifier(&ds_suspend_nb);
	unregister_reboot_notifier(&ds_reboot_nb);
	ds_listen_stop();
	ds_chardev_exit();
	ds_peer_exit();		/* commands that wait for a peer end, too */
	ds_netlink_exit();
	ds_packet_exit();
	ds_conn_close_device(NULL, "the module is unloaded");
	ds_device_exit();
	ds_conn_exit();
	ds_packet_msg_exit();
	ds_fence_exit();
	ds_space_exit();
	ds_segment_exit();
	ds_msg_exit();
	ds_buffer_exit();
	ds_tokens_exit();
	ds_queues_exit();
	ds_debug_exit();
	ds_domain_exit();
}

module_init(ds_init);
module_exit(ds_exit);

MODULE_DESCRIPTION("Disaggregated memory: memory of other hosts over RDMA");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1.0");
MODULE_ALIAS_GENL_FAMILY(DS_GENL_NAME);

// SPDX-License-Identifier: GPL-2.0-only
/*
 * DS: a queue pair that is connected to itself, on the first port of its device.
 */
#include <linux/etherdevice.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>
#include "verbs.h"

/* A RoCE v2 gid that is an IPv4 address if there is one, else the first gid. */
static const struct ib_gid_attr *ds_loop_gid(struct ib_device *ib)
{
	const struct ib_gid_attr *attr, *best = ERR_PTR(-ENODEV);
	bool v4;
	int i;

	for (i = 0; i < ib->port_data[1].immutable.gid_tbl_len; i++) {
		attr = rdma_get_gid_attr(ib, 1, i);
		if (IS_ERR(attr))
			continue;
		v4 = attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP &&
		     ipv6_addr_v4mapped((const struct in6_addr *)&attr->gid);
		if (!v4 && !IS_ERR(best)) {
			rdma_put_gid_attr(attr);
			continue;
		}
		if (!IS_ERR(best))
			rdma_put_gid_attr(best);
		best = attr;
		if (v4)
			break;
	}
	return best;
}

static void ds_loop_path(struct ib_device *ib, struct rdma_ah_attr *ah, u16 lid,
			 const struct ib_gid_attr *gid)
{
	union ib_gid dgid = gid->gid;
	struct net_device *ndev;

	ah->type = rdma_ah_find_type(ib, 1);
	rdma_ah_set_port_num(ah, 1);
	if (ah->type == RDMA_AH_ATTR_TYPE_ROCE) {
		rcu_read_lock();
		ndev = rdma_read_gid_attr_ndev_rcu(gid);
		if (!IS_ERR(ndev))
			ether_addr_copy(ah->roce.dmac, ndev->dev_addr);
		rcu_read_unlock();
	} else {
		rdma_ah_set_dlid(ah, lid);
	}
	rdma_move_grh_sgid_attr(ah, &dgid, 0, 64, 0, gid);
}

int ds_qp_connect_loop(struct ds_qp *qp)
{
	struct ib_device *ib = qp->ib->device;
	struct ib_port_attr port;
	struct ib_qp_attr attr = { 0 };
	const struct ib_gid_attr *gid;
	int ret;

	/* First, as only from here on can it be drained: RESET does not lead to ERR. */
	attr.qp_state = IB_QPS_INIT;
	attr.port_num = 1;
	attr.qp_access_flags = DS_QP_ACCESS;
	ret = ib_modify_qp(qp->ib, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			   IB_QP_ACCESS_FLAGS);
	if (ret)
		return ret;
	ds_qp_set_state(qp, IB_QPS_INIT);
	ret = ib_query_port(ib, 1, &port);
	if (ret)
		return ret;
	gid = ds_loop_gid(ib);
	if (IS_ERR(gid))
		return PTR_ERR(gid);

	attr.qp_state = IB_QPS_RTR;
	attr.path_mtu = port.active_mtu;
	attr.dest_qp_num = qp->ib->qp_num;
	attr.max_dest_rd_atomic = min(16, ib->attrs.max_qp_rd_atom);
	attr.min_rnr_timer = 12;
	ds_loop_path(ib, &attr.ah_attr, port.lid, gid);
	ret = ib_modify_qp(qp->ib, &attr, IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU |
			   IB_QP_DEST_QPN | IB_QP_RQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |
			   IB_QP_MIN_RNR_TIMER);
	if (ret)
		goto destroy_ah;
	ds_qp_set_state(qp, IB_QPS_RTR);

	attr.qp_state = IB_QPS_RTS;
	attr.timeout = 14;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = attr.max_dest_rd_atomic;
	ret = ib_modify_qp(qp->ib, &attr, IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |
			   IB_QP_RNR_RETRY | IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC);
	if (!ret)
		ds_qp_set_state(qp, IB_QPS_RTS);
destroy_ah:
	rdma_destroy_ah_attr(&attr.ah_attr);	/* gives the gid back too */
	return ret;
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: service ports for ports.c and port_server.c. Included after ds_test.h.
 */
#ifndef DS_PORTS_H
#define DS_PORTS_H

#define SERVICE	(DS_SERVICE_USER_FIRST + 0x1000)
#define CONTROL	(SERVICE + 1)	/* by which ports.c tells port_server to go on */
#define SLOW_REQUESTS	40	/* more than a host may have at another at a time */
#define SLOW_MS		9000	/* longer than one that is not heard of stays connected */

static inline int bind_service(int fd, uint32_t service, uint32_t queue, uint32_t *handle)
{
	struct ds_ioc_service_bind arg = DS_ARG(ds_ioc_service_bind, .service = service,
						.queue = queue);
	int rc = ds_ioctl(fd, DS_IOC_SERVICE_BIND, &arg);

	if (handle)
		*handle = arg.out_handle;
	return rc;
}

static inline struct ds_ioc_msg_recv recv_arg(uint32_t handle, uint32_t timeout_ms, void *data,
				       uint32_t size)
{
	return DS_ARG(ds_ioc_msg_recv, .handle = handle, .timeout_ms = timeout_ms,
		      .data = (uintptr_t)data, .data_size = size);
}

static inline int msg_recv(int fd, uint32_t handle, uint32_t timeout_ms)
{
	char data[64];
	struct ds_ioc_msg_recv arg = recv_arg(handle, timeout_ms, data, sizeof(data));

	return ds_ioctl(fd, DS_IOC_MSG_RECV, &arg);
}

static inline int msg_reply(int fd, uint32_t handle, uint64_t cookie, int status, const void *data,
		     uint32_t length)
{
	struct ds_ioc_msg_reply arg = DS_ARG(ds_ioc_msg_reply, .handle = handle, .status = status,
					     .cookie = cookie, .data = (uintptr_t)data,
					     .length = length);

	return ds_ioctl(fd, DS_IOC_MSG_REPLY, &arg);
}

static inline struct ds_ioc_msg_send send_arg(uint32_t node, uint32_t service, const void *data,
				       uint32_t length)
{
	return DS_ARG(ds_ioc_msg_send, .node = node, .service = service, .data = (uintptr_t)data,
		      .length = length, .timeout_ms = 5000);
}

#endif

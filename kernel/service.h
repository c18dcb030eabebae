/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DS: services, what control messages of other hosts are for. Binding one is in
 * msg.h.
 */
#ifndef _DS_SERVICE_H
#define _DS_SERVICE_H

#include <linux/types.h>

struct ds_msg;

/**
 * ds_service_handle - give a message to the service that it is for
 *
 * Context: process, may sleep.
 * Return: as ds_msg_handler; -ECONNREFUSED if nobody has bound the service
 */
int ds_service_handle(const struct ds_msg *msg, void *reply, u32 *reply_length);

#endif

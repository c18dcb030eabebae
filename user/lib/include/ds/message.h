/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libdsuser: messages to the services of other nodes, and services. Part of
 * ds/ds.h.
 */
#ifndef DS_MESSAGE_H
#define DS_MESSAGE_H

#include <stdint.h>

#include <ds/fabric.h>
#include <ds/ioctl.h>

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

struct ds_service;

/**
 * struct ds_reply - the answer to ds_message_call()
 * @data: where the payload goes; NULL if @room is 0
 * @room: bytes there
 * @length: written: bytes of the reply, also with -EMSGSIZE
 * @status: written: status that the service replied with
 * @outcome: written: enum ds_outcome of the request, also if the call fails
 */
struct ds_reply {
    void *data;
    uint32_t room;
    uint32_t length;
    int32_t status;
    uint32_t outcome;
};

/**
 * ds_message_call() - send a message to a service and wait for its reply
 * @fabric: the fabric
 * @node: node of the service
 * @service: its port
 * @data: payload, may be NULL if @length is 0
 * @length: its bytes, at most ds_limits.max_msg_bytes
 * @timeout_ms: longest wait, 0 for DS_TIMEOUT_DEFAULT
 * @reply: the answer
 *
 * Never sent again by the library: a request whose outcome is DS_UNKNOWN may have
 * been served.
 *
 * On a local fabric the node is any of the pool's: all are this host. A full queue
 * refuses there when the service receives the next time. A request that was not
 * received when its time was over never is.
 *
 * Return: 0, or -ENOTCONN: no such connected peer; -ECONNREFUSED: nobody has bound
 * the service; -EBUSY: its queue is full; -E2BIG: payload too long; -EMSGSIZE: reply
 * too long; -ECONNRESET: the service was closed after it received the message;
 * -ETIMEDOUT.
 */
int ds_message_call(struct ds_fabric *fabric, uint32_t node, uint32_t service, const void *data,
                    uint32_t length, uint32_t timeout_ms, struct ds_reply *reply);

/**
 * ds_message_send() - send a message that wants no reply
 * @fabric: the fabric
 * @node: node of the service
 * @service: its port
 * @data: payload, may be NULL if @length is 0
 * @length: its bytes, at most ds_limits.max_msg_bytes
 * @timeout_ms: longest wait for room to send it, 0 for DS_TIMEOUT_DEFAULT
 *
 * Return: 0 if it is on its way, which does not mean that it arrives; else as
 * ds_message_call().
 */
int ds_message_send(struct ds_fabric *fabric, uint32_t node, uint32_t service, const void *data,
                    uint32_t length, uint32_t timeout_ms);

/**
 * ds_service_bind() - receive the messages to a port
 * @fabric: the fabric
 * @port: DS_SERVICE_USER_FIRST to DS_SERVICE_USER_LAST
 * @queue: messages that may wait, 1 to 1024; further ones are refused. On /dev/ds room
 *	for all, 4 KiB each, is had at once, and the nodes that send take turns
 * @service: result, for ds_service_close()
 *
 * Return: 0, or -EADDRINUSE: the port is taken; -EINVAL: a number out of range;
 * -EDQUOT: the fabric has as many services as it can have; -ENOMEM.
 */
int ds_service_bind(struct ds_fabric *fabric, uint32_t port, uint32_t queue,
                    struct ds_service **service);

/**
 * ds_service_close() - give the port back
 * @service: from ds_service_bind(), or NULL; no thread may wait in it
 */
void ds_service_close(struct ds_service *service);

/**
 * struct ds_message - a message that was received
 * @cookie: for ds_service_reply()
 * @length: bytes of the payload, also with -EMSGSIZE
 * @node: node that sent it
 * @want_reply: 1 if the sender waits for a reply, else 0
 * @reserved: 0
 */
struct ds_message {
    uint64_t cookie;
    uint32_t length;
    uint32_t node;
    uint32_t want_reply;
    uint32_t reserved;
};

/**
 * ds_service_receive() - wait for a message
 * @service: the service
 * @timeout_ms: longest wait, 0 not to wait
 * @data: where the payload goes
 * @room: bytes there
 * @message: the message
 *
 * Return: 0, or -ETIMEDOUT: no message came in time; -EAGAIN: none is there and
 * @timeout_ms is 0; -EMSGSIZE: the message is longer than @room and stays in the
 * queue.
 */
int ds_service_receive(struct ds_service *service, uint32_t timeout_ms, void *data, uint32_t room,
                       struct ds_message *message);

/**
 * ds_service_reply() - answer a message
 * @service: the service
 * @cookie: of the message
 * @status: handed to the sender
 * @data: payload, may be NULL if @length is 0
 * @length: its bytes, at most ds_limits.max_msg_bytes
 *
 * Return: 0, or -ENOENT: the sender does not wait for a reply, or no longer.
 */
int ds_service_reply(struct ds_service *service, uint64_t cookie, int32_t status, const void *data,
                     uint32_t length);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif /* DS_MESSAGE_H */

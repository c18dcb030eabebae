// SPDX-License-Identifier: Apache-2.0
// ds/ds.h: messages and services.
#include <cerrno>
#include <memory>

#include "abi/guard.hpp"
#include "fabric/engine.hpp"
#include "fabric/handles.hpp"

using namespace ds::fabric;
using ds::abi::guard;

namespace {

uint64_t address(const void *p) {
    return reinterpret_cast<uintptr_t>(p);
}

ds_ioc_msg_send request(uint32_t node, uint32_t service, const void *data, uint32_t length,
                        uint32_t timeout_ms) {
    ds_ioc_msg_send message{};
    message.node = node;
    message.service = service;
    message.data = address(data);
    message.length = length;
    message.timeout_ms = timeout_ms ? timeout_ms : DS_TIMEOUT_DEFAULT;
    return message;
}

}  // namespace

int ds_message_call(ds_fabric *fabric, uint32_t node, uint32_t service, const void *data,
                    uint32_t length, uint32_t timeout_ms, ds_reply *reply) {
    if (!reply)
        return -EINVAL;
    ds_ioc_msg_send message = request(node, service, data, length, timeout_ms);
    message.reply = address(reply->data);
    message.reply_size = reply->room;
    fabric->engine->count_sent();
    int rc = fabric->engine->fabric().send_message(message);
    reply->length = message.out_reply_length;
    reply->status = message.out_status;
    reply->outcome = message.out_outcome;
    return rc;
}

int ds_message_send(ds_fabric *fabric, uint32_t node, uint32_t service, const void *data,
                    uint32_t length, uint32_t timeout_ms) {
    ds_ioc_msg_send message = request(node, service, data, length, timeout_ms);
    message.flags = DS_SEND_ONE_WAY;
    fabric->engine->count_sent();
    return fabric->engine->fabric().send_message(message);
}

int ds_service_bind(ds_fabric *fabric, uint32_t port, uint32_t queue, ds_service **service) {
    return guard([&] {
        auto made = std::make_unique<ds_service>(ds_service{fabric->engine, 0});
        int rc = fabric->engine->fabric().bind_service(port, queue, made->handle);
        if (rc == 0)
            *service = made.release();
        return rc;
    });
}

void ds_service_close(ds_service *service) {
    if (!service)
        return;
    service->engine->fabric().close_service(service->handle);
    delete service;
}

int ds_service_receive(ds_service *service, uint32_t timeout_ms, void *data, uint32_t room,
                       ds_message *message) {
    ds_ioc_msg_recv arg{};
    arg.handle = service->handle;
    arg.timeout_ms = timeout_ms;
    arg.data = address(data);
    arg.data_size = room;
    int rc = service->engine->fabric().receive_message(arg);
    *message = {.cookie = arg.out_cookie,
                .length = arg.out_length,
                .node = arg.out_node,
                .want_reply = arg.out_want_reply,
                .reserved = 0};
    if (rc == 0)
        service->engine->count_received();
    return rc;
}

int ds_service_reply(ds_service *service, uint64_t cookie, int32_t status, const void *data,
                     uint32_t length) {
    ds_ioc_msg_reply arg{};
    arg.handle = service->handle;
    arg.status = status;
    arg.cookie = cookie;
    arg.data = address(data);
    arg.length = length;
    return service->engine->fabric().reply_message(arg);
}

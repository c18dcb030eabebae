// SPDX-License-Identifier: Apache-2.0
// ds/ds.h: operations and requests.
#include "abi/guard.hpp"
#include "fabric/engine.hpp"
#include "fabric/handles.hpp"

using namespace ds::fabric;
using ds::abi::guard;

namespace {

int execute_one(const ds_operation &op, uint32_t timeout_ms, ds_result *result) {
    if (!op.space) {
        if (result) {
            *result = {};
            result->status = -EINVAL;
        }
        return -EINVAL;
    }
    if (timeout_ms == 0)
        timeout_ms = op.space->timeout_ms;
    return guard([&] { return op.space->engine->execute({&op, 1}, timeout_ms, result); });
}

ds_operation atomic(unsigned opcode, ds_space *space, uint64_t addr) {
    ds_operation op{};
    op.opcode = static_cast<uint16_t>(opcode);
    op.space = space;
    op.addr = addr;
    op.length = 8;
    return op;
}

ds_operation copy(unsigned opcode, ds_space *space, uint64_t addr, ds_buffer *buffer,
                  uint64_t offset, uint64_t length) {
    ds_operation op{};
    op.opcode = static_cast<uint16_t>(opcode);
    op.space = space;
    op.addr = addr;
    op.buffer = buffer;
    op.buffer_offset = offset;
    op.length = length;
    return op;
}

}  // namespace

int ds_execute(ds_fabric *fabric, const ds_operation *ops, size_t count, uint32_t timeout_ms,
               ds_result *results) {
    return guard([&] { return fabric->engine->execute({ops, count}, timeout_ms, results); });
}

int ds_submit(ds_fabric *fabric, const ds_operation *ops, size_t count, uint32_t timeout_ms,
              ds_result *results, ds_done_fn done, void *arg) {
    if (!done)
        return -EINVAL;
    return guard([&] {
        return fabric->engine->submit({ops, count}, timeout_ms, results, done, arg);
    });
}

int ds_fabric_poll(ds_fabric *fabric, uint32_t timeout_ms) {
    int ended = fabric->engine->poll(timeout_ms);
    return ended > 0 ? 1 : ended;
}

size_t ds_fabric_outstanding(ds_fabric *fabric) {
    return fabric->engine->outstanding();
}

int ds_fabric_fd(ds_fabric *fabric) {
    return fabric->engine->fabric().fd();
}

int ds_read(ds_space *space, uint64_t addr, ds_buffer *buffer, uint64_t offset, uint64_t length,
            uint32_t timeout_ms, ds_result *result) {
    return execute_one(copy(DS_OP_READ, space, addr, buffer, offset, length), timeout_ms, result);
}

int ds_write(ds_space *space, uint64_t addr, ds_buffer *buffer, uint64_t offset, uint64_t length,
             uint32_t timeout_ms, ds_result *result) {
    return execute_one(copy(DS_OP_WRITE, space, addr, buffer, offset, length), timeout_ms, result);
}

int ds_cas(ds_space *space, uint64_t addr, uint64_t compare, uint64_t swap, uint32_t timeout_ms,
           ds_result *result) {
    ds_operation op = atomic(DS_OP_CAS, space, addr);
    op.compare_add = compare;
    op.swap = swap;
    return execute_one(op, timeout_ms, result);
}

int ds_fetch_add(ds_space *space, uint64_t addr, uint64_t add, uint32_t timeout_ms,
                 ds_result *result) {
    ds_operation op = atomic(DS_OP_FETCH_ADD, space, addr);
    op.compare_add = add;
    return execute_one(op, timeout_ms, result);
}

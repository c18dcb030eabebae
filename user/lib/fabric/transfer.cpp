// SPDX-License-Identifier: Apache-2.0
#include "fabric/transfer.hpp"

#include <algorithm>
#include <cerrno>

#include "abi/errors.hpp"
#include "fabric/handles.hpp"

namespace ds::fabric {
namespace {

// More pieces than any transfer that fits into a buffer has.
constexpr size_t max_pieces = 1u << 24;

constexpr uint32_t known_flags = DS_OP_CHAIN | DS_OP_FENCE | DS_OPERATION_IDEMPOTENT;

bool is_atomic(unsigned opcode) {
    return opcode == DS_OP_CAS || opcode == DS_OP_FETCH_ADD;
}

int check_atomic(const ds_operation &op) {
    if (op.length != 8 || op.addr % 8 != 0 || op.buffer)
        return -EINVAL;
    return op.flags & DS_OPERATION_IDEMPOTENT ? -EINVAL : 0;
}

int check_copy(const Engine *engine, const ds_operation &op) {
    if (op.length == 0 || !op.buffer)
        return -EINVAL;
    if (op.buffer->engine.get() != engine)
        return -EBADF;
    size_t room = op.buffer->info.length;
    return op.buffer_offset > room || op.length > room - op.buffer_offset ? -EINVAL : 0;
}

int check(const Engine *engine, const ds_operation &op) {
    if (op.opcode >= DS_OPCODES || op.flags & ~known_flags)
        return -EOPNOTSUPP;
    if (!op.space)
        return -EINVAL;
    if (op.space->engine.get() != engine)
        return -EBADF;
    int rc = is_atomic(op.opcode) ? check_atomic(op) : check_copy(engine, op);
    if (rc < 0)
        return rc;
    const SpaceInfo &space = op.space->info;
    if (op.addr < space.base || op.addr > space.last || op.length - 1 > space.last - op.addr)
        return -ERANGE;
    return 0;
}

// Bytes from @p addr to the end of its server.
uint64_t server_rest(const SpaceInfo &space, uint64_t addr) {
    uint64_t size = uint64_t{1} << space.server_shift;
    return size - ((addr - space.base) & (size - 1));
}

uint64_t server_of(const SpaceInfo &space, uint64_t addr) {
    return (addr - space.base) >> space.server_shift;
}

bool one_server(std::span<const ds_operation> chain) {
    const SpaceInfo &space = chain.front().space->info;
    uint64_t server = server_of(space, chain.front().addr);
    return std::ranges::all_of(chain, [&](const ds_operation &op) {
        return op.space == chain.front().space && server_of(space, op.addr) == server &&
               server_of(space, op.addr + op.length - 1) == server;
    });
}

}  // namespace

int Transfer::plan(const Engine *engine, const Limits &limits, std::span<const ds_operation> ops,
                   size_t &wrong) {
    wrong = 0;
    if (ops.empty())
        return -EINVAL;
    for (size_t begin = 0; begin < ops.size();) {
        size_t end = begin;
        do {
            wrong = end;
            if (end == ops.size())
                return wrong = end - 1, -EINVAL;  // the last chain has no end
            if (int rc = check(engine, ops[end]); rc < 0)
                return rc;
        } while (ops[end++].flags & DS_OP_CHAIN);

        wrong = begin;
        bool alone = end - begin == 1;
        if (!alone && !one_server(ops.subspan(begin, end - begin)))
            return -EINVAL;
        size_t first = pieces_.size();
        for (; begin < end; begin++) {
            starts_.push_back(static_cast<uint32_t>(pieces_.size()));
            add(limits, ops[begin]);
            if (pieces_.size() > max_pieces)
                return -E2BIG;
        }
        if (!alone && pieces_.size() - first > limits.max_chain)
            return -E2BIG;
        end_chain(first, alone);
    }
    starts_.push_back(static_cast<uint32_t>(pieces_.size()));
    // What is not written by the backend counts as not started.
    ends_.assign(pieces_.size(), ended(-ECANCELED, DS_NOT_EXECUTED));
    return 0;
}

void Transfer::add(const Limits &limits, const ds_operation &op) {
    ds_op piece{};
    piece.opcode = static_cast<uint8_t>(op.opcode);
    piece.flags = static_cast<uint8_t>(op.flags & DS_OP_FENCE);
    piece.lane = op.lane;
    piece.space = op.space->info.handle;
    piece.buf = op.buffer ? op.buffer->info.handle : 0;
    piece.compare_add = op.compare_add;
    piece.swap = op.swap;
    for (uint64_t done = 0; done < op.length && pieces_.size() <= max_pieces;) {
        piece.addr = op.addr + done;
        uint64_t length = std::min<uint64_t>(op.length - done, limits.max_op_bytes);
        length = std::min(length, server_rest(op.space->info, piece.addr));
        piece.length = static_cast<uint32_t>(length);
        piece.buf_offset = op.buffer ? op.buffer_offset + done : 0;
        pieces_.push_back(piece);
        idempotent_.push_back(op.flags & DS_OPERATION_IDEMPOTENT);
        done += length;
        piece.flags = 0;  // what has to wait is the first piece; the others follow it
    }
}

void Transfer::end_chain(size_t first_piece, bool alone) {
    auto first = static_cast<uint32_t>(first_piece);
    auto end = static_cast<uint32_t>(pieces_.size());
    if (!alone)
        parts_.push_back({first, end - first});
    for (uint32_t i = first; i < end; i++) {
        if (alone)
            parts_.push_back({i, 1});
        else if (i + 1 < end)
            pieces_[i].flags |= DS_OP_CHAIN;
        part_of_.push_back(static_cast<uint32_t>(parts_.size() - 1));
    }
}

bool Transfer::may_rerun(Part &part) const {
    while (part.count > 0 && ends_[part.first].outcome == DS_EXECUTED) {
        part.first++;
        part.count--;
    }
    if (part.count == 0)
        return false;
    for (uint32_t i = part.first; i < part.first + part.count; i++) {
        if (!is_transient(ends_[i].status) || ends_[i].outcome == DS_EXECUTED)
            return false;
        bool harmless =
            pieces_[i].opcode == DS_OP_READ || (pieces_[i].opcode == DS_OP_WRITE && idempotent_[i]);
        if (ends_[i].outcome != DS_NOT_EXECUTED && !harmless)
            return false;
    }
    return true;
}

bool Transfer::is_late(const Part &part) const {
    return !lates_.empty() && std::any_of(ends_.begin() + part.first,
                                          ends_.begin() + part.first + part.count, is_under_way);
}

bool Transfer::is_open(size_t first, size_t count) const {
    return std::any_of(part_of_.begin() + starts_[first], part_of_.begin() + starts_[first + count],
                       [this](uint32_t part) { return parts_[part].open; });
}

void Transfer::give_up(size_t first, size_t count) {
    for (uint32_t piece = starts_[first]; piece < starts_[first + count]; piece++)
        parts_[part_of_[piece]].open = false;
}

ds_result Transfer::result(size_t operation) const {
    uint32_t first = starts_[operation];
    uint32_t end = starts_[operation + 1];
    ds_result result{};
    uint32_t executed = 0, untouched = 0;
    for (uint32_t i = first; i < end; i++) {
        const ds_cqe &e = ends_[i];
        if (e.outcome == DS_EXECUTED)
            executed++, result.length += e.length;
        else if (e.outcome == DS_NOT_EXECUTED)
            untouched++;
        if (result.status == 0) {
            result.status = is_under_way(e) ? -ETIMEDOUT : e.status;
            result.node = e.node;
        }
        result.attempts = std::max(result.attempts, parts_[part_of_[i]].attempts);
    }
    uint32_t pieces = end - first;
    result.outcome = executed == pieces    ? DS_EXECUTED
                     : untouched == pieces ? DS_NOT_EXECUTED
                                           : DS_UNKNOWN;
    if (result.outcome == DS_EXECUTED)
        result.value = ends_[first].value;
    return result;
}

}  // namespace ds::fabric

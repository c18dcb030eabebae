// SPDX-License-Identifier: Apache-2.0
#include "copier.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "fabric/crash_point.hpp"
#include "fabric/engine.hpp"
#include "fabric/handles.hpp"
#include "store/label.hpp"

namespace dsmasterd {
namespace {

using ds::store::Division;
using ds::store::Flaw;
using ds::store::offset_of;
using ds::store::Seal;
using ds::store::server_of;
using ds::store::wire::Location;

constexpr auto look_pause = std::chrono::seconds(1);
constexpr uint32_t look_patience_ms = 1000;
constexpr uint32_t copy_patience_ms = 5000;

constexpr size_t buffer_bytes = (size_t{1} << ds::store::shard_shift) + ds::store::unit;

}  // namespace

Copier::Copier(ds_space *space)
    : space_(space), buffer_(nullptr, ds_buffer_free), thread_([this] { run(); }) {}

Copier::~Copier() {
    {
        std::lock_guard guard(lock_);
        stop_ = true;
    }
    wake_.notify_one();
    thread_.join();
}

void Copier::start(Slice slice) {
    {
        std::lock_guard guard(lock_);
        todo_ = std::move(slice);
        working_ = true;
    }
    wake_.notify_one();
}

bool Copier::busy() {
    std::lock_guard guard(lock_);
    return working_;
}

std::optional<Slice> Copier::take() {
    std::lock_guard guard(lock_);
    working_ = working_ && !done_;
    return std::exchange(done_, std::nullopt);
}

std::optional<std::vector<Sighting>> Copier::sightings() {
    std::lock_guard guard(lock_);
    return std::exchange(sightings_, std::nullopt);
}

void Copier::run() {
    auto next_look = std::chrono::steady_clock::now();
    std::unique_lock guard(lock_);
    while (!stop_) {
        if (std::chrono::steady_clock::now() >= next_look) {
            guard.unlock();
            std::vector<Sighting> seen = look();
            next_look = std::chrono::steady_clock::now() + look_pause;
            guard.lock();
            sightings_ = std::move(seen);
        }
        if (todo_) {
            Slice slice = *std::exchange(todo_, std::nullopt);
            guard.unlock();
            if (slice.copies.empty())
                survey(slice);
            else
                copy(slice);
            guard.lock();
            done_ = std::move(slice);
        }
        wake_.wait_until(guard, next_look, [this] { return stop_ || todo_; });
    }
}

// One CAS a server: memory without a number gets one, and what has one keeps it.
std::vector<Sighting> Copier::look() {
    std::vector<ds_operation> ops(space_->info.servers);
    std::vector<ds_result> results(ops.size());
    for (uint32_t server = 0; server < ops.size(); server++) {
        ds_operation &op = ops[server];
        op.opcode = DS_OP_CAS;
        op.space = space_;
        op.addr = ds::store::memory_address(space_, server);
        op.length = sizeof(uint64_t);
        op.swap = random_() | 1;
    }
    space_->engine->execute(ops, look_patience_ms, results.data());
    std::vector<Sighting> seen;
    for (size_t i = 0; i < ops.size(); i++)
        seen.push_back({.status = results[i].status,
                        .memory = results[i].value ? results[i].value : ops[i].swap});
    return seen;
}

// ---- Slices ----

void Copier::survey(Slice &slice) {
    slice.found.clear();
    for (size_t i = 0; i < slice.locations.size(); i++) {
        int rc = read(slice, i);
        slice.found.push_back(rc == 0          ? Found::whole
                              : rc == -EBADMSG ? Found::flawed
                                               : Found::away);
        if (slice.found.back() == Found::away)
            slice.away.insert(server_of(slice.locations[i]));
    }
}

void Copier::copy(Slice &slice) {
    for (Copy &copy : slice.copies)
        copy.end = copy_one(slice, copy);
    ds::crash_point("master_copied");
}

// A server that fails is not asked again: each time would take long.
Copy::End Copier::copy_one(Slice &slice, const Copy &copy) {
    size_t first = copy.index / slice.replicas * slice.replicas;
    if (slice.away.contains(server_of(copy.to)))
        return Copy::End::failed;
    for (size_t i = first; i < first + slice.replicas; i++) {
        if (slice.found[i] != Found::whole)
            continue;
        int rc = read(slice, i);
        if (rc == 0) {
            Copy::End end = write(slice, copy);
            if (end != Copy::End::done)
                slice.away.insert(server_of(copy.to));
            return end;
        }
        if (rc != -EBADMSG)
            slice.away.insert(server_of(slice.locations[i]));
    }
    return Copy::End::failed;
}

// The data, and behind them the seal; where there is nothing but a seal, that alone.
std::vector<ds_operation> Copier::chain(ds_opcode opcode, const Slice &slice, size_t index,
                                        Location at) const {
    uint64_t seal = slice.object.division.seal(slice.shard(index));
    ds_operation op{};
    op.opcode = opcode;
    op.flags = DS_OPERATION_IDEMPOTENT | DS_OP_CHAIN;
    op.space = space_;
    op.buffer = buffer_.get();
    op.addr =
        space_->info.base + (uint64_t{server_of(at)} << space_->info.server_shift) + offset_of(at);
    op.length = seal;
    std::vector<ds_operation> ops;
    if (seal > 0)
        ops.push_back(op);
    op.flags = DS_OPERATION_IDEMPOTENT;
    op.addr += seal;
    op.buffer_offset = seal;
    op.length = sizeof(Seal);
    ops.push_back(op);
    return ops;
}

// Into the buffer. -EBADMSG: it is not whole.
int Copier::read(const Slice &slice, size_t index) {
    Location from = slice.locations[index];
    if (slice.away.contains(server_of(from)) || !have_buffer())
        return -EHOSTDOWN;
    std::vector<ds_operation> ops = chain(DS_OP_READ, slice, index, from);
    if (int rc = space_->engine->execute(ops, copy_patience_ms, nullptr); rc < 0) {
        buffer_.reset();  // the device may still write into it
        return rc;
    }
    uint64_t shard = slice.shard(index);
    const Division &division = slice.object.division;
    Seal seal;
    std::memcpy(&seal, bytes() + division.seal(shard), sizeof(seal));
    std::span<const std::byte> data(bytes(), division.data(shard));
    Flaw flaw = verify(slice.object, shard, seal, data);
    std::fill(bytes() + division.data(shard), bytes() + division.seal(shard), std::byte{0});
    return flaw == Flaw::none ? 0 : -EBADMSG;
}

// What read() has left in the buffer.
Copy::End Copier::write(const Slice &slice, const Copy &copy) {
    std::vector<ds_operation> ops = chain(DS_OP_WRITE, slice, copy.index, copy.to);
    std::vector<ds_result> results(ops.size());
    if (space_->engine->execute(ops, copy_patience_ms, results.data()) == 0)
        return Copy::End::done;
    bool unknown = std::ranges::any_of(
        results, [](const ds_result &result) { return result.outcome == DS_UNKNOWN; });
    if (unknown)
        buffer_.reset();
    return unknown ? Copy::End::unknown : Copy::End::failed;
}

bool Copier::have_buffer() {
    ds::fabric::BufferInfo info{};
    if (!buffer_ && space_->engine->fabric().create_buffer(buffer_bytes, -1, info) == 0)
        buffer_.reset(new ds_buffer{space_->engine, info});
    return buffer_ != nullptr;
}

std::byte *Copier::bytes() const {
    return static_cast<std::byte *>(buffer_->info.data);
}

}  // namespace dsmasterd

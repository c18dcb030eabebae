// SPDX-License-Identifier: Apache-2.0
#include "fabric/local_fabric.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "fabric/clock.hpp"
#include "fabric/local_memory.hpp"

extern "C" {
#include <rdm/layout.h>
}

namespace ds::fabric {
namespace {

constexpr uint64_t ms = 1'000'000;  // ns
constexpr size_t page = 4096;

constexpr size_t max_spaces = 1024, max_buffers = 4096, max_services = 64;

// Those of /dev/ds, so that a program meets the same limits on both.
constexpr Limits local_limits{
    .node = 0,
    .max_ops = 1024,
    .max_chain = 16,
    .max_op_bytes = 4 << 20,
    .max_msg_bytes = local_max_payload,
    .max_buf_bytes = 1 << 30,
    .features = 0,
};

bool is_atomic(const ds_op &op) {
    return op.opcode == DS_OP_CAS || op.opcode == DS_OP_FETCH_ADD;
}

uint32_t right_for(const ds_op &op) {
    if (is_atomic(op))
        return DS_ACCESS_ATOMIC;
    return op.opcode == DS_OP_READ ? DS_ACCESS_READ : DS_ACCESS_WRITE;
}

// Length of the chain that @p ops begins with.
size_t chain_length(std::span<const ds_op> ops) {
    size_t n = 1;
    while (n < ops.size() && ops[n - 1].flags & DS_OP_CHAIN)
        n++;
    return n;
}

}  // namespace

struct LocalFabric::Local {
    Local(void *start, size_t length, bool mapped)
        : start(static_cast<std::byte *>(start)), length(length), mapped(mapped) {}
    Local(const Local &) = delete;
    Local &operator=(const Local &) = delete;
    ~Local() {
        if (mapped)
            munmap(start, length);
    }

    std::byte *start;
    size_t length;
    bool mapped;
};

struct LocalFabric::Step {
    std::byte *memory;
    std::shared_ptr<Local> buffer;
    uint32_t server;
};

int LocalFabric::open(const char *path, std::unique_ptr<Fabric> &fabric) {
    std::unique_ptr<LocalFabric> f(new LocalFabric);
    if (int rc = LocalFile::open(path, f->file_); rc < 0)
        return rc;
    f->clients_ = std::make_unique<LocalClients>(*f->file_);
    if (int rc = PortFolder::locate(path, f->folder_); rc < 0)
        return rc;
    f->sender_ = std::make_unique<LocalSender>(f->folder_, f->file_->shape().servers);
    f->timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!f->timer_.open())
        return -errno;
    fabric = std::move(f);
    return 0;
}

const Limits &LocalFabric::limits() const {
    return local_limits;
}

// ---- Spaces, buffers, segments ----

int LocalFabric::open_space(uint32_t number, uint32_t access, SpaceInfo &space) {
    const LocalShape &shape = file_->shape();
    if (access == 0)
        return -EINVAL;
    if (access & ~DS_ACCESS_ALL)
        return -EOPNOTSUPP;
    if (number != shape.space)
        return -ENOENT;
    if (access & ~(file_->writable() ? shape.access : shape.access & DS_ACCESS_READ))
        return -EACCES;
    ds_layout layout{.servers = shape.servers, .server_shift = shape.server_shift};
    std::lock_guard guard(handles_lock_);
    if (spaces_.size() >= max_spaces)
        return -EDQUOT;
    space = {.handle = next_handle_++,
             .number = number,
             .servers = shape.servers,
             .server_shift = shape.server_shift,
             .base = ds_layout_base(&layout),
             .last = ds_layout_last(&layout)};
    spaces_[space.handle] = access;
    return 0;
}

void LocalFabric::close_space(const SpaceInfo &space) {
    std::lock_guard guard(handles_lock_);
    spaces_.erase(space.handle);
}

int LocalFabric::add_buffer(std::shared_ptr<Local> local, BufferInfo &buffer) {
    std::lock_guard guard(handles_lock_);
    if (buffers_.size() >= max_buffers)
        return -EDQUOT;
    // It says false because close_buffer() unmaps it, when its last user is done.
    buffer = {
        .handle = next_handle_++, .mapped = false, .data = local->start, .length = local->length};
    buffers_[buffer.handle] = std::move(local);
    return 0;
}

int LocalFabric::create_buffer(size_t length, int numa_node, BufferInfo &buffer) {
    if (length == 0 || numa_node < -1)
        return -EINVAL;
    if (length > local_limits.max_buf_bytes)
        return -E2BIG;
    length = (length + page - 1) / page * page;
    void *at = mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        return -errno;
    return add_buffer(std::make_shared<Local>(at, length, true), buffer);
}

// Nothing is pinned: the copies are made by this process.
int LocalFabric::pin_buffer(void *start, size_t length, BufferInfo &buffer) {
    auto address = reinterpret_cast<uintptr_t>(start);
    if (address % page != 0 || length == 0 || length % page != 0)
        return -EINVAL;
    if (length > local_limits.max_buf_bytes)
        return -E2BIG;
    return add_buffer(std::make_shared<Local>(start, length, false), buffer);
}

void LocalFabric::close_buffer(const BufferInfo &buffer) {
    std::shared_ptr<Local> last;
    std::lock_guard guard(handles_lock_);
    if (auto node = buffers_.extract(buffer.handle))
        last = std::move(node.mapped());
}

int LocalFabric::create_segment(const ds_ioc_seg_create &, SegmentInfo &) {
    return -EOPNOTSUPP;  // there is nobody to attach it
}

void LocalFabric::close_segment(const SegmentInfo &) {}

// ---- Operations ----

int LocalFabric::find(const ds_op &op, Step &step) const {
    const LocalShape &shape = file_->shape();
    ds_layout layout{.servers = shape.servers, .server_shift = shape.server_shift};
    auto space = spaces_.find(op.space);
    if (space == spaces_.end())
        return -EBADF;
    ds_layout_pos place;
    if (int rc = ds_layout_range(&layout, op.addr, op.length, &place); rc < 0)
        return rc;
    step.server = place.server;
    step.memory = file_->memory() + (op.addr - DS_LAYOUT_BASE);
    if (!(space->second & right_for(op)))
        return -EACCES;
    if (is_atomic(op))
        return op.length == 8 && op.addr % 8 == 0 && op.buf == 0 ? 0 : -EINVAL;
    auto buffer = buffers_.find(op.buf);
    if (buffer == buffers_.end())
        return -EBADF;
    size_t room = buffer->second->length;
    if (op.buf_offset > room || op.length > room - op.buf_offset)
        return -EINVAL;
    step.buffer = buffer->second;
    return 0;
}

// On failure @p wrong is the index of the operation to blame.
int LocalFabric::find_chain(std::span<const ds_op> ops, std::span<Step> steps,
                            size_t &wrong) const {
    std::lock_guard guard(handles_lock_);
    for (wrong = 0; wrong < ops.size(); wrong++) {
        if (int rc = find(ops[wrong], steps[wrong]); rc < 0)
            return rc;
        if (steps[wrong].server != steps[0].server || ops[wrong].space != ops[0].space)
            return -EXDEV;
    }
    return 0;
}

// Runs one chain, or nothing of it if something is wrong with an operation.
void LocalFabric::run(std::span<const ds_op> ops, std::span<ds_cqe> ends) {
    LocalClients::Passage passage(*clients_);
    if (!passage.open()) {
        std::ranges::fill(ends, ended(-ESHUTDOWN, DS_NOT_EXECUTED));
        return;
    }
    std::array<Step, local_limits.max_chain> steps;
    size_t wrong = 0;
    int rc = ops.size() > steps.size() ? -E2BIG : find_chain(ops, steps, wrong);
    if (rc < 0) {
        std::ranges::fill(ends, ended(-ECANCELED, DS_NOT_EXECUTED));
        ends[wrong].status = rc;
        return;
    }
    run_steps(ops, {steps.data(), ops.size()}, ends);
    pieces_ += ops.size();
}

void LocalFabric::run_steps(std::span<const ds_op> ops, std::span<const Step> steps,
                            std::span<ds_cqe> ends) {
    for (size_t i = 0; i < ops.size(); i++) {
        const ds_op &op = ops[i];
        std::byte *memory = steps[i].memory;
        std::byte *local = steps[i].buffer ? steps[i].buffer->start + op.buf_offset : nullptr;
        ends[i] = ended(0, DS_EXECUTED);
        ends[i].node = steps[i].server + 1;
        ends[i].length = op.length;
        switch (op.opcode) {
        case DS_OP_READ:
            shared::read(local, memory, op.length);
            break;
        case DS_OP_WRITE:
            shared::write(memory, local, op.length);
            break;
        case DS_OP_CAS:
            ends[i].value = shared::compare_and_swap(memory, op.compare_add, op.swap);
            break;
        case DS_OP_FETCH_ADD:
            ends[i].value = shared::fetch_add(memory, op.compare_add);
            break;
        }
    }
}

void LocalFabric::execute(std::span<const ds_op> ops, std::span<ds_cqe> ends, uint32_t timeout_ms) {
    uint64_t deadline = now_ns() + timeout_ms * ms;
    submits_++;
    for (size_t first = 0, n; first < ops.size(); first += n) {
        n = chain_length(ops.subspan(first));
        if (first > 0 && now_ns() >= deadline)
            std::ranges::fill(ends.subspan(first, n), ended(-ETIMEDOUT, DS_NOT_EXECUTED));
        else
            run(ops.subspan(first, n), ends.subspan(first, n));
    }
}

// ---- Asynchronous chains ----

void LocalFabric::submit(std::span<Chain *const> chains) {
    ChainList later, done;
    uint64_t now = now_ns();
    submits_++;
    for (Chain *chain : chains) {
        if (chain->not_before > now) {
            later.push(chain);
            continue;
        }
        run(chain->ops, {chain->ends, chain->ops.size()});
        chain->starts++;
        done.push(chain);
    }
    std::lock_guard guard(lock_);
    while (!later.empty())
        delayed_.push_sorted(later.pop());
    while (!done.empty())
        ended_.push(done.pop());
    arm_timer();
}

int LocalFabric::poll(uint32_t timeout_ms) {
    uint64_t until = now_ns() + timeout_ms * ms;
    for (;;) {
        if (size_t n = progress(); n > 0)
            return static_cast<int>(n);
        uint64_t now = now_ns();
        if (now >= until)
            return 0;
        if (int rc = wait(until - now); rc < 0)
            return rc;
    }
}

// Until there is something to do, for at most @p ns.
int LocalFabric::wait(uint64_t ns) {
    pollfd readable{timer_.get(), POLLIN, 0};
    {
        std::lock_guard guard(lock_);
        watchers_++;
        arm_timer();
    }
    int rc =
        ::poll(&readable, 1, static_cast<int>(std::min<uint64_t>((ns + ms - 1) / ms, INT_MAX)));
    rc = rc < 0 ? -errno : 0;
    std::lock_guard guard(lock_);
    watchers_--;
    return rc;
}

// From here on it always tells.
int LocalFabric::fd() {
    std::lock_guard guard(lock_);
    watchers_++;
    arm_timer();
    return timer_.get();
}

// Everything that can be done now. Returns the number of chains that ended.
size_t LocalFabric::progress() {
    ChainList ended_now, due;
    {
        std::lock_guard guard(lock_);
        uint64_t now = now_ns();
        while (!delayed_.empty() && delayed_.front()->not_before <= now)
            due.push(delayed_.pop());
        std::swap(ended_now, ended_);
        arm_timer();
    }
    while (!due.empty()) {
        Chain *chain = due.pop();
        if (chain->deadline <= now_ns()) {
            timed_out(*chain);
        } else {
            run(chain->ops, {chain->ends, chain->ops.size()});
            chain->starts++;
        }
        ended_now.push(chain);
    }
    size_t n = 0;
    while (!ended_now.empty()) {
        Chain *chain = ended_now.pop();
        chain->done(*chain);
        n++;
    }
    return n;
}

// A system call, so only if somebody watches.
void LocalFabric::arm_timer() {
    if (watchers_ == 0)
        return;
    uint64_t next = 0;
    if (!ended_.empty())
        next = 1;  // in the past: at once
    else if (!delayed_.empty())
        next = delayed_.front()->not_before;
    if (next == armed_)
        return;
    armed_ = next;
    itimerspec when{.it_interval = {}, .it_value = to_timespec(next)};
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

// Nothing is under way outside of this process: no need to wait.
void LocalFabric::drain(uint64_t) {
    {
        std::lock_guard guard(lock_);
        while (!delayed_.empty()) {
            Chain *chain = delayed_.pop();
            std::fill_n(chain->ends, chain->ops.size(), ended(-ECANCELED, DS_NOT_EXECUTED));
            ended_.push(chain);
        }
    }
    progress();
}

// ---- Clock ----

uint64_t LocalFabric::now_ns() const {
    return monotonic_ns();
}

void LocalFabric::sleep_until(uint64_t ns) {
    sleep_until_monotonic(ns);
}

// ---- Messages ----

int LocalFabric::bind_service(uint32_t port, uint32_t queue, uint32_t &handle) {
    std::unique_ptr<LocalPort> bound;
    std::lock_guard guard(handles_lock_);
    if (ports_.contains(port))
        return -EADDRINUSE;  // our own lock would not stand in our way
    if (ports_.size() >= max_services)
        return -EDQUOT;
    if (int rc = LocalPort::bind(*file_, folder_, port, queue, bound); rc < 0)
        return rc;
    ports_[port] = std::move(bound);
    handle = port;
    return 0;
}

void LocalFabric::close_service(uint32_t handle) {
    std::lock_guard guard(handles_lock_);
    ports_.erase(handle);
}

std::shared_ptr<LocalPort> LocalFabric::find_port(uint32_t handle) const {
    std::lock_guard guard(handles_lock_);
    auto port = ports_.find(handle);
    return port == ports_.end() ? nullptr : port->second;
}

int LocalFabric::send_message(ds_ioc_msg_send &message) {
    return sender_->send(message);
}

int LocalFabric::receive_message(ds_ioc_msg_recv &message) {
    std::shared_ptr<LocalPort> port = find_port(message.handle);
    return port ? port->receive(message) : -EBADF;
}

int LocalFabric::reply_message(ds_ioc_msg_reply &message) {
    std::shared_ptr<LocalPort> port = find_port(message.handle);
    return port ? port->reply(message) : -EBADF;
}

// ---- Clients of the pool ----

int LocalFabric::enroll(const SpaceInfo &, Owner owner, uint64_t &place) {
    place = place_of(local_limits.node,
                     uint64_t{owner.incarnation} << 32 | static_cast<uint32_t>(getpid()));
    return clients_->enroll(owner);
}

int LocalFabric::withdraw(const SpaceInfo &) {
    return clients_->withdraw();
}

int LocalFabric::client_alive(const SpaceInfo &, Owner owner, uint64_t, uint64_t) {
    return clients_->alive(owner);
}

int LocalFabric::fence(const SpaceInfo &, Owner owner, uint64_t, uint64_t deadline) {
    return clients_->fence(owner, deadline);
}

// ---- Liveness and counters ----

int LocalFabric::node_alive(uint32_t node) {
    return node >= 1 && node <= file_->shape().servers ? 1 : -ENOENT;
}

BackendCounters LocalFabric::counters() const {
    return {.pieces = pieces_, .submits = submits_, .refused = 0};
}

}  // namespace ds::fabric

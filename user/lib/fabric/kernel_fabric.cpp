// SPDX-License-Identifier: Apache-2.0
#include "fabric/kernel_fabric.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

#include "fabric/clock.hpp"

namespace ds::fabric {
namespace {

constexpr uint64_t ms = 1'000'000;            // ns
constexpr uint64_t ask_pause = 2 * ms;        // until a full queue pair is asked again
constexpr uint32_t withdraw_patience = 1000;  // ms
constexpr size_t page = 4096;

constexpr unsigned index_bits = 16;
constexpr uint64_t late_bit = uint64_t{1} << 63;  // of user_data

// In Late::ends, in the place of one that its owner has. What came from the ring has user_data.
constexpr ds_cqe taken{};

uint64_t address(const void *p) {
    return reinterpret_cast<uintptr_t>(p);
}

}  // namespace

template <class Arg>
int KernelFabric::call(unsigned long request, Arg &arg) const {
    arg.size = sizeof(arg);
    return ioctl(device_.get(), request, &arg) < 0 ? -errno : 0;
}

int KernelFabric::open(const char *device, uint32_t ring_entries, std::unique_ptr<Fabric> &fabric) {
    std::unique_ptr<KernelFabric> f(new KernelFabric(ring_entries));
    f->device_ = Fd(::open(device, O_RDWR | O_CLOEXEC));
    if (!f->device_.open())
        return errno == ENOENT || errno == ENXIO ? -ENODEV : -errno;
    ds_ioc_info info;
    if (int rc = f->query(info); rc < 0)
        return rc;
    if (info.out_abi < DS_ABI_VERSION)
        return -EOPNOTSUPP;
    if (ring_entries < info.out_max_chain)
        return -EINVAL;  // a chain that never fits would wait for its deadline
    f->limits_ = {
        .node = info.out_node,
        .max_ops = info.out_max_ops,
        .max_chain = info.out_max_chain,
        .max_op_bytes = info.out_max_op_bytes,
        .max_msg_bytes = info.out_max_msg_bytes,
        .max_buf_bytes = info.out_max_buf_bytes,
        .features = info.out_features,
    };
    f->timer_ = Fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    f->epoll_ = Fd(epoll_create1(EPOLL_CLOEXEC));
    if (!f->timer_.open() || !f->epoll_.open())
        return -errno;
    if (int rc = f->watch(f->timer_.get()); rc < 0)
        return rc;
    fabric = std::move(f);
    return 0;
}

int KernelFabric::query(ds_ioc_info &info) const {
    info = {};
    return call(DS_IOC_INFO, info);
}

int KernelFabric::watch(int fd) const {
    epoll_event event{.events = EPOLLIN, .data = {}};
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

void KernelFabric::close_handle(uint32_t type, uint32_t handle) const {
    ds_ioc_close arg{.size = 0, .flags = 0, .type = type, .handle = handle};
    call(DS_IOC_CLOSE, arg);  // fails only for a handle that is not ours
}

// ---- Spaces, buffers, segments ----

int KernelFabric::open_space(uint32_t number, uint32_t access, SpaceInfo &space) {
    ds_ioc_space_open arg{};
    arg.space = number;
    arg.access = access;
    if (int rc = call(DS_IOC_SPACE_OPEN, arg); rc < 0)
        return rc;
    space = {.handle = arg.out_handle,
             .number = number,
             .servers = arg.out_servers,
             .server_shift = arg.out_server_shift,
             .base = arg.out_base,
             .last = arg.out_last};
    return 0;
}

void KernelFabric::close_space(const SpaceInfo &space) {
    close_handle(DS_HANDLE_SPACE, space.handle);
}

int KernelFabric::create_buffer(size_t length, int numa_node, BufferInfo &buffer) {
    if (length == 0 || length > limits_.max_buf_bytes)
        return length ? -E2BIG : -EINVAL;
    ds_ioc_buf_create arg{};
    arg.length = (length + page - 1) / page * page;
    arg.numa_node = numa_node;
    if (int rc = call(DS_IOC_BUF_CREATE, arg); rc < 0)
        return rc;
    void *at = mmap(nullptr, arg.length, PROT_READ | PROT_WRITE, MAP_SHARED, device_.get(),
                    static_cast<off_t>(arg.out_mmap_offset));
    if (at == MAP_FAILED) {
        int rc = -errno;
        close_handle(DS_HANDLE_BUF, arg.out_handle);
        return rc;
    }
    buffer = {.handle = arg.out_handle, .mapped = true, .data = at, .length = arg.length};
    return 0;
}

int KernelFabric::pin_buffer(void *start, size_t length, BufferInfo &buffer) {
    ds_ioc_buf_pin arg{};
    arg.addr = address(start);
    arg.length = length;
    if (int rc = call(DS_IOC_BUF_PIN, arg); rc < 0)
        return rc;
    buffer = {.handle = arg.out_handle, .mapped = false, .data = start, .length = length};
    return 0;
}

void KernelFabric::close_buffer(const BufferInfo &buffer) {
    if (buffer.mapped)
        munmap(buffer.data, buffer.length);
    close_handle(DS_HANDLE_BUF, buffer.handle);
}

int KernelFabric::create_segment(const ds_ioc_seg_create &want, SegmentInfo &segment) {
    ds_ioc_seg_create arg = want;
    if (int rc = call(DS_IOC_SEG_CREATE, arg); rc < 0)
        return rc;
    segment = {.handle = arg.out_handle, .number = arg.out_segment};
    return 0;
}

void KernelFabric::close_segment(const SegmentInfo &segment) {
    close_handle(DS_HANDLE_SEG, segment.handle);
}

// ---- Synchronous operations ----

void KernelFabric::execute(std::span<const ds_op> ops, std::span<ds_cqe> ends,
                           uint32_t timeout_ms) {
    run(ops, ends, timeout_ms, 0);
}

// Returns 0, or with what the call failed: then @p ends say it, too.
int KernelFabric::run(std::span<const ds_op> ops, std::span<ds_cqe> ends, uint32_t timeout_ms,
                      uint32_t patience_ms) {
    ds_ioc_submit arg{};
    arg.ops = address(ops.data());
    arg.cqes = address(ends.data());
    arg.nr_ops = static_cast<uint32_t>(ops.size());
    arg.timeout_ms = timeout_ms;
    arg.patience_ms = patience_ms;
    submits_++;
    pieces_ += ops.size();
    int rc = call(DS_IOC_SUBMIT, arg);
    if (rc < 0) {
        // These two come after the operations were started.
        bool started = rc == -EINTR || rc == -EFAULT;
        std::ranges::fill(ends, ended(rc, started ? DS_UNKNOWN : DS_NOT_EXECUTED));
    }
    return rc;
}

void KernelFabric::start(std::span<ds_op> ops, std::span<ds_cqe> ends, uint32_t timeout_ms,
                         uint32_t patience_ms, Late &late) {
    if (!add_late(late, ops.size()))
        return execute(ops, ends, timeout_ms);
    for (size_t i = 0; i < ops.size(); i++)
        ops[i].user_data = late_bit | uint64_t{late.slot} << index_bits | i;
    run(ops, ends, timeout_ms, patience_ms);
    const bool all = std::ranges::none_of(ends, is_under_way);
    std::lock_guard guard(lock_);
    if (all)
        lates_[late.slot] = nullptr;
    else
        for (size_t i = 0; i < ends.size(); i++)
            if (!is_under_way(ends[i]))
                late.ends[i] = taken;
}

// There is no ring if there was no memory for one.
bool KernelFabric::add_late(Late &late, size_t count) {
    late.ends.assign(count, ended(-EINPROGRESS, DS_UNKNOWN));
    std::lock_guard guard(lock_);
    if (!ring_ && make_ring() < 0)
        return false;
    auto free = std::ranges::find(lates_, nullptr);
    late.slot = static_cast<uint32_t>(free - lates_.begin());
    if (free == lates_.end())
        lates_.push_back(&late);
    else
        *free = &late;
    return true;
}

bool KernelFabric::collect(Late &late, std::span<ds_cqe> ends) {
    std::lock_guard guard(lock_);
    reap();
    arm_timer(now_ns());  // for poll(), if others ended, too
    bool all = true;
    for (size_t i = 0; i < ends.size(); i++) {
        ds_cqe &end = late.ends[i];
        if (is_under_way(end))
            all = false;
        else if (end.user_data)
            ends[i] = std::exchange(end, taken);
    }
    if (all)
        lates_[late.slot] = nullptr;
    return all;
}

// ---- Asynchronous chains ----

void KernelFabric::submit(std::span<Chain *const> chains) {
    std::lock_guard guard(lock_);
    uint64_t now = now_ns();
    for (Chain *chain : chains) {
        if (chain->not_before > now)
            delayed_.push_sorted(chain);
        else
            wait_in_line(chain);
    }
    if (!ask_again_)
        pump();
    arm_timer(now);
}

int KernelFabric::poll(uint32_t timeout_ms) {
    uint64_t until = now_ns() + timeout_ms * ms;
    for (;;) {
        if (size_t n = progress(); n > 0)
            return static_cast<int>(n);
        uint64_t now = now_ns();
        if (now >= until)
            return 0;
        pollfd readable{epoll_.get(), POLLIN, 0};
        uint64_t wait = std::min<uint64_t>((until - now + ms - 1) / ms, INT_MAX);
        if (::poll(&readable, 1, static_cast<int>(wait)) < 0)
            return -errno;
    }
}

// Everything that can be done now. Returns the number of chains that ended.
size_t KernelFabric::progress() {
    ChainList ended;
    {
        std::lock_guard guard(lock_);
        uint64_t now = now_ns();
        reap();
        release_delayed(now);
        expire(now);
        if (now >= ask_again_)
            pump();
        std::swap(ended, ended_);
        arm_timer(now);
    }
    size_t n = 0;
    while (!ended.empty()) {
        Chain *chain = ended.pop();
        chain->done(*chain);
        n++;
    }
    return n;
}

int KernelFabric::make_ring() {
    ds_ioc_ring_create arg{};
    arg.entries = ring_entries_;
    if (int rc = call(DS_IOC_RING_CREATE, arg); rc < 0)
        return rc;
    if (int rc = ring_.map(device_.get(), arg); rc < 0)
        return rc;
    if (int rc = watch(device_.get()); rc < 0)
        return rc;
    slots_.resize(ring_entries_);
    for (uint32_t i = ring_entries_; i-- > 0;)
        free_slots_.push_back(i);
    staged_.reserve(limits_.max_ops);
    return 0;
}

// Hands pending chains to the kernel until it has no room.
void KernelFabric::pump() {
    ask_again_ = 0;
    if (pending_.empty())
        return;
    if (!ring_) {
        if (int rc = make_ring(); rc < 0) {
            while (!pending_.empty())
                end(pending_.pop(), rc, DS_NOT_EXECUTED);
            return;
        }
    }
    while (!pending_.empty()) {
        uint32_t chains = stage(SIZE_MAX);
        if (chains == 0 || !offer(chains)) {
            ask_again_ = now_ns() + ask_pause;
            return;
        }
    }
}

// Copies the first pending chains to staged_. Returns how many.
uint32_t KernelFabric::stage(size_t most_chains) {
    uint32_t chains = 0;
    staged_.clear();
    for (Chain *c = pending_.front(); c && chains < most_chains; c = c->next) {
        if (staged_.size() + c->ops.size() > limits_.max_ops)
            break;
        if (c->slot == Chain::no_slot) {
            if (free_slots_.empty())
                break;
            c->slot = free_slots_.back();
            free_slots_.pop_back();
            slots_[c->slot] = c;
            c->left = static_cast<uint32_t>(c->ops.size());
        }
        for (size_t i = 0; i < c->ops.size(); i++) {
            staged_.push_back(c->ops[i]);
            staged_.back().user_data = uint64_t{c->slot} << index_bits | i;
        }
        chains++;
    }
    return chains;
}

// Hands the staged chains over. Returns false if the kernel had no room for all.
bool KernelFabric::offer(uint32_t chains) {
    ds_ioc_submit arg{};
    arg.flags = DS_SUBMIT_ASYNC;
    arg.ops = address(staged_.data());
    arg.nr_ops = static_cast<uint32_t>(staged_.size());
    submits_++;
    int rc = call(DS_IOC_SUBMIT, arg);
    if (rc < 0 && rc != -EAGAIN) {
        // One of them makes the whole call fail; the first alone is either well or to blame.
        if (chains > 1)
            return offer(stage(1));
        end(pending_.pop(), rc, DS_NOT_EXECUTED);
        return true;
    }
    uint32_t accepted = rc == 0 ? arg.out_accepted : 0;
    pieces_ += accepted;
    for (uint32_t ops = 0; ops < accepted;) {
        Chain *chain = pending_.pop();
        ops += static_cast<uint32_t>(chain->ops.size());
        chain->starts++;
    }
    if (accepted == staged_.size())
        return true;
    refused_++;
    return false;
}

void KernelFabric::reap() {
    if (!ring_)
        return;
    ring_.consume([this](const ds_cqe &cqe) {
        uint64_t slot = (cqe.user_data & ~late_bit) >> index_bits;
        uint64_t index = cqe.user_data & ((1u << index_bits) - 1);
        ask_again_ = 0;  // there is room again
        if (cqe.user_data & late_bit) {
            lates_[slot]->ends[index] = cqe;
            return;
        }
        Chain *chain = slot < slots_.size() ? slots_[slot] : nullptr;
        if (!chain || index >= chain->ops.size())
            return;  // of a chain that drain() gave up
        chain->ends[index] = cqe;
        if (--chain->left == 0)
            finish(chain);
    });
}

void KernelFabric::release_delayed(uint64_t now) {
    while (!delayed_.empty() && delayed_.front()->not_before <= now)
        wait_in_line(delayed_.pop());
}

void KernelFabric::wait_in_line(Chain *chain) {
    pending_.push(chain);
    next_expiry_ = std::min(next_expiry_, chain->deadline);
}

void KernelFabric::expire(uint64_t now) {
    if (now < next_expiry_)
        return;
    ChainList late;
    next_expiry_ = UINT64_MAX;
    pending_.move_if(late, [&](const Chain &c) {
        if (c.deadline > now)
            next_expiry_ = std::min(next_expiry_, c.deadline);
        return c.deadline <= now;
    });
    while (!late.empty()) {
        Chain *chain = late.pop();
        timed_out(*chain);
        finish(chain);
    }
}

void KernelFabric::end(Chain *chain, int status, enum ds_outcome outcome) {
    std::fill_n(chain->ends, chain->ops.size(), ended(status, outcome));
    finish(chain);
}

void KernelFabric::finish(Chain *chain) {
    free_slot(chain);
    ended_.push(chain);
}

void KernelFabric::free_slot(Chain *chain) {
    if (chain->slot == Chain::no_slot)
        return;
    slots_[chain->slot] = nullptr;
    free_slots_.push_back(chain->slot);
    chain->slot = Chain::no_slot;
}

void KernelFabric::arm_timer(uint64_t now) {
    uint64_t next = ask_again_;
    if (!delayed_.empty() && (!next || delayed_.front()->not_before < next))
        next = delayed_.front()->not_before;
    if (!ended_.empty())
        next = now;
    if (next == armed_)
        return;
    armed_ = next;
    itimerspec when{.it_interval = {}, .it_value = to_timespec(next)};
    timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void KernelFabric::drain(uint64_t deadline) {
    auto busy = [this] {
        std::lock_guard guard(lock_);
        return !ended_.empty() || free_slots_.size() < slots_.size();
    };
    {
        std::lock_guard guard(lock_);
        for (ChainList *list : {&pending_, &delayed_})
            while (!list->empty())
                end(list->pop(), -ECANCELED, DS_NOT_EXECUTED);
        ask_again_ = 0;
    }
    while (busy() && now_ns() < deadline)
        poll(100);
    {
        std::lock_guard guard(lock_);
        for (Chain *chain : std::vector(slots_))
            if (chain)
                end(chain, -ETIMEDOUT, DS_UNKNOWN);
    }
    progress();
}

// ---- Clock ----

uint64_t KernelFabric::now_ns() const {
    return monotonic_ns();
}

void KernelFabric::sleep_until(uint64_t ns) {
    sleep_until_monotonic(ns);
}

// ---- Messages ----

int KernelFabric::bind_service(uint32_t port, uint32_t queue, uint32_t &handle) {
    ds_ioc_service_bind arg{};
    arg.service = port;
    arg.queue = queue;
    int rc = call(DS_IOC_SERVICE_BIND, arg);
    handle = arg.out_handle;
    return rc;
}

void KernelFabric::close_service(uint32_t handle) {
    close_handle(DS_HANDLE_SERVICE, handle);
}

int KernelFabric::send_message(ds_ioc_msg_send &message) {
    return call(DS_IOC_MSG_SEND, message);
}

int KernelFabric::receive_message(ds_ioc_msg_recv &message) {
    return call(DS_IOC_MSG_RECV, message);
}

int KernelFabric::reply_message(ds_ioc_msg_reply &message) {
    return call(DS_IOC_MSG_REPLY, message);
}

// ---- Clients of a pool ----

int KernelFabric::enroll(const SpaceInfo &space, Owner, uint64_t &place) {
    ds_ioc_info info;
    if (int rc = query(info); rc < 0)
        return rc;
    ds_ioc_enroll arg{};
    arg.space = space.handle;
    if (int rc = call(DS_IOC_ENROLL, arg); rc < 0)
        return rc;
    place = place_of(info.out_node, arg.out_token);
    return 0;
}

int KernelFabric::withdraw(const SpaceInfo &space) {
    ds_ioc_enroll arg{};
    arg.flags = DS_ENROLL_WITHDRAW;
    arg.space = space.handle;
    arg.timeout_ms = withdraw_patience;
    int rc = call(DS_IOC_ENROLL, arg);
    return rc == -ENOENT ? 0 : rc;
}

int KernelFabric::end_client(const SpaceInfo &space, uint64_t place, uint32_t flags,
                             uint64_t deadline) {
    uint64_t now = now_ns();
    uint64_t left = deadline > now ? (deadline - now) / ms : 0;
    ds_ioc_fence arg{};
    arg.flags = flags;
    arg.space = space.handle;
    arg.node = static_cast<uint32_t>(place >> 48);
    arg.token = place & ~(~uint64_t{0} << 48);
    arg.timeout_ms = static_cast<uint32_t>(left + 1);
    return call(DS_IOC_FENCE, arg);
}

int KernelFabric::client_alive(const SpaceInfo &space, Owner, uint64_t place, uint64_t deadline) {
    int rc = end_client(space, place, DS_FENCE_IF_GONE, deadline);
    return rc == -EBUSY ? 1 : rc;
}

int KernelFabric::fence(const SpaceInfo &space, Owner, uint64_t place, uint64_t deadline) {
    return end_client(space, place, 0, deadline);
}

// ---- Liveness and counters ----

int KernelFabric::node_alive(uint32_t node) {
    ds_ioc_info info;
    if (int rc = query(info); rc < 0)
        return rc;
    if (node != 0 && node == info.out_node)
        return 1;
    return liveness_.node(node);
}

BackendCounters KernelFabric::counters() const {
    return {.pieces = pieces_, .submits = submits_, .refused = refused_};
}

}  // namespace ds::fabric

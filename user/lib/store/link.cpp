// SPDX-License-Identifier: Apache-2.0
#include "store/link.hpp"

#include <time.h>

#include <algorithm>
#include <cerrno>

namespace ds::store {
namespace {

constexpr uint64_t ms = 1'000'000;  // ns
constexpr uint64_t first_pause = ms, longest_pause = 64 * ms;
constexpr uint32_t patience_ms = 5000;  // for one reply, before the request is sent again

// The master may be there later, or there again.
bool may_pass(int rc) {
    switch (rc) {
    case -EBUSY:
    case -ECONNREFUSED:
    case -ECONNRESET:
    case -ENOTCONN:
    case -ETIMEDOUT:
        return true;
    default:
        return false;
    }
}

void sleep_for(uint64_t ns) {
    timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(ns)};
    nanosleep(&time, nullptr);
}

}  // namespace

void Link::use(uint64_t store, pool::Owner self) {
    store_ = store;
    self_ = self;
}

uint64_t Link::deadline(uint32_t timeout_ms) const {
    return ds_fabric_now(fabric_) + (timeout_ms ? timeout_ms : DS_TIMEOUT_DEFAULT) * ms;
}

uint32_t Link::left(uint64_t deadline) const {
    uint64_t now = ds_fabric_now(fabric_);
    return deadline > now ? static_cast<uint32_t>((deadline - now + ms - 1) / ms) : 1;
}

wire::Head Link::head(wire::Op op, size_t length, uint64_t request) const {
    return {
        .magic = wire::magic,
        .version = wire::newest,
        .op = op,
        .length = static_cast<uint32_t>(length),
        .epoch = 0,
        .store = store_,
        .request = request,
        .client = self_.client,
        .incarnation = self_.incarnation,
        .reserved = 0,
    };
}

void Link::give_back(uint64_t begin, std::string_view key) {
    std::lock_guard guard(lock_);
    unwanted_.push_back({.request = begin, .key = std::string(key)});
}

bool Link::take_unwanted(Begun &begun) {
    std::lock_guard guard(lock_);
    if (unwanted_.empty())
        return false;
    begun = std::move(unwanted_.back());
    unwanted_.pop_back();
    return true;
}

void Link::settle(uint64_t deadline) {
    for (Begun begun; take_unwanted(begun);) {
        wire::Named named{};
        named.key_length = static_cast<uint16_t>(begun.key.size());
        Answer answer;
        answer.request = begun.request;
        if (send(wire::abort, named, {begun.key}, deadline, answer) < 0)
            return give_back(begun.request, begun.key);
    }
}

int Link::exchange(std::vector<std::byte> &request, uint64_t deadline, Answer &answer) {
    answer.repeated = false;
    uint64_t pause = first_pause;
    for (;;) {
        uint32_t epoch = epoch_;
        std::memcpy(request.data() + offsetof(wire::Head, epoch), &epoch, sizeof(epoch));
        answer.bytes.resize(wire::most_bytes);
        ds_reply reply{};
        reply.data = answer.bytes.data();
        reply.room = wire::most_bytes;
        int rc = ds_message_call(fabric_, node_, port_, request.data(),
                                 static_cast<uint32_t>(request.size()),
                                 std::min(left(deadline), patience_ms), &reply);
        if (rc == 0) {
            answer.bytes.resize(reply.length);
            rc = accept(request, answer, reply.status);
            if (rc == 0)
                rc = std::min(reply.status, 0);
            if (rc != -ECONNABORTED && rc != -EAGAIN)
                return rc;
            rc = -ETIMEDOUT;  // if it stays so
        }
        if (!may_pass(rc))
            return rc;
        if (reply.outcome != DS_NOT_EXECUTED)
            answer.repeated = true;
        if (ds_fabric_now(fabric_) + pause >= deadline)
            return rc;
        sleep_for(pause);
        pause = std::min(2 * pause, longest_pause);
    }
}

// -ECONNABORTED: the reply is of a master that another has replaced.
int Link::accept(const std::vector<std::byte> &request, Answer &answer, int32_t status) {
    wire::Head asked, head;
    std::memcpy(&asked, request.data(), sizeof(asked));
    if (!answer.take(head))
        return status < 0 ? 0 : -EPROTO;  // it did not take the request for one of ours
    if (head.magic != wire::magic || head.length != answer.bytes.size() || head.op != asked.op ||
        head.request != asked.request)
        return -EPROTO;
    // Of another store, which has epochs of its own.
    if (store_ != 0 && head.store != store_)
        return status < 0 ? 0 : -EPROTO;
    uint32_t seen = epoch_;
    while (seen < head.epoch && !epoch_.compare_exchange_weak(seen, head.epoch)) {
    }
    return head.epoch < seen ? -ECONNABORTED : 0;
}

}  // namespace ds::store

// SPDX-License-Identifier: Apache-2.0
#include "fabric/engine.hpp"

#include <algorithm>
#include <cerrno>
#include <list>
#include <utility>
#include <vector>

#include "fabric/transfer.hpp"

namespace ds::fabric {
namespace {

constexpr uint64_t ms = 1'000'000;  // ns

// Time to let pass before attempt n + 1: 1 ms, 2 ms, 4 ms, ... 128 ms.
uint64_t pause_after(uint32_t attempts) {
    return ms << std::min(attempts - 1, 7u);
}

constexpr uint64_t close_patience = 30'000 * ms;

// Until it is looked whether what is under way has ended.
constexpr uint64_t late_pause = 1 * ms;

uint32_t to_ms(uint64_t ns) {
    return static_cast<uint32_t>((ns + ms - 1) / ms);
}

}  // namespace

/// One ds_submit().
struct Request {
    Engine *engine;
    Transfer transfer;
    std::vector<Chain> chains;  // one for each part
    std::atomic<size_t> left;   // parts that have not ended
    size_t operations;
    ds_result *results;
    ds_done_fn done;
    void *arg;
};

Engine::Engine(std::unique_ptr<Fabric> fabric, uint32_t max_outstanding)
    : fabric_(std::move(fabric)), max_outstanding_(max_outstanding) {}

uint64_t Engine::deadline(uint32_t timeout_ms) const {
    return fabric_->now_ns() + (timeout_ms ? timeout_ms : DS_TIMEOUT_DEFAULT) * ms;
}

int Engine::plan(Transfer &transfer, std::span<const ds_operation> ops, ds_result *results) const {
    size_t wrong;
    int rc = transfer.plan(this, fabric_->limits(), ops, wrong);
    if (rc < 0 && results)
        for (size_t i = 0; i < ops.size(); i++) {
            results[i] = {};
            results[i].status = i == wrong ? rc : -ECANCELED;
            results[i].outcome = DS_NOT_EXECUTED;
        }
    return rc;
}

int Engine::execute(std::span<const ds_operation> ops, uint32_t timeout_ms, ds_result *results) {
    Transfer transfer;
    if (int rc = plan(transfer, ops, results); rc < 0)
        return rc;
    uint64_t end = deadline(timeout_ms);
    while (uint64_t next = attempt(transfer, end))
        fabric_->sleep_until(next);
    return report(transfer, 0, ops.size(), results);
}

uint64_t Engine::attempt(Transfer &transfer, uint64_t deadline, uint64_t patience) {
    if (transfer.is_late()) {
        transfer.lates().remove_if([&](LatePieces &l) {
            return fabric_->collect(l.late, transfer.ends(l.first, l.count));
        });
        judge(transfer, deadline);
    }
    run_due(transfer, deadline, patience);
    return judge(transfer, deadline);
}

// Which parts have ended, and when are the others to be attempted?
uint64_t Engine::judge(Transfer &transfer, uint64_t deadline) {
    const uint64_t now = fabric_->now_ns();
    uint64_t next = transfer.is_late() ? now + late_pause : UINT64_MAX;
    for (Part &part : transfer.parts()) {
        if (part.running && transfer.is_late(part)) {
            part.open = part.open && now < deadline;
            continue;
        }
        if (std::exchange(part.running, false) && part.open) {
            part.due = now + pause_after(part.attempts);
            part.open = transfer.may_rerun(part) && part.due < deadline;
            retries_ += part.open;
        }
        if (part.open)
            next = std::min(next, part.due);
    }
    return next == UINT64_MAX ? 0 : next;
}

// As many parts at a time as the backend takes.
void Engine::run_due(Transfer &transfer, uint64_t deadline, uint64_t patience) {
    const uint64_t begin = fabric_->now_ns();
    std::vector<Part> &parts = transfer.parts();
    uint32_t most = fabric_->limits().max_ops;
    auto is_due = [begin](const Part &part) {
        return part.open && !part.running && part.due <= begin;
    };
    for (size_t i = 0; i < parts.size();) {
        if (!is_due(parts[i])) {
            i++;
            continue;
        }
        uint32_t first = parts[i].first;
        uint32_t end = first;
        size_t from = i;
        while (i < parts.size() && is_due(parts[i]) && parts[i].first == end &&
               (i == from || end - first + parts[i].count <= most))
            end += parts[i++].count;

        std::for_each(parts.begin() + from, parts.begin() + i, [](Part &p) { p.running = true; });
        uint64_t now = fabric_->now_ns();
        if (now >= deadline) {
            // What an earlier attempt met says more than the time: it names the node.
            for (size_t part = from; part < i; part++)
                if (parts[part].attempts == 0)
                    std::ranges::fill(transfer.ends(parts[part].first, parts[part].count),
                                      ended(-ETIMEDOUT, DS_NOT_EXECUTED));
            continue;
        }
        std::for_each(parts.begin() + from, parts.begin() + i, [](Part &p) { p.attempts++; });
        if (patience)
            start(transfer, first, end - first, deadline - now, begin + patience - now);
        else
            fabric_->execute(transfer.ops(first, end - first), transfer.ends(first, end - first),
                             to_ms(deadline - now));
    }
}

void Engine::start(Transfer &transfer, uint32_t first, uint32_t count, uint64_t timeout,
                   int64_t patience) {
    std::span<ds_cqe> ends = transfer.ends(first, count);
    std::list<LatePieces> late;
    late.push_back({first, count, {}});
    const uint32_t timeout_ms = to_ms(timeout);
    const uint32_t patience_ms = patience > 0 ? to_ms(patience) : 1;
    fabric_->start(transfer.ops(first, count), ends, timeout_ms, std::min(timeout_ms, patience_ms),
                   late.front().late);
    if (std::ranges::any_of(ends, is_under_way))
        transfer.lates().splice(transfer.lates().end(), late);
}

int Engine::report(const Transfer &transfer, size_t first, size_t count, ds_result *results) {
    int status = 0;
    for (size_t i = first; i < first + count; i++) {
        ds_result result = transfer.result(i);
        if (status == 0)
            status = result.status;
        if (results)
            results[i - first] = result;
        switch (transfer.opcode(i)) {
        case DS_OP_READ:
            reads_ += result.status == 0;
            bytes_read_ += result.length;
            break;
        case DS_OP_WRITE:
            writes_ += result.status == 0;
            bytes_written_ += result.length;
            break;
        default:
            atomics_ += result.status == 0;
        }
        failed_ += result.outcome == DS_NOT_EXECUTED;
        unknown_ += result.outcome == DS_UNKNOWN;
    }
    return status;
}

bool Engine::reserve(size_t pieces) {
    size_t now = outstanding_;
    do {
        if (pieces > max_outstanding_ - now)
            return false;
    } while (!outstanding_.compare_exchange_weak(now, now + pieces));
    return true;
}

int Engine::submit(std::span<const ds_operation> ops, uint32_t timeout_ms, ds_result *results,
                   ds_done_fn done, void *arg) {
    if (closing_)
        return -ESHUTDOWN;
    auto request = std::make_unique<Request>();
    if (int rc = plan(request->transfer, ops, results); rc < 0)
        return rc;
    Transfer &transfer = request->transfer;
    if (transfer.pieces() > max_outstanding_)
        return -E2BIG;

    uint64_t end = deadline(timeout_ms);
    std::vector<Chain *> chains;
    request->chains.resize(transfer.parts().size());
    for (size_t i = 0; i < request->chains.size(); i++) {
        const Part &part = transfer.parts()[i];
        Chain &chain = request->chains[i];
        chain.ops = transfer.ops(part.first, part.count);
        chain.ends = transfer.ends(part.first, part.count).data();
        chain.deadline = end;
        chain.done = chain_ended;
        chain.owner = request.get();
        chains.push_back(&chain);
    }
    request->engine = this;
    request->left = chains.size();
    request->operations = ops.size();
    request->results = results;
    request->done = done;
    request->arg = arg;
    if (!reserve(transfer.pieces()))
        return -EAGAIN;
    requests_++;
    request.release();  // NOLINT: finish() deletes it, perhaps before submit() returns
    fabric_->submit(chains);
    return 0;
}

void Engine::chain_ended(Chain &chain) {
    auto *request = static_cast<Request *>(chain.owner);
    Engine *engine = request->engine;
    auto part = static_cast<size_t>(&chain - request->chains.data());
    if (engine->rerun(*request, part))
        return;
    if (request->left.fetch_sub(1) == 1)
        engine->finish(request);
}

bool Engine::rerun(Request &request, size_t index) {
    Part &part = request.transfer.parts()[index];
    Chain &chain = request.chains[index];
    part.attempts = chain.starts;
    if (!request.transfer.may_rerun(part) || closing_)
        return false;
    uint64_t next = fabric_->now_ns() + pause_after(std::max(chain.starts, 1u));
    if (next >= chain.deadline)
        return false;
    retries_++;
    chain.ops = request.transfer.ops(part.first, part.count);
    chain.ends = request.transfer.ends(part.first, part.count).data();
    chain.not_before = next;
    Chain *again = &chain;
    fabric_->submit({&again, 1});
    return true;
}

void Engine::finish(Request *request) {
    std::unique_ptr<Request> owned(request);
    int status = report(request->transfer, 0, request->operations, request->results);
    outstanding_ -= request->transfer.pieces();
    requests_--;
    request->done(request->arg, status);
}

void Engine::close() {
    closing_ = true;
    fabric_->drain(fabric_->now_ns() + close_patience);
}

void Engine::counters(ds_counters &out) const {
    BackendCounters backend = fabric_->counters();
    out = {
        .size = sizeof(out),
        .reserved = 0,
        .reads = reads_,
        .writes = writes_,
        .atomics = atomics_,
        .bytes_read = bytes_read_,
        .bytes_written = bytes_written_,
        .failed = failed_,
        .unknown = unknown_,
        .pieces = backend.pieces,
        .submits = backend.submits,
        .refused = backend.refused,
        .retries = retries_,
        .messages_sent = messages_sent_,
        .messages_received = messages_received_,
    };
}

}  // namespace ds::fabric

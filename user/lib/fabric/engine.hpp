// SPDX-License-Identifier: Apache-2.0
// ds::fabric::Engine: runs requests on a backend: divides them, tries again
// what may be tried again, counts, and bounds how much is under way.
//
// Locks: its requests need none. What several threads share is atomic; a request's
// parts are each touched by one thread at a time, and the last one to end
// finishes the request.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include <ds/ds.h>
#include <ds/fabric.hpp>

namespace ds::fabric {

class Transfer;
struct Request;

class Engine {
public:
    Engine(std::unique_ptr<Fabric> fabric, uint32_t max_outstanding);

    Fabric &fabric() { return *fabric_; }

    /// The end (ns) of a call that may take so long from now on; 0: DS_TIMEOUT_DEFAULT.
    uint64_t deadline(uint32_t timeout_ms) const;

    /// Held while a client joins a pool or leaves it. All threads act under the one
    /// identity of the fabric, so what one does for its join would otherwise be refused
    /// with ESHUTDOWN while another withdraws. Taken before the locks of a pool; may sleep.
    std::mutex &membership() { return membership_; }

    /// ds_execute(), ds_submit(), ds_fabric_poll(), ds_fabric_outstanding().
    int execute(std::span<const ds_operation> ops, uint32_t timeout_ms, ds_result *results);
    int submit(std::span<const ds_operation> ops, uint32_t timeout_ms, ds_result *results,
               ds_done_fn done, void *arg);
    int poll(uint32_t timeout_ms) { return fabric_->poll(timeout_ms); }
    size_t outstanding() const { return requests_; }

    /// The steps of execute(), for who does other things between two attempts. If plan() fails
    /// it has written all results.
    int plan(Transfer &transfer, std::span<const ds_operation> ops, ds_result *results) const;
    /// Runs what is due, and waits for it no longer than @p patience (ns), if that is not 0.
    /// Returns when to attempt it again (ns); 0: all of it has ended. At @p deadline (ns) what
    /// has not ended counts as lost, but as long as it is late the transfer must stay.
    uint64_t attempt(Transfer &transfer, uint64_t deadline, uint64_t patience = 0);
    /// Once for each operation, when it has ended. Returns the status of the first that failed.
    int report(const Transfer &transfer, size_t first, size_t count, ds_result *results);

    /// Ends all requests; further ones are refused with ESHUTDOWN.
    void close();

    void counters(ds_counters &out) const;
    void count_sent() { messages_sent_++; }
    void count_received() { messages_received_++; }

private:
    void run_due(Transfer &transfer, uint64_t deadline, uint64_t patience);
    uint64_t judge(Transfer &transfer, uint64_t deadline);
    void start(Transfer &transfer, uint32_t first, uint32_t count, uint64_t timeout,
               int64_t patience);
    bool reserve(size_t pieces);

    static void chain_ended(Chain &chain);
    bool rerun(Request &request, size_t part);
    void finish(Request *request);

    std::unique_ptr<Fabric> fabric_;
    std::mutex membership_;
    const size_t max_outstanding_;
    std::atomic<size_t> outstanding_{0};  // pieces
    std::atomic<size_t> requests_{0};
    std::atomic<bool> closing_{false};

    std::atomic<uint64_t> reads_{0}, writes_{0}, atomics_{0};
    std::atomic<uint64_t> bytes_read_{0}, bytes_written_{0};
    std::atomic<uint64_t> failed_{0}, unknown_{0}, retries_{0};
    std::atomic<uint64_t> messages_sent_{0}, messages_received_{0};
};

}  // namespace ds::fabric

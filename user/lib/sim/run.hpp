// SPDX-License-Identifier: Apache-2.0
// A run: the requests of a trace against the token cache in virtual time. Each is looked up where
// its token is, and takes as long as that tier does; what the policy wants elsewhere moves
// meanwhile, and takes its time, too.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/entry_class.hpp"
#include "sim/event_log.hpp"
#include "sim/kinds.hpp"
#include "sim/percentiles.hpp"
#include "sim/tier_model.hpp"
#include "sim/trace.hpp"

namespace ds::sim {

/// What becomes of requests for a token that is on its way (document 001): they are served where
/// it was, and a write makes the copy void; or they wait until it is there.
enum class Mode : uint8_t { optimistic, blocking };

struct RunOptions {
    static constexpr uint64_t most_handlers = 1024;

    std::string policy = "default";  ///< or literal-001, adaptive-001
    Mode mode = Mode::optimistic;
    uint32_t l1 = 8192;                   ///< entries; this and l2 are the module's defaults
    uint32_t l2 = 256;                    ///< pages of 16 KiB; 0: there is none
    std::optional<uint32_t> writes;       ///< percent of the accesses; else as the trace says
    double rate = 10;                     ///< requests in a microsecond, evenly
    std::optional<uint32_t> outstanding;  ///< if given: so many are under way, at no fixed rate
    bool trace_times = false;             ///< requests come when the trace says, else evenly
    std::optional<uint32_t> handlers;     ///< of the host's mailbox; else it answers all at once
    uint64_t seed = 1;
    TierTimes times;
    ClassShares classes;

    /// Parameters by their names in document 001: others than these and than their own defaults.
    /// With PREFETCH_BATCH_THRESHOLD, misses are fetched together; EXPAND_* are of the mailbox.
    std::map<std::string, uint64_t, std::less<>> parameters;

    bool operator==(const RunOptions &) const = default;

    /// A parameter. Throws Failure (EINVAL) for one that there is not, or a value that it cannot
    /// have.
    void set(std::string_view name, uint64_t value);
    /// The names, with a blank between them.
    static std::string parameter_names();
    /// The largest value of one of them.
    static uint64_t most(std::string_view name);
    /// Why a parameter would mean nothing, as things are; nothing if it would mean something.
    std::optional<Error> no_use_for(std::string_view name) const;

    /// Those that are counted, for check().
    enum class Count : uint8_t { l1, l2, writes, outstanding, handlers };
    /// Throws Failure (EINVAL) for a number that it cannot have.
    static void check(Count which, uint64_t number);
    /// Of the token cache, whatever it is given.
    static ObjectLimit object_limit();
    /// Throws Failure (EINVAL) for what cannot be run.
    void check() const;
    /// Throws Failure (EINVAL) for a trace that does not say what it should.
    void check(const Trace &trace) const;
};

struct RunResult {
    struct Traffic {
        uint64_t operations = 0, bytes = 0;
    };

    uint64_t accesses = 0;
    std::array<uint64_t, 4> found{};  ///< accesses by the tier, 1 to 3, in which the token was
    Percentiles times;                ///< of accesses, in ns
    std::vector<Kind> kinds;          ///< the same of each kind of objects; empty: nobody knows
    uint64_t waits = 0;               ///< accesses that waited for a move to end

    std::array<uint64_t, 4> moved{};  ///< moves that ended, by the tier to which
    Percentiles move_times;           ///< of these moves but those of pre-staging, in ns
    uint64_t copies = 0;              ///< of tokens, from one tier to another
    uint64_t copied_again = 0;        ///< of these, because of a write meanwhile
    uint64_t aborts = 0;              ///< moves that were given up because of writes
    uint64_t cancels = 0;             ///< the same because an object ended

    uint64_t expands = 0;          ///< moves from L3 for which the host was to be asked
    uint64_t expands_refused = 0;  ///< of these: the mailbox had no room
    uint64_t expands_expired = 0;  ///< of these: EXPAND_TIMEOUT_NS were over
    uint64_t prestaged = 0;  ///< tokens that came to L2 as the host saw that their page is hot

    uint64_t prefetched = 0;       ///< neighbours of tokens that a batch fetched
    uint64_t prefetched_used = 0;  ///< of these were asked for while they were at hand
    uint64_t dma_busy = 0;         ///< times that a batch found its link busy

    Traffic cxl, pcie;  ///< DMA operations
    uint64_t threshold_changes = 0;
    uint64_t virtual_ns = 0;  ///< when the last request or move was over
};

/// The same for the same trace and options, on any machine. @p events is told what moves.
/// @p progress counts the requests that have begun. Throws Failure as both check() do, if the token
/// cache cannot hold the trace's objects, and what the log's writer throws.
RunResult run(const Trace &trace, const RunOptions &options, EventLog *events = nullptr,
              std::atomic<uint64_t> *progress = nullptr);

}  // namespace ds::sim

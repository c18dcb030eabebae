// SPDX-License-Identifier: Apache-2.0
// mem bench: how fast operations are, as quantiles of their times.
#include <cerrno>
#include <csignal>
#include <ctime>
#include <random>

#include "clock.hpp"
#include "histogram.hpp"
#include "interrupt.hpp"
#include "mem.hpp"
#include "progress.hpp"
#include "remote.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

enum class Kinds { read, write, cas, add };

struct Plan {
    Kinds kind;
    uint64_t address;
    uint64_t size;
    uint64_t span;  // operations stay in [address, address + span)
    uint64_t depth;
    uint64_t count;  // operations, or 0
    uint64_t ms;     // or 0
    bool random;
    bool sync;
    bool keep_going;
};

struct Tally {
    Histogram nanoseconds;  // of operations that happened
    uint64_t executed = 0;
    uint64_t not_executed = 0;
    uint64_t unknown = 0;
    double seconds = 0;
    double cpu_seconds = 0;
    std::optional<Error> first_failure;

    double rate() const { return static_cast<double>(executed) / seconds; }
};

uint64_t now_ns() {
    timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

class Bench {
public:
    Bench(const Call &call, const Remote &remote, const Plan &plan)
        : remote_(remote),
          plan_(plan),
          buffer_(remote.fabric(), plan.size * plan.depth),
          places_(0, plan.span / plan.size - 1),
          progress_(call.settings, "bench", plan.count ? plan.count : plan.ms,
                    plan.count ? Progress::Unit::operations : Progress::Unit::milliseconds),
          slots_(plan.depth) {
        for (size_t i = 0; i < slots_.size(); i++) {
            slots_[i].bench = this;
            slots_[i].index = i;
        }
    }

    Tally run() {
        double cpu = cpu_seconds();

        start_ = now_ns();
        if (plan_.sync)
            run_sync();
        else
            run_async();
        tally_.seconds = static_cast<double>(now_ns() - start_) / 1e9;
        tally_.cpu_seconds = cpu_seconds() - cpu;
        return std::move(tally_);
    }

private:
    // An operation that is under way.
    struct Slot {
        Bench *bench = nullptr;
        size_t index = 0;
        uint64_t started = 0;
        ds_operation op{};
        ds_result result{};
    };

    bool more() const {
        if (interrupted() || (tally_.first_failure && !plan_.keep_going))
            return false;
        if (plan_.count)
            return issued_ < plan_.count;
        return now_ns() - start_ < plan_.ms * 1000000;
    }

    uint64_t next_address() {
        uint64_t places = plan_.span / plan_.size;
        uint64_t place = plan_.random ? places_(random_) : issued_ % places;

        return plan_.address + place * plan_.size;
    }

    ds_operation next_op(size_t slot) {
        uint64_t address = next_address();

        issued_++;
        switch (plan_.kind) {
        case Kinds::read:
            return remote_.read_op(address, buffer_, slot * plan_.size, plan_.size);
        case Kinds::write:
            return remote_.write_op(address, buffer_, slot * plan_.size, plan_.size, true);
        case Kinds::cas:
            return remote_.cas_op(address, 0, 0);
        default:
            return remote_.add_op(address, 1);
        }
    }

    void record(const Slot &slot, uint64_t now) {
        if (slot.result.outcome == DS_EXECUTED) {
            tally_.executed++;
            tally_.nanoseconds.record(now - slot.started);
            return;
        }
        (slot.result.outcome == DS_UNKNOWN ? tally_.unknown : tally_.not_executed)++;
        if (!tally_.first_failure)
            tally_.first_failure = remote_.failure(slot.op, slot.result);
    }

    void show_progress() {
        progress_.update(plan_.count ? issued_ : (now_ns() - start_) / 1000000);
    }

    // Batches: the next one starts when the last one has ended.
    void run_sync() {
        std::vector<ds_operation> ops;
        std::vector<ds_result> results;

        while (more()) {
            size_t count = plan_.count ? std::min(plan_.depth, plan_.count - issued_) : plan_.depth;
            ops.clear();
            results.assign(count, {});
            for (size_t i = 0; i < count; i++)
                ops.push_back(next_op(i));
            uint64_t started = now_ns();
            ds_execute(remote_.fabric(), ops.data(), count, remote_.timeout_ms(), results.data());
            uint64_t ended = now_ns();
            for (size_t i = 0; i < count; i++)
                record(Slot{this, i, started, ops[i], results[i]}, ended);
            show_progress();
        }
    }

    static void ended(void *arg, int) {
        Slot &slot = *static_cast<Slot *>(arg);

        slot.bench->record(slot, now_ns());
        slot.bench->idle_.push_back(slot.index);
    }

    void start(Slot &slot) {
        slot.op = next_op(slot.index);
        slot.result = {};
        slot.started = now_ns();
        int rc = ds_submit(remote_.fabric(), &slot.op, 1, remote_.timeout_ms(), &slot.result, ended,
                           &slot);
        if (rc < 0)
            throw from_errno("MEM", -rc, "cannot submit an operation: " + clause(ds_strerror(rc)));
    }

    // Always depth operations under way.
    void run_async() {
        for (size_t i = 0; i < slots_.size(); i++)
            idle_.push_back(i);
        while (more()) {
            while (!idle_.empty() && more()) {
                Slot &slot = slots_[idle_.back()];
                idle_.pop_back();
                start(slot);
            }
            ds_fabric_poll(remote_.fabric(), 100);
            show_progress();
        }
        while (idle_.size() < slots_.size())
            ds_fabric_poll(remote_.fabric(), 100);
    }

    const Remote &remote_;
    const Plan &plan_;
    Buffer buffer_;
    std::mt19937_64 random_{1};
    std::uniform_int_distribution<uint64_t> places_;
    Progress progress_;
    std::vector<Slot> slots_;
    std::vector<size_t> idle_;
    uint64_t start_ = 0;
    uint64_t issued_ = 0;
    Tally tally_;
};

Plan plan_of(const Call &call) {
    std::string op = call.text("--op");
    Plan plan{};

    plan.kind = op == "read"    ? Kinds::read
                : op == "write" ? Kinds::write
                : op == "cas"   ? Kinds::cas
                                : Kinds::add;
    bool atomic = plan.kind == Kinds::cas || plan.kind == Kinds::add;
    if (atomic && call.has("--size") && call.number("--size") != 8)
        throw usage("atomics have a --size of 8");
    plan.address = call.number("ADDR");
    plan.size = atomic ? 8 : call.number("--size");
    plan.span = call.maybe("--span").value_or(plan.size);
    plan.depth = call.number("--depth");
    plan.count = call.number("--count");
    plan.ms = call.maybe("--seconds").value_or(plan.count ? 0 : 5000);
    plan.random = call.has("--random");
    plan.sync = call.has("--sync");
    plan.keep_going = call.has("--keep-going");
    if (atomic && plan.address % 8)
        throw usage("ADDR of a word is a multiple of 8, not " + call.text("ADDR"));
    if (plan.span < plan.size)
        throw usage("--span is at least --size");
    if (plan.count && call.has("--seconds"))
        throw usage("--count and --seconds are both given");
    return plan;
}

constexpr struct {
    const char *name;
    double quantile;
} quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99_9", 0.999}};

Json row_of(const Call &call, const Plan &plan, const Tally &tally) {
    const Histogram &times = tally.nanoseconds;
    double rate = tally.rate();
    Json latency{{"min", times.min()}, {"mean", times.mean()}};

    for (const auto &entry : quantiles)
        latency[entry.name] = times.quantile(entry.quantile);
    latency["max"] = times.max();
    return {{"op", call.text("--op")},
            {"size", plan.size},
            {"depth", plan.depth},
            {"mode", plan.sync ? "sync" : "async"},
            {"random", plan.random},
            {"span", plan.span},
            {"seconds", tally.seconds},
            {"cpu_seconds", tally.cpu_seconds},
            {"executed", tally.executed},
            {"not_executed", tally.not_executed},
            {"unknown", tally.unknown},
            {"ops_per_second", rate},
            {"bytes_per_second", rate * static_cast<double>(plan.size)},
            {"latency_ns", latency}};
}

void print(Output &out, const Plan &plan, const Tally &tally) {
    const Histogram &times = tally.nanoseconds;
    double rate = tally.rate();
    auto time = [](uint64_t ns) { return ns_text(static_cast<double>(ns)); };
    std::vector<std::pair<std::string, Cell>> fields{
        {"operations", std::to_string(tally.executed)},
        {"not executed", std::to_string(tally.not_executed)},
        {"unknown", std::to_string(tally.unknown)},
        {"seconds", format("%.2f", tally.seconds)},
        {"rate", format("%.0f operations/s, %s", rate,
                        rate_text(rate * static_cast<double>(plan.size)).c_str())},
        {"min", time(times.min())},
        {"mean", ns_text(times.mean())},
    };

    for (const auto &entry : quantiles)
        fields.emplace_back(entry.name, time(times.quantile(entry.quantile)));
    fields.emplace_back("max", time(times.max()));
    out.fields(fields);
}

}  // namespace

Exit mem_bench(Call &call) {
    Plan plan = plan_of(call);
    uint32_t access = plan.kind == Kinds::read    ? DS_ACCESS_READ
                      : plan.kind == Kinds::write ? DS_ACCESS_WRITE
                                                  : DS_ACCESS_ATOMIC;
    Remote remote(call, access);

    remote.check_range(plan.address, plan.span);
    watch_interrupts();
    Tally tally = Bench(call, remote, plan).run();
    call.out.respond(row_of(call, plan, tally));
    print(call.out, plan, tally);
    if (tally.first_failure && !plan.keep_going)
        throw *tally.first_failure;
    if (interrupted())
        return Exit::interrupted;
    if (tally.unknown)
        return Exit::unknown;
    return tally.not_executed ? Exit::partial : Exit::ok;
}

}  // namespace dsctl

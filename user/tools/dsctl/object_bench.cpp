// SPDX-License-Identifier: Apache-2.0
// obj bench: how fast objects are put and got.
#include <atomic>
#include <cerrno>
#include <mutex>
#include <random>
#include <thread>

#include "clock.hpp"
#include "histogram.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "store.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

struct Plan {
    bool put;
    bool cached;
    uint64_t size;
    uint64_t keys;
    uint64_t count;
    uint64_t depth;
    uint32_t replicas;
};

// Threads that put or get the objects bench/0, bench/1, ... in turn.
class Bench {
public:
    Bench(const Call &call, const Store &store, const Plan &plan)
        : store_(store),
          plan_(plan),
          progress_(call.settings, "bench", plan.count, Progress::Unit::operations) {}

    void run() {
        std::vector<std::thread> threads;
        double cpu = cpu_seconds();

        for (uint64_t i = 0; i < plan_.depth; i++)
            threads.emplace_back([this] { work(); });
        for (std::thread &thread : threads)
            thread.join();
        seconds = progress_.seconds();
        cpu_used = cpu_seconds() - cpu;
    }

    Histogram nanoseconds;  // of what went well
    std::string failed_key;
    int failure = 0;  // of the first that did not
    double seconds = 0;
    double cpu_used = 0;

private:
    void work() {
        std::vector<uint64_t> bytes((plan_.size + 7) / 8);
        std::mt19937_64 random(1);

        for (uint64_t &word : bytes)
            word = random();
        iovec part{bytes.data(), plan_.size};
        for (uint64_t i; (i = next_++) < plan_.count && !stop_ && !interrupted();) {
            std::string key = "bench/" + std::to_string(i % plan_.keys);
            auto start = std::chrono::steady_clock::now();
            int rc = plan_.put ? put(key, part) : get(key, part);
            record(key, rc, std::chrono::steady_clock::now() - start);
        }
    }

    int put(const std::string &key, const iovec &part) const {
        ds_store_put_options options{};

        options.size = sizeof(options);
        options.replicas = plan_.replicas;
        options.timeout_ms = store_.timeout_ms();
        return ds_store_put(store_.get(), key.data(), key.size(), &part, 1, &options, nullptr);
    }

    int get(const std::string &key, const iovec &part) const {
        ds_store_get_options options{};
        ds_store_object object{};

        options.size = sizeof(options);
        options.flags = plan_.cached ? DS_STORE_CACHED : 0;
        options.timeout_ms = store_.timeout_ms();
        object.size = sizeof(object);
        int rc = ds_store_get(store_.get(), key.data(), key.size(), &part, 1, &options, &object);
        return rc == 0 && object.length != plan_.size ? -ENOENT : rc;
    }

    void record(const std::string &key, int rc, std::chrono::nanoseconds time) {
        std::lock_guard guard(lock_);

        if (rc < 0) {
            stop_ = true;
            if (failure == 0) {
                failure = rc;
                failed_key = key;
            }
            return;
        }
        nanoseconds.record(static_cast<uint64_t>(time.count()));
        progress_.update(nanoseconds.count());
    }

    const Store &store_;
    const Plan &plan_;
    Progress progress_;
    std::atomic<uint64_t> next_{0};
    std::atomic<bool> stop_{false};
    std::mutex lock_;  // of what record() changes
};

}  // namespace

Exit object_bench(Call &call) {
    Plan plan{.put = call.text("--op") == "put",
              .cached = call.has("--cached"),
              .size = call.number("--size"),
              .keys = call.number("--keys"),
              .count = call.maybe("--count").value_or(call.number("--keys")),
              .depth = call.number("--depth"),
              .replicas = static_cast<uint32_t>(call.number("--replicas"))};
    if (plan.put && plan.cached)
        throw usage("--cached is for --op get");
    Store store(call);

    watch_interrupts();
    Bench bench(call, store, plan);
    bench.run();
    const Histogram &times = bench.nanoseconds;
    double rate = static_cast<double>(times.count()) / bench.seconds;
    double bytes = rate * static_cast<double>(plan.size);
    auto time = [](uint64_t ns) { return ns_text(static_cast<double>(ns)); };
    call.out.respond({{"op", call.text("--op")},
                      {"size", plan.size},
                      {"depth", plan.depth},
                      {"replicas", plan.replicas},
                      {"count", times.count()},
                      {"seconds", bench.seconds},
                      {"cpu_seconds", bench.cpu_used},
                      {"ops_per_second", rate},
                      {"bytes_per_second", bytes},
                      {"latency_ns",
                       {{"min", times.min()},
                        {"mean", times.mean()},
                        {"p50", times.quantile(0.5)},
                        {"p99", times.quantile(0.99)},
                        {"max", times.max()}}}});
    call.out.fields({{"objects", std::to_string(times.count())},
                     {"rate", format("%.1f objects/s, %s", rate, rate_text(bytes).c_str())},
                     {"min", time(times.min())},
                     {"p50", time(times.quantile(0.5))},
                     {"p99", time(times.quantile(0.99))},
                     {"max", time(times.max())}});
    if (bench.failure == -ENOENT)
        throw from_errno(
            "OBJ", ENOENT, "there is no object '" + bench.failed_key + "' of this size",
            "put them with 'dsctl obj bench --op put', with the same --keys and --size");
    if (bench.failure < 0)
        throw store.failure(bench.failure,
                            "cannot " + call.text("--op") + " '" + bench.failed_key + "'");
    return interrupted() ? Exit::interrupted : Exit::ok;
}

}  // namespace dsctl

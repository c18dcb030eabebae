// SPDX-License-Identifier: Apache-2.0
// tree bench: what operations on a tree cost, in round trips, bytes and time.
#include <algorithm>
#include <random>

#include "interrupt.hpp"
#include "progress.hpp"
#include "tree.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

// The keys of a bench: spread over all of them, and never next to each other.
uint64_t bench_key(uint64_t number) {
    return (number + 1) * 0x9e3779b97f4a7c15;
}

struct Plan {
    uint32_t opcode;
    bool missing;
    uint64_t keys;
    uint64_t count;
    uint32_t depth;
};

Plan plan_of(const Call &call) {
    std::string op = call.text("--op");
    Plan plan{};

    plan.opcode = op == "put" ? DS_TREE_PUT : op == "update" ? DS_TREE_UPDATE : DS_TREE_GET;
    plan.missing = op == "missing";
    plan.keys = call.number("--keys");
    plan.count = call.maybe("--count").value_or(plan.keys);
    plan.depth = static_cast<uint32_t>(call.number("--depth"));
    if (plan.opcode == DS_TREE_PUT && plan.count > plan.keys)
        throw usage("--count is at most --keys with --op put");
    return plan;
}

// A put takes the keys in turn; the others take those that puts have stored, at random.
std::vector<ds_tree_op> ops_of(const Plan &plan) {
    std::mt19937_64 random(1);
    std::uniform_int_distribution<uint64_t> any(0, plan.keys - 1);
    std::vector<ds_tree_op> ops(plan.count);

    for (uint64_t i = 0; i < plan.count; i++) {
        uint64_t number = plan.opcode == DS_TREE_PUT ? i : any(random);
        ops[i].opcode = plan.opcode;
        ops[i].status = -ECANCELED;
        ops[i].key = bench_key(number) + plan.missing;
        ops[i].value = number;
    }
    return ops;
}

// Brings the nodes above the leaves into the cache.
void warm(const TreeHandle &tree, const Plan &plan) {
    std::vector<ds_tree_op> ops(plan.keys);

    for (uint64_t i = 0; i < plan.keys; i++) {
        ops[i].opcode = DS_TREE_GET;
        ops[i].key = bench_key(i);
    }
    tree.run(ops, 64, [](size_t) {});
}

// What one operation has cost, of each of the counters.
struct Cost {
    const char *name;
    const char *title;
    uint64_t ds_tree_counts::*counter;
};
constexpr Cost costs[] = {
    {"round_trips", "round trips", &ds_tree_counts::round_trips},
    {"work_requests", "work requests", &ds_tree_counts::work_requests},
    {"bytes_in", "bytes read", &ds_tree_counts::bytes_in},
    {"bytes_out", "bytes written", &ds_tree_counts::bytes_out},
    {"lock_retries", "locks found held", &ds_tree_counts::lock_retries},
    {"torn_retries", "torn reads", &ds_tree_counts::torn_retries},
    {"stale_retries", "stale cache entries", &ds_tree_counts::stale_retries},
    {"splits", "splits", &ds_tree_counts::splits},
};

}  // namespace

Exit tree_bench(Call &call) {
    Plan plan = plan_of(call);
    TreeHandle tree(call);
    std::vector<ds_tree_op> ops = ops_of(plan);

    watch_interrupts();
    if (plan.opcode != DS_TREE_PUT)
        warm(tree, plan);
    Progress progress(call.settings, "bench", plan.count, Progress::Unit::operations);
    ds_tree_counts before = tree.counts();
    tree.run(ops, plan.depth, [&](size_t done) { progress.update(done); });
    double seconds = progress.seconds();
    ds_tree_counts after = tree.counts();

    int wanted = plan.missing ? -ENOENT : 0;
    auto failed = std::ranges::find_if(
        ops, [&](const ds_tree_op &op) { return op.status != wanted && op.status != -ECANCELED; });
    auto done = static_cast<double>(
        std::ranges::count_if(ops, [](const ds_tree_op &op) { return op.status != -ECANCELED; }));
    Json row{{"op", call.text("--op")}, {"keys", plan.keys},  {"count", done},
             {"depth", plan.depth},     {"seconds", seconds}, {"ops_per_second", done / seconds}};
    std::vector<std::pair<std::string, Cell>> fields{
        {"operations", format("%.0f", done)},
        {"rate", format("%.0f operations/s", done / seconds)}};
    for (const Cost &cost : costs) {
        double each = static_cast<double>(after.*cost.counter - before.*cost.counter) / done;
        row[cost.name] = each;
        fields.emplace_back(cost.title, format("%.3f an operation", each));
    }
    call.out.respond(row);
    call.out.fields(fields);
    if (failed != ops.end() && failed->status == 0)
        throw Error(Exit::failed, "DS-TRE-000", "key " + hex(failed->key) + " should be missing",
                    "bench in a tree of its own");
    if (failed != ops.end())
        tree.need(failed->status, "key " + hex(failed->key));
    return interrupted() ? Exit::interrupted : Exit::ok;
}

}  // namespace dsctl

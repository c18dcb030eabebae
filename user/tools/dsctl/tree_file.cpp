// SPDX-License-Identifier: Apache-2.0
// tree load, verify: a tree and a file of its keys and values.
#include <fcntl.h>
#include <algorithm>
#include <string_view>

#include "file.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "tree.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

// The next word of a line, which loses it.
std::string_view next_word(std::string_view *line) {
    size_t start = std::min(line->find_first_not_of(" \t\r"), line->size());
    size_t end = std::min(line->find_first_of(" \t\r", start), line->size());
    std::string_view word = line->substr(start, end - start);

    line->remove_prefix(end);
    return word;
}

NumberPair pair_of(std::string_view line, const std::string &path, size_t number) {
    auto first = parse_number(next_word(&line));
    auto second = parse_number(next_word(&line));

    if (!first || !second || !next_word(&line).empty())
        throw usage(format("line %zu of '%s' is not two numbers", number, path.c_str()),
                    "write two numbers a line, decimal or 0x");
    return {*first, *second};
}

}  // namespace

std::vector<NumberPair> number_pairs_of(const std::string &path) {
    std::string text = contents_of(path);
    std::string_view rest = text;
    std::vector<NumberPair> pairs;

    for (size_t number = 1; !rest.empty(); number++) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (line.find_first_not_of(" \t\r") != line.npos)
            pairs.push_back(pair_of(line, path, number));
    }
    return pairs;
}

// Keys and values, sorted by key.
static std::vector<ds_tree_entry> entries_of(const std::string &path) {
    std::vector<ds_tree_entry> entries;

    for (const auto &[key, value] : number_pairs_of(path))
        entries.push_back({key, value});
    std::ranges::sort(entries, {}, &ds_tree_entry::key);
    auto same = std::ranges::adjacent_find(entries, {}, &ds_tree_entry::key);
    if (same != entries.end())
        throw usage("key " + hex(same->key) + " is twice in '" + path + "'",
                    "leave one of the two lines out");
    return entries;
}

static std::vector<ds_tree_op> ops_of(const std::vector<ds_tree_entry> &entries, uint32_t opcode) {
    std::vector<ds_tree_op> ops(entries.size());

    for (size_t i = 0; i < ops.size(); i++) {
        ops[i].opcode = opcode;
        ops[i].key = entries[i].key;
        ops[i].value = entries[i].value;
    }
    return ops;
}

Exit tree_load(Call &call) {
    std::vector<ds_tree_entry> entries = entries_of(call.text("FILE"));
    TreeHandle tree(call);
    Progress progress(call.settings, "load", entries.size(), Progress::Unit::operations);
    size_t stored = entries.size();

    if (call.has("--insert")) {
        watch_interrupts();
        std::vector<ds_tree_op> ops = ops_of(entries, DS_TREE_UPSERT);
        for (ds_tree_op &op : ops)
            op.status = -ECANCELED;
        tree.run(ops, static_cast<uint32_t>(call.number("--depth")),
                 [&](size_t done) { progress.update(done); });
        stored = static_cast<size_t>(
            std::ranges::count_if(ops, [](const ds_tree_op &op) { return op.status == 0; }));
        auto failed = std::ranges::find_if(ops, [](const ds_tree_op &op) { return op.status < 0; });
        if (failed != ops.end() && !interrupted())
            tree.need(
                failed->status,
                format("%zu of %zu keys are stored; key ", stored, ops.size()) + hex(failed->key));
    } else {
        tree.need(ds_tree_load(tree.get(), entries.data(), entries.size()), "load");
    }
    call.out.respond({{"tree", tree.id()}, {"keys", stored}, {"seconds", progress.seconds()}});
    call.out.done(
        format("%zu keys are in tree %u (%.1f s)", stored, tree.id(), progress.seconds()));
    return interrupted() ? Exit::interrupted : Exit::ok;
}

Exit tree_verify(Call &call) {
    std::vector<ds_tree_entry> entries = entries_of(call.text("FILE"));
    TreeHandle tree(call);
    Progress progress(call.settings, "verify", entries.size(), Progress::Unit::operations);
    std::vector<ds_tree_op> ops = ops_of(entries, DS_TREE_GET);
    size_t wrong = 0;

    watch_interrupts();
    for (ds_tree_op &op : ops)
        op.status = -ECANCELED;
    ds_tree_counts before = tree.counts();
    tree.run(ops, static_cast<uint32_t>(call.number("--depth")),
             [&](size_t done) { progress.update(done); });
    if (interrupted())
        return Exit::interrupted;
    ds_tree_counts after = tree.counts();
    for (size_t i = 0; i < ops.size(); i++) {
        if (ops[i].status < 0 && ops[i].status != -ENOENT)
            tree.need(ops[i].status, "key " + hex(ops[i].key));
        if (ops[i].status == -ENOENT || ops[i].value != entries[i].value) {
            wrong++;
            call.out.warn("key " + hex(ops[i].key) +
                          (ops[i].status ? " is not there" : " has another value"));
        }
    }
    uint64_t trips = after.round_trips - before.round_trips;
    call.out.respond({{"tree", tree.id()},
                      {"keys", ops.size()},
                      {"wrong", wrong},
                      {"round_trips", trips},
                      {"seconds", progress.seconds()}});
    call.out.done(
        format("%zu of %zu keys are in tree %u with their values (%.1f s, %llu round "
               "trips)",
               ops.size() - wrong, ops.size(), tree.id(), progress.seconds(),
               static_cast<unsigned long long>(trips)));
    return wrong ? Exit::failed : Exit::ok;
}

}  // namespace dsctl

// SPDX-License-Identifier: Apache-2.0
// tree create, show, get, put, update, scan, check.
#include <algorithm>
#include <cerrno>

#include "tree.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr uint64_t scan_at_once = 4096;  // entries of one call of the library

std::string key_text(uint64_t key) {
    return "key " + hex(key);
}

void respond(Output &out, const ds_tree_entry &entry) {
    out.respond({{"key", entry.key}, {"value", entry.value}});
}

// Entries from first to last; with a tail, only the last ones of them.
std::vector<ds_tree_entry> scan(const TreeHandle &tree, uint64_t first, uint64_t last,
                                uint64_t limit, uint64_t tail) {
    std::vector<ds_tree_entry> found, some(scan_at_once);

    for (uint64_t left = limit; left > 0;) {
        uint64_t wanted = std::min<uint64_t>(left, some.size());
        auto got = static_cast<size_t>(tree.need(
            ds_tree_scan(tree.get(), first, last, some.data(), wanted), "scan from " + hex(first)));
        found.insert(found.end(), some.begin(), some.begin() + static_cast<ptrdiff_t>(got));
        if (found.size() > tail)
            found.erase(found.begin(), found.end() - static_cast<ptrdiff_t>(tail));
        left -= got;
        if (got < wanted || some[got - 1].key == last)
            break;
        first = some[got - 1].key + 1;
    }
    return found;
}

}  // namespace

Exit tree_create(Call &call) {
    Remote remote(call, DS_ACCESS_READ | DS_ACCESS_WRITE | DS_ACCESS_ATOMIC);
    auto id = static_cast<uint32_t>(call.number("ID"));
    int rc = ds_tree_create(remote.space(), id);

    if (rc == -EEXIST)
        throw from_errno("TRE", EEXIST, format("there is a tree %u already", id),
                         "choose another number; look at 'dsctl tree show'");
    if (rc == -EBUSY)
        throw from_errno("TRE", EBUSY, "the space is an object store's", "use another space");
    if (rc == -ENOENT)
        throw from_errno("TRE", EEXIST, "the space holds something else than trees",
                         "use a space that is all zeros");
    if (rc < 0)
        throw tree_error(remote, rc, id, "cannot make it");
    call.out.respond({{"tree", id}});
    call.out.done(format("tree %u is empty and ready", id), std::to_string(id));
    return Exit::ok;
}

Exit tree_show(Call &call) {
    Remote remote(call, DS_ACCESS_ALL);  // who lists is a client of the pool
    ds_tree_info infos[DS_TREE_MAX_ID];
    int count = ds_tree_list(remote.space(), infos);
    std::vector<Row> rows;

    if (count == -ENOENT)
        throw from_errno("TRE", ENOENT, "the space holds no pool of trees",
                         "make the first tree with 'dsctl tree create 1'");
    if (count == -EINVAL)
        throw from_errno("TRE", EINVAL, other_pool, other_pool_remedy);
    if (count < 0) {
        Error error =
            from_errno("TRE", -count, "cannot list the trees: " + clause(ds_strerror(count)));
        remote.name_absent(error);
        throw error;
    }
    for (const ds_tree_info &info : std::span(infos, static_cast<size_t>(count))) {
        call.out.respond({{"tree", info.id},
                          {"height", info.height},
                          {"version", info.version},
                          {"root", info.root}});
        rows.push_back({std::to_string(info.id), std::to_string(info.height),
                        std::to_string(info.version), hex(info.root)});
    }
    call.out.table({{"TREE", true}, {"HEIGHT", true}, {"FORMAT", true}, {"ROOT"}}, rows);
    return Exit::ok;
}

Exit tree_get(Call &call) {
    uint64_t key = call.number("KEY"), value = 0;
    TreeHandle tree(call);

    tree.need(ds_tree_get(tree.get(), key, &value), key_text(key));
    respond(call.out, {key, value});
    if (!call.out.json())
        call.out.line(std::to_string(value));
    return Exit::ok;
}

Exit tree_put(Call &call) {
    uint64_t key = call.number("KEY"), value = call.number("NUMBER");
    TreeHandle tree(call);

    tree.need(call.has("--upsert") ? ds_tree_upsert(tree.get(), key, value)
                                   : ds_tree_put(tree.get(), key, value),
              key_text(key));
    respond(call.out, {key, value});
    call.out.done(key_text(key) + " is in tree " + std::to_string(tree.id()));
    return Exit::ok;
}

Exit tree_update(Call &call) {
    uint64_t key = call.number("KEY"), value = call.number("NUMBER");
    TreeHandle tree(call);

    tree.need(ds_tree_update(tree.get(), key, value), key_text(key));
    respond(call.out, {key, value});
    call.out.done(key_text(key) + " has a new value");
    return Exit::ok;
}

// The ranges of the command line or of --file.
static std::vector<NumberPair> ranges_of(const Call &call) {
    std::vector<NumberPair> ranges;

    if (call.has("--file") && call.has("FIRST"))
        throw usage("FIRST and --file are both given", "put all ranges into the file");
    if (call.has("--file"))
        ranges = number_pairs_of(call.text("--file"));
    else
        ranges.emplace_back(call.number("FIRST"), call.maybe("LAST").value_or(UINT64_MAX));
    for (const auto &[first, last] : ranges)
        if (first > last)
            throw usage("FIRST " + hex(first) + " is above LAST " + hex(last),
                        "name the smaller key first");
    return ranges;
}

Exit tree_scan(Call &call) {
    std::vector<NumberPair> ranges = ranges_of(call);
    TreeHandle tree(call);
    uint64_t limit = call.maybe("--limit").value_or(UINT64_MAX);
    uint64_t tail = call.maybe("--tail").value_or(UINT64_MAX);

    for (const auto &[first, last] : ranges)
        for (const ds_tree_entry &entry : scan(tree, first, last, limit, tail)) {
            respond(call.out, entry);
            if (!call.out.json())
                call.out.line(hex(entry.key) + " " + std::to_string(entry.value));
        }
    return Exit::ok;
}

Exit tree_check(Call &call) {
    TreeHandle tree(call);
    ds_tree_stats stats{};
    Json defects = Json::array();
    std::vector<Row> rows;

    stats.size = sizeof(stats);
    std::function<void(uint64_t, const char *)> note = [&](uint64_t address, const char *what) {
        defects.push_back({{"address", address}, {"defect", what}});
        rows.push_back({hex(address), Cell(what, Style::bad)});
    };
    int rc = ds_tree_check(
        tree.get(),
        [](void *arg, uint64_t address, const char *what) {
            (*static_cast<decltype(note) *>(arg))(address, what);
        },
        &note, &stats);
    if (rc < 0 && stats.defects == 0)
        tree.need(rc, "check");
    call.out.respond({{"tree", tree.id()},
                      {"height", stats.height},
                      {"keys", stats.keys},
                      {"leaves", stats.leaves},
                      {"inner_nodes", stats.inner},
                      {"unfinished_splits", stats.unfinished},
                      {"locked_nodes", stats.locked},
                      {"defects", defects}});
    call.out.fields({{"height", std::to_string(stats.height)},
                     {"keys", std::to_string(stats.keys)},
                     {"leaves", std::to_string(stats.leaves)},
                     {"inner nodes", std::to_string(stats.inner)},
                     {"unfinished splits", std::to_string(stats.unfinished)},
                     {"locked nodes", std::to_string(stats.locked)},
                     {"defects", std::to_string(stats.defects)}});
    if (!rows.empty())
        call.out.table({{"NODE"}, {"DEFECT", false, true}}, rows);
    return stats.defects ? Exit::unhealthy : Exit::ok;
}

}  // namespace dsctl

// SPDX-License-Identifier: Apache-2.0
// obj put, get: objects from and to files.
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <optional>

#include "file.hpp"
#include "interrupt.hpp"
#include "progress.hpp"
#include "store.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr size_t read_bytes = 1 << 20;     // at a time, of what is no regular file
constexpr uint64_t piece_bytes = 8 << 20;  // of an object, at a time

// Whatever there is to read, to its end; nothing if that is more than @p most. A pipe may have
// no end.
std::optional<std::vector<std::byte>> contents(File &file, uint64_t most) {
    std::vector<std::byte> bytes;
    size_t got;

    if (auto size = file.size()) {
        if (*size > most)
            return std::nullopt;
        bytes.reserve(*size);
    }
    do {
        size_t before = bytes.size();
        bytes.resize(before + read_bytes);
        got = file.read(bytes.data() + before, read_bytes);
        bytes.resize(before + got);
        if (bytes.size() > most)
            return std::nullopt;
    } while (got == read_bytes);
    return bytes;
}

int report(void *progress, uint64_t done) {
    static_cast<Progress *>(progress)->update(done);
    return interrupted();
}

Error stopped(const std::string &what) {
    return Error(Exit::interrupted, "DS-OBJ-004", what + ": interrupted", "run it again");
}

std::string speed(uint64_t bytes, double seconds) {
    return format("%.1f s, %s", seconds,
                  rate_text(seconds > 0 ? static_cast<double>(bytes) / seconds : 0).c_str());
}

// All pieces are of one version; -ESTALE if it was overwritten meanwhile.
int get_version(const Store &store, const std::string &key, ds_store_get_options options,
                uint64_t length, const ds_store_object &first, Progress &progress, NewFile &file,
                uint32_t *damaged) {
    std::vector<std::byte> piece(std::min(piece_bytes, length));
    uint64_t start = options.offset, done = 0;

    options.version = first.version;
    while (done < length) {
        iovec part{piece.data(), std::min<uint64_t>(piece.size(), length - done)};
        ds_store_object object{};
        object.size = sizeof(object);
        options.offset = start + done;
        int rc = ds_store_get(store.get(), key.data(), key.size(), &part, 1, &options, &object);
        if (rc < 0)
            return rc;
        file.write({piece.data(), object.copied});
        *damaged += object.damaged;
        done += object.copied;
        if (report(&progress, done))
            return -EINTR;
    }
    return 0;
}

}  // namespace

Exit object_put(Call &call) {
    std::string key = key_of(call), what = "cannot put '" + key + "'";
    File file(call.text("FILE"), O_RDONLY);
    Store store(call);
    auto read = contents(file, store.totals().total);
    if (!read)
        throw store.failure(-ENOSPC, what);
    const std::vector<std::byte> &bytes = *read;
    watch_interrupts();
    Progress progress(call.settings, "put", bytes.size());
    iovec part{const_cast<std::byte *>(bytes.data()), bytes.size()};
    ds_store_put_options options{};
    int64_t version = 0;

    options.size = sizeof(options);
    options.flags = call.has("--new") ? DS_STORE_MUST_NOT_EXIST : 0;
    options.replicas = static_cast<uint32_t>(call.number("--replicas"));
    options.timeout_ms = store.timeout_ms();
    options.progress = report;
    options.arg = &progress;
    int rc = ds_store_put(store.get(), key.data(), key.size(), &part, 1, &options, &version);
    if (rc == -EINTR)
        throw stopped(what);
    if (rc == -EEXIST)
        throw from_errno("OBJ", EEXIST, what + ": there is an object with this key",
                         "leave out --new to overwrite it, or choose another key");
    if (rc == -EINVAL)
        throw from_errno("OBJ", EINVAL, what + ": there are more replicas than servers",
                         "look at the servers with 'dsctl obj stat'");
    if (rc < 0) {
        Error error = store.failure(rc, what);
        if (version) {
            error.exit = Exit::unknown;
            error.sentence += "; it may have been put, as version " + version_text(version);
            error.remedy = "look with 'dsctl obj stat' before you do it again";
        }
        throw error;
    }
    call.out.respond({{"key", key},
                      {"version", version},
                      {"length", uint64_t{bytes.size()}},
                      {"replicas", options.replicas},
                      {"seconds", progress.seconds()}});
    call.out.done(key + ": " + bytes_text(bytes.size()) + " are stored as version " +
                      version_text(version) + " (" + speed(bytes.size(), progress.seconds()) + ")",
                  version_text(version));
    return Exit::ok;
}

Exit object_get(Call &call) {
    std::string key = key_of(call);
    call.check_output("FILE", "the data");
    Store store(call);
    watch_interrupts();
    ds_store_get_options options{};
    ds_store_object object{};
    uint32_t damaged = 0;
    uint64_t length;
    bool again;
    double seconds;
    int rc;

    options.size = sizeof(options);
    options.timeout_ms = store.timeout_ms();
    options.offset = call.number("--offset");
    options.min_version = static_cast<int64_t>(call.number("--min-version"));
    std::string what = "cannot get '" + key + "'";
    do {
        // Without room: says which version there is, and that it is one.
        object.size = sizeof(object);
        rc = ds_store_get(store.get(), key.data(), key.size(), nullptr, 0, &options, &object);
        if (rc == -EAGAIN)
            throw from_errno("OBJ", EAGAIN,
                             what + ": the newest version is " + version_text(object.version),
                             "put it anew, or ask for an earlier one");
        if (rc < 0)
            throw store.failure(rc, what);
        length = object.length - std::min(options.offset, object.length);
        if (auto most = call.maybe("--length"))
            length = std::min(length, *most);
        NewFile file(call.text("FILE"));
        Progress progress(call.settings, "get", length);
        damaged = 0;
        rc = get_version(store, key, options, length, object, progress, file, &damaged);
        if (rc == 0)
            file.keep();
        again = rc == -ESTALE && file.is_draft();
        seconds = progress.seconds();
    } while (again);
    if (rc == -EINTR)
        throw stopped(what);
    if (rc < 0)
        throw store.failure(rc, what);
    if (damaged)
        call.out.warn(
            format("%u shards of '%s' are damaged in a replica and were read from "
                   "another; 'dsctl obj check' shows them",
                   damaged, key.c_str()));
    Json row = object_json(key, object);
    row["bytes"] = length;
    row["damaged"] = damaged;
    row["file"] = call.text("FILE");
    row["seconds"] = seconds;
    call.out.respond(row);
    if (!is_stdout(call.text("FILE")))
        call.out.done(call.text("FILE") + ": " + bytes_text(length) + " of '" + key +
                      "', version " + version_text(object.version) + " (" + speed(length, seconds) +
                      ")");
    return Exit::ok;
}

}  // namespace dsctl

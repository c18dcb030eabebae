// SPDX-License-Identifier: Apache-2.0
// mem put, get, fill, verify: long runs of remote memory, in batches.
#include <fcntl.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>

#include "extent.hpp"
#include "file.hpp"
#include "mem.hpp"
#include "pattern.hpp"
#include "progress.hpp"
#include "remote.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr uint64_t piece_bytes = 1 << 20;  // one operation
constexpr uint64_t batch_bytes = 8 << 20;  // operations that run at the same time

enum class Direction { to_space, from_space };

// Called for each part of the run, in order: in front of its WRITE, behind its READ.
using Handle = std::function<void(uint64_t offset, std::span<std::byte> bytes)>;

// Moves a run batch by batch. What is written is in the caller's hands and does
// not change, so a WRITE of unknown outcome is simply done again.
void move(const Remote &remote, const Extent &extent, Direction direction, Progress &progress,
          const Handle &handle, uint64_t *done) {
    uint64_t batch = std::min(batch_bytes, remote.most_buffer());
    Buffer buffer(remote.fabric(), std::min(batch, extent.length()));
    std::vector<ds_operation> ops;
    std::vector<ds_result> results;

    while (*done < extent.length()) {
        uint64_t length = 0;
        ops.clear();
        while (*done + length < extent.length() && length < batch) {
            Extent::Piece piece =
                extent.piece(*done + length, std::min(piece_bytes, batch - length));
            ops.push_back(direction == Direction::to_space
                              ? remote.write_op(piece.address, buffer, length, piece.length, true)
                              : remote.read_op(piece.address, buffer, length, piece.length));
            length += piece.length;
        }
        auto bytes = buffer.bytes().first(length);
        if (direction == Direction::to_space)
            handle(*done, bytes);
        remote.run(ops, &results);
        if (direction == Direction::from_space)
            handle(*done, bytes);
        *done += length;
        progress.update(*done);
    }
}

// As move() to the space; a failure behind the first batch is a partial success.
void store(const Remote &remote, const Extent &extent, Progress &progress, const Handle &handle) {
    uint64_t done = 0;

    try {
        move(remote, extent, Direction::to_space, progress, handle, &done);
    } catch (Error &error) {
        error.context["done_bytes"] = done;
        if (done) {
            error.exit = Exit::partial;
            error.sentence += "; " + bytes_text(done) + " of " + bytes_text(extent.length()) +
                              " were stored before";
        }
        throw;
    }
}

// What a long command did, for its output.
struct Done {
    uint64_t address;
    uint64_t length;
    double seconds;

    double rate() const { return seconds > 0 ? static_cast<double>(length) / seconds : 0; }

    std::string text() const { return format("%.1f s, %s", seconds, rate_text(rate()).c_str()); }

    Json json() const {
        return {{"address", address},
                {"length", length},
                {"seconds", seconds},
                {"bytes_per_second", rate()}};
    }
};

// ADDR, or --at ADDR.
uint64_t start_of(const Call &call) {
    if (call.has("ADDR") == call.has("--at"))
        throw usage("say where the data lies: ADDR or --at ADDR");
    return call.number(call.has("ADDR") ? "ADDR" : "--at");
}

uint64_t length_of(const Call &call) {
    if (call.has("LEN") == call.has("--length"))
        throw usage("say how long the data is: LEN or --length BYTES");
    return call.number(call.has("LEN") ? "LEN" : "--length");
}

// What 'fill' writes and 'verify' expects.
class Contents {
public:
    explicit Contents(const Call &call) {
        if (call.has("BYTE") == call.has("--pattern"))
            throw usage("say what the contents are: BYTE or --pattern SEED");
        if (call.has("--pattern"))
            seed_ = call.number("--pattern");
        else
            byte_ = static_cast<std::byte>(call.number("BYTE"));
    }

    void fill(uint64_t address, std::span<std::byte> out) const {
        if (seed_)
            pattern_fill(*seed_, address, out);
        else
            std::fill(out.begin(), out.end(), byte_);
    }

private:
    std::optional<uint64_t> seed_;
    std::byte byte_{};
};

// Bytes that are not as they should be.
struct Mismatch {
    uint64_t count = 0;
    uint64_t address = 0;  // of the first
    std::byte expected{};
    std::byte found{};

    void compare(uint64_t at, std::span<const std::byte> should, std::span<const std::byte> is) {
        if (std::memcmp(should.data(), is.data(), is.size()) == 0)
            return;
        for (size_t i = 0; i < is.size(); i++) {
            if (should[i] == is[i])
                continue;
            if (count++ == 0) {
                address = at + i;
                expected = should[i];
                found = is[i];
            }
        }
    }
};

}  // namespace

Exit mem_put(Call &call) {
    uint64_t start = start_of(call);
    File file(call.text("FILE"), O_RDONLY);
    auto size = file.size();

    if (!size)
        throw usage("FILE is a regular file: its length must be known before",
                    "put the data into a file first, or use 'dsctl mem write'");
    if (*size == 0)
        throw usage("'" + call.text("FILE") + "' is empty");
    Remote remote(call, DS_ACCESS_WRITE);
    Extent extent(remote.map(), start, *size, call.number("--stripe"));
    Progress progress(call.settings, "put", *size);

    store(remote, extent, progress, [&](uint64_t, std::span<std::byte> bytes) {
        if (file.read(bytes.data(), bytes.size()) != bytes.size())
            throw Error(Exit::failed, "DS-FIL-900",
                        "'" + call.text("FILE") + "' became shorter while it was read",
                        "put it again");
    });
    Done did{start, *size, progress.seconds()};
    Json row = did.json();
    row["file"] = call.text("FILE");
    row["stripe"] = call.number("--stripe");
    call.out.respond(row);
    call.out.done(call.text("FILE") + ": " + bytes_text(*size) + " are stored at " + hex(start) +
                  " (" + did.text() + ")");
    return Exit::ok;
}

Exit mem_get(Call &call) {
    uint64_t start = start_of(call);
    uint64_t length = length_of(call);
    call.check_output("FILE", "the data");
    Remote remote(call, DS_ACCESS_READ);
    Extent extent(remote.map(), start, length, call.number("--stripe"));
    NewFile file(call.text("FILE"));
    Progress progress(call.settings, "get", length);
    uint64_t done = 0;

    move(
        remote, extent, Direction::from_space, progress,
        [&](uint64_t, std::span<std::byte> bytes) { file.write(bytes); }, &done);
    file.keep();
    Done did{start, length, progress.seconds()};
    Json row = did.json();
    row["file"] = call.text("FILE");
    row["stripe"] = call.number("--stripe");
    call.out.respond(row);
    if (!is_stdout(call.text("FILE")))
        call.out.done(call.text("FILE") + ": " + bytes_text(length) + " from " + hex(start) + " (" +
                      did.text() + ")");
    return Exit::ok;
}

Exit mem_fill(Call &call) {
    uint64_t start = call.number("ADDR");
    uint64_t length = call.number("LEN");
    Contents contents(call);
    Remote remote(call, DS_ACCESS_WRITE);
    Extent extent(remote.map(), start, length, 0);
    Progress progress(call.settings, "fill", length);

    store(remote, extent, progress, [&](uint64_t offset, std::span<std::byte> bytes) {
        contents.fill(start + offset, bytes);
    });
    Done did{start, length, progress.seconds()};
    Json row = did.json();
    call.out.respond(row);
    call.out.done(bytes_text(length) + " at " + hex(start) + " are filled (" + did.text() + ")");
    return Exit::ok;
}

Exit mem_verify(Call &call) {
    uint64_t start = call.number("ADDR");
    uint64_t length = call.number("LEN");
    Contents contents(call);
    Remote remote(call, DS_ACCESS_READ);
    Extent extent(remote.map(), start, length, 0);
    Progress progress(call.settings, "verify", length);
    std::vector<std::byte> should;
    Mismatch mismatch;
    uint64_t done = 0;

    move(
        remote, extent, Direction::from_space, progress,
        [&](uint64_t offset, std::span<std::byte> bytes) {
            should.resize(bytes.size());
            contents.fill(start + offset, should);
            mismatch.compare(start + offset, should, bytes);
        },
        &done);
    Done did{start, length, progress.seconds()};
    Json row = did.json();
    row["wrong_bytes"] = mismatch.count;
    call.out.respond(row);
    if (mismatch.count)
        throw Error(
            Exit::failed, "DS-VER-001",
            format("%llu of %llu bytes are wrong, the first at %s: 0x%02x instead of 0x%02x",
                   static_cast<unsigned long long>(mismatch.count),
                   static_cast<unsigned long long>(length), hex(mismatch.address).c_str(),
                   static_cast<unsigned>(mismatch.found), static_cast<unsigned>(mismatch.expected)),
            "the data was changed or never written: see who else writes to the space")
            .with("first_wrong", mismatch.address)
            .with("wrong_bytes", mismatch.count)
            .with("server", remote.map().place(mismatch.address).server);
    call.out.done(bytes_text(length) + " at " + hex(start) + " are right (" + did.text() + ")");
    return Exit::ok;
}

}  // namespace dsctl

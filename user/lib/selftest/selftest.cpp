// SPDX-License-Identifier: Apache-2.0
// Checks libdsuser against the real ds.ko; run by tests/e2e/scenarios/library.sh,
// which sets up space 1 of two servers, nodes 2 and 3. Prints TAP.
//
//   selftest use            moves bytes, counts, chains, fails as it should
//   selftest persist S      works for S seconds and wants no failure, whatever the links do
//   selftest serve PORT     answers calls until told to stop
//   selftest call NODE PORT calls it, and tells it to stop
//   selftest gone NODE      a server was killed: its memory fails by name, the other's serves
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ds/ds.hpp>
#include <functional>
#include <iostream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

namespace {

int results, failures;

void check(const char *name, bool ok, const std::string &why = "") {
    std::cout << (ok ? "ok " : "not ok ") << ++results << " - library: " << name << '\n';
    if (!ok && !why.empty())
        std::cout << "# " << why << '\n';
    failures += !ok;
}

template <class T>
void check(const char *name, const ds::Result<T> &result) {
    check(name, result.ok(), result ? "" : result.error().sentence);
}

template <class T>
void check_fails(const char *name, int code, const ds::Result<T> &result) {
    check(name, !result && result.error().code == code,
          result ? "it succeeded" : result.error().sentence);
}

struct Pool {
    ds::Fabric fabric = ds::Fabric::open().or_throw();
    ds::Space space = fabric.open_space(1).or_throw();
    ds::Buffer buffer = fabric.alloc(24 << 20).or_throw();
    struct ds_space_info info = space.info();

    uint64_t address(uint64_t server, uint64_t offset) const {
        return info.base + (server << info.server_shift) + offset;
    }
};

constexpr size_t MiB = 1 << 20;

// ---- use ----

ds::Task<> add_many(const ds::Space &space, uint64_t word, int n) {
    for (int i = 0; i < n; i++)
        (co_await space.async_fetch_add(word, 1)).or_throw();
}

ds::Task<> read_async(const ds::Space &space, uint64_t addr, ds::Slice to) {
    (co_await space.async_read(addr, to)).or_throw();
}

ds::Task<> run_batch(const ds::Fabric &fabric, ds::Batch &batch) {
    (co_await fabric.async(batch)).or_throw();
}

void moves_bytes(Pool &p) {
    auto bytes = p.buffer.bytes();
    for (size_t i = 0; i < bytes.size(); i++)
        bytes[i] = static_cast<std::byte>(i * 31 ^ i >> 8);
    uint64_t addr = p.address(1, 0) - 5 * MiB - 77;
    constexpr size_t length = 11 * MiB;
    auto arrived = [&] { return !memcmp(bytes.data(), bytes.data() + 12 * MiB, length); };
    ds::Slice back = p.buffer.slice(12 * MiB, length);
    check("writes 11 MiB over two servers", p.space.write(addr, p.buffer.slice(0, length)));
    check("reads them back", p.space.read(addr, back));
    check("as they were", arrived());
    memset(bytes.data() + 12 * MiB, 0, length);
    p.fabric.run(read_async(p.space, addr, back));
    check("reads them asynchronously", arrived());

    void *memory = aligned_alloc(4096, MiB);
    memset(memory, 0, MiB);
    auto pinned = p.fabric.pin({static_cast<std::byte *>(memory), MiB});
    check("pins memory of the process", pinned);
    check("reads into it", p.space.read(addr, *pinned));
    check("the right bytes", !memcmp(memory, bytes.data(), MiB));
    pinned = p.fabric.alloc(1);  // gives the pinned one back
    free(memory);
}

void counts(Pool &p) {
    uint64_t word = p.address(0, 8 * MiB);
    memset(p.buffer.bytes().data(), 0, 64);
    check("clears a word", p.space.write(word, p.buffer.slice(0, 64)));
    std::vector<ds::Task<>> tasks;
    for (int i = 0; i < 50; i++)
        tasks.push_back(add_many(p.space, word, 20));
    p.fabric.run_all(std::move(tasks));
    std::vector<std::thread> threads;
    std::atomic<int> bad{0};
    for (int t = 0; t < 4; t++)
        threads.emplace_back([&] {
            for (int i = 0; i < 100; i++)
                bad += !p.space.fetch_add(word, 1).ok();
        });
    for (auto &thread : threads)
        thread.join();
    auto sum = p.space.fetch_add(word, 0);
    check("50 coroutines and 4 threads add up to 1400", bad == 0 && sum && *sum == 1400);

    ds::Batch batch;
    batch.cas(p.space, word, 1400, 7).chained().read(p.space, word, p.buffer.slice(0, 8)).fenced();
    batch.cas(p.space, word + 8, 1, 2);
    check("runs a chain and a loser", p.fabric.execute(batch));
    check("the swap happened and was read",
          batch.results()[0].value == 1400 && p.buffer.at<uint64_t>() == 7);
    check("the loser saw the old value", batch.results()[1 + 1].value == 0);
}

void many_at_once(Pool &p) {
    // More than ring and queue pairs hold, so some wait in the library.
    ds::Batch batch;
    for (uint64_t i = 0; i < 3000; i++)
        batch.read(p.space, p.address(i % 2, 4096 + i * 8), p.buffer.slice(i * 8, 8));
    p.fabric.run(run_batch(p.fabric, batch));
    uint32_t bad = 0;
    for (auto &result : batch.results())
        bad += result.outcome != DS_EXECUTED || result.length != 8;
    check("3000 reads in one request", bad == 0);
}

void fails_as_it_should(Pool &p) {
    ds::Slice word = p.buffer.slice(0, 8);
    check_fails("refuses an address below the space", ERANGE, p.space.read(p.info.base - 1, word));
    check_fails("and one past its end", ERANGE, p.space.read(p.info.last - 6, word));
    check_fails("a space that is not there", ENOENT, p.fabric.open_space(55));
    auto read_only = p.fabric.open_space(1, DS_ACCESS_READ).or_throw();
    check_fails("a write through a handle for reading", EACCES, read_only.write(p.info.base, word));
    check_fails("an atomic through it", EACCES, read_only.fetch_add(p.info.base, 1));
    check_fails("a port of the kernel's", EINVAL, p.fabric.bind(0x10, 4));
    check_fails("a call to a port that nobody has bound", ECONNREFUSED,
                p.fabric.call(2, 0x7777, {}, {}, 5s));
    check_fails("a call to a node that is not connected", ENOTCONN,
                p.fabric.call(99, 0x7777, {}, {}, 5s));
    for (uint32_t node : {1u, 2u, 3u})
        check("a node is alive", p.fabric.alive(node).ok() && *p.fabric.alive(node));
    check_fails("a stranger is not known", ENOENT, p.fabric.alive(99));
    ds_counters c = p.fabric.counters();
    check("the counters have seen it",
          c.bytes_written >= 11 * MiB && c.pieces > 4000 && c.atomics >= 1402 && c.unknown == 0);
}

void use() {
    Pool p;
    moves_bytes(p);
    counts(p);
    many_at_once(p);
    fails_as_it_should(p);
}

// ---- persist ----

void persist(int seconds) {
    Pool p;
    auto end = Clock::now() + std::chrono::seconds(seconds);
    uint64_t rounds = 0, wrong = 0;
    std::string why;
    auto note = [&](const ds::Result<void> &result) {
        if (!result && why.empty())
            why = result.error().sentence;
    };
    while (Clock::now() < end && why.empty()) {
        uint64_t addr = p.address(rounds % 2, 4 * MiB);
        p.buffer.at<uint64_t>() = ++rounds;
        ds::Batch write;
        write.write(p.space, addr, p.buffer.slice(0, 256 << 10)).idempotent();
        note(p.fabric.execute(write, 60s));
        note(p.space.read(addr, p.buffer.slice(MiB, 256 << 10), 60s));
        wrong += p.buffer.at<uint64_t>(MiB) != rounds;
    }
    std::cout << "# " << rounds << " rounds, " << p.fabric.counters().retries << " retries\n";
    check("no read and no idempotent write fails while links fail", why.empty(), why);
    check("what was written is read", rounds > 0 && wrong == 0);
}

// ---- messages ----

void serve(uint32_t port) {
    ds::Fabric fabric = ds::Fabric::open().or_throw();
    ds::Service service = fabric.bind(port, 8).or_throw();
    std::vector<std::byte> room(fabric.limits().max_msg_bytes);
    std::cout << "ready" << std::endl;
    for (bool stop = false; !stop;) {
        auto message = service.receive(room, 60s).or_throw();
        if (!message)
            throw ds::Failure(ds::Error::from(ETIMEDOUT));
        stop = !message->head.want_reply;
        if (!stop)
            service.reply(*message, 0, message->payload).or_throw();
    }
}

void call(uint32_t node, uint32_t port) {
    ds::Fabric fabric = ds::Fabric::open().or_throw();
    std::vector<std::byte> payload(fabric.limits().max_msg_bytes), room(payload.size());
    for (size_t i = 0; i < payload.size(); i++)
        payload[i] = static_cast<std::byte>(i * 7);
    for (size_t length : {size_t{0}, size_t{1}, payload.size()}) {
        auto reply = fabric.call(node, port, std::span(payload).first(length), room, 10s);
        check("a call is answered", reply);
        check("with what was sent",
              reply && reply->size() == length && !memcmp(room.data(), payload.data(), length));
    }
    check_fails("an answer longer than the room", EMSGSIZE,
                fabric.call(node, port, payload, std::span(room).first(10), 10s));
    check("a message that wants no answer", fabric.send(node, port, {}));
}

// ---- gone ----

void gone(uint32_t node) {
    Pool p;
    ds::Slice word = p.buffer.slice(0, 8);
    auto start = Clock::now();
    auto lost = p.space.read(p.address(1, 0), word, 5s);
    auto took = Clock::now() - start;
    check("memory of a dead node fails", !lost);
    check("in time", took < 15s);
    std::string name = "node " + std::to_string(node);
    check("and the error names the node",
          !lost && lost.error().sentence.find(name) != std::string::npos,
          lost ? "" : lost.error().sentence);
    check("memory of the other node serves", p.space.read(p.address(0, 0), word));
    bool dead = false;
    for (auto end = Clock::now() + 60s; !dead && Clock::now() < end;
         std::this_thread::sleep_for(100ms)) {
        auto alive = p.fabric.alive(node);
        dead = alive && !*alive;
    }
    check("the node is known to be dead", dead);
}

int usage() {
    std::cerr << "selftest: wants use, persist SECONDS, serve PORT, call NODE PORT or gone NODE\n";
    return 2;
}

uint32_t number(const char *text) {
    return static_cast<uint32_t>(strtoul(text, nullptr, 0));
}

}  // namespace

int main(int argc, char **argv) try {
    std::string what = argc > 1 ? argv[1] : "";
    if (what == "use")
        use();
    else if (what == "persist" && argc == 3)
        persist(static_cast<int>(number(argv[2])));
    else if (what == "serve" && argc == 3)
        return serve(number(argv[2])), 0;
    else if (what == "call" && argc == 4)
        call(number(argv[2]), number(argv[3]));
    else if (what == "gone" && argc == 3)
        gone(number(argv[2]));
    else
        return usage();
    std::cout << "1.." << results << '\n';
    return failures > 0;
} catch (const ds::Failure &failure) {
    std::cout << "Bail out! " << failure.what() << ' ' << failure.error().remedy << '\n';
    return 1;
}

// SPDX-License-Identifier: Apache-2.0
// A dsmasterd in a process of its own, over memory servers that can die or have
// other memory, and objects to look at in each replica.
#pragma once

#include "master.hpp"

#include "../store/master.hpp"
#include "error.hpp"
#include "fabric/crash_point.hpp"
#include "pool/pool.hpp"
#include "store/label.hpp"
#include "store/wire.hpp"
#include "term.hpp"
#include "user_mortal.hpp"

namespace master_test {

namespace wire = ds::store::wire;
using store_test::Client;
using store_test::noise;

constexpr uint64_t MiB = 1 << 20;
constexpr uint32_t servers = 3;

/// A pool with a master in a process of its own, and clients; all of them see
/// the same servers die.
class World {
public:
    World() : pool_(servers, mortal::shift) { start(); }
    World(const World &) = delete;
    World &operator=(const World &) = delete;

    /// It gets the signal at the crash point when it comes there for the nth time.
    void start(const std::string &crash_point = "", uint64_t nth = 1, int signal = SIGKILL) {
        master_ =
            std::make_unique<local::Child>([=, this] { return serve(crash_point, nth, signal); });
    }
    void kill() {
        master_->signal(SIGKILL);
        master_->wait();
    }
    /// Until resume() it does nothing.
    void stop() const { master_->stop(); }
    void resume() const { master_->signal(SIGCONT); }
    /// Until it comes to its crash point.
    void wait_for_death() { assert_int_equal(master_->wait(), 128 + SIGKILL); }
    /// Until it ends by itself: its exit status.
    int wait_for_end() { return master_->wait(); }
    void wait_for_stop() const { master_->wait_for_stop(); }

    /// The time (ns) for which it has had a processor.
    uint64_t busy_ns() const {
        clockid_t clock;
        timespec time;
        assert_int_equal(clock_getcpuclockid(master_->pid(), &clock), 0);
        assert_int_equal(clock_gettime(clock, &time), 0);
        return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
    }

    /// Whether its disk is full.
    void fill_disk(bool full) const {
        rlimit limit{full ? 0 : RLIM_INFINITY, RLIM_INFINITY};
        assert_int_equal(prlimit(master_->pid(), RLIMIT_FSIZE, &limit, nullptr), 0);
    }

    std::unique_ptr<Client> client() const {
        return std::make_unique<Client>(pool_, mortal::open(pool_.folder.file(), at));
    }

    /// The server has other memory: zeros.
    void replace_memory(Client &c, uint32_t server) {
        ds_buffer *buffer;
        assert_int_equal(ds_buffer_alloc(c.fabric, MiB, -1, &buffer), 0);
        for (uint64_t offset = 0; offset < uint64_t{1} << mortal::shift; offset += MiB)
            assert_int_equal(
                ds_write(c.space, mortal::base + (uint64_t{server} << mortal::shift) + offset,
                         buffer, 0, MiB, 0, nullptr),
                0);
        ds_buffer_free(buffer);
    }

    std::string path() const { return pool_.folder.file(); }

    mortal::Servers at;

private:
    int serve(const std::string &crash_point, uint64_t nth, int signal) {
        using namespace dsmasterd;
        std::signal(SIGXFSZ, SIG_IGN);
        if (!crash_point.empty())
            ds::test_points.crash_at(crash_point, nth, signal);
        ds_fabric *fabric = mortal::open(pool_.folder.file(), at);
        ds_space *space;
        ds_service *service;
        std::unique_ptr<ds::pool::Pool> joined;
        if (ds_space_open(fabric, 1, DS_ACCESS_ALL, &space) < 0)
            return 1;
        Catalogue catalogue(pool_.folder.file("metadata"));
        if (!catalogue.shape()) {
            catalogue.make(
                {.store = 77, .space = 1, .servers = servers, .server_shift = mortal::shift});
            if (ds::pool::Pool::format(space) < 0 || ds::store::write_label(space, 77) < 0)
                return 2;
        }
        if (ds::pool::Pool::join(space, joined) < 0 ||
            ds_service_bind(fabric, DS_STORE_PORT, 64, &service) < 0)
            return 3;
        try {
            uint32_t epoch;
            if (begin_term(space, *joined, catalogue, epoch) < 0)
                return 4;
            Master master(space, joined, catalogue, *catalogue.shape(), epoch);
            std::atomic<bool> stop{false};
            master.serve(service, stop);
        } catch (const Refused &) {
            return 5;
        }
        return 0;
    }

    store_test::Pool pool_;
    std::unique_ptr<local::Child> master_;
};

/// Another member of the pool, who can fence.
class Other {
public:
    explicit Other(const World &world) : fabric_(mortal::open(world.path(), world.at)) {
        if (ds_space_open(fabric_, 1, DS_ACCESS_ALL, &space_) ||
            ds::pool::Pool::join(space_, pool_))
            std::abort();
    }
    Other(const Other &) = delete;
    Other &operator=(const Other &) = delete;
    ~Other() {
        pool_.reset();
        ds_space_close(space_);
        ds_fabric_close(fabric_);
    }

    /// Who was the nth to join: 1 is the master. One that took the number of another who
    /// was gone is its next incarnation.
    int fence(uint16_t nth, uint16_t incarnation = 1) {
        return pool_->fence({.client = nth, .incarnation = incarnation});
    }

private:
    ds_fabric *fabric_;
    ds_space *space_ = nullptr;
    std::unique_ptr<ds::pool::Pool> pool_;
};

/// Waits until it is so.
template <class So>
void eventually(const So &so) {
    for (int i = 0; i < 600; i++) {
        if (so())
            return;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    fail_msg("not so after a minute");
}

inline bool is_down(Client &c, uint32_t server) {
    ds_store_totals t{};
    std::vector<ds_store_server> all(servers);
    t.size = sizeof(t);
    assert_int_equal(ds_store_get_totals(c.store, 0, &t, all.data(), all.size()), 0);
    return all[server].down;
}

/// What a client has reserved that dies then.
inline void die_with_a_reservation(World &world) {
    local::Child client([&] {
        auto c = world.client();
        ds::test_points.crash_at("store_written", 1);
        return c->put("dead", noise(MiB));
    });
    assert_int_equal(client.wait(), 128 + SIGKILL);
}

inline int repair(Client &c, const std::string &key) {
    return ds_store_repair(c.store, key.data(), key.size(), 0);
}

/// Some objects of two replicas.
struct Objects {
    explicit Objects(Client &c) {
        for (size_t length :
             {size_t{0}, size_t{1}, size_t{64}, size_t{5000}, size_t{MiB}, size_t{3 * MiB + 17}}) {
            data.push_back(noise(length, length + 1));
            assert_int_equal(c.put(key(data.size() - 1), data.back(), 2), 0);
        }
        used = c.settled().used;
    }
    static std::string key(size_t i) { return "key" + std::to_string(i); }

    /// What is there is what was put.
    void same(Client &c) const {
        std::string got;
        for (size_t i = 0; i < data.size(); i++) {
            assert_int_equal(c.get(key(i), got), 0);
            assert_true(got == data[i]);
        }
    }

    /// And so it is in each replica, with no byte of space lost.
    void whole(Client &c) const {
        std::vector<ds_store_damage> damages;
        same(c);
        for (size_t i = 0; i < data.size(); i++)
            assert_int_equal(c.check(key(i), damages), 0);
        ds_store_totals t = c.settled();
        assert_int_equal(t.used, used);
        assert_int_equal(t.reserved, 0);
    }

    std::vector<std::string> data;
    uint64_t used;
};

// ---- messages as clients send them ----

inline std::vector<std::byte> bytes_of(const auto &part, const std::string &key) {
    auto fixed = std::as_bytes(std::span(&part, 1)), end = std::as_bytes(std::span(key));
    std::vector<std::byte> bytes(fixed.begin(), fixed.end());
    bytes.insert(bytes.end(), end.begin(), end.end());
    return bytes;
}

inline wire::Head head(wire::Op op, size_t length, uint16_t client, uint64_t request = 1) {
    return {.magic = wire::magic,
            .version = wire::newest,
            .op = op,
            .length = static_cast<uint32_t>(length),
            .epoch = 0,
            .store = 77,
            .request = request,
            .client = client,
            .incarnation = 1,
            .reserved = 0};
}

/// The master's status.
inline int call(Client &c, std::span<const std::byte> request) {
    std::array<std::byte, wire::most_bytes> room;
    ds_reply reply{};
    reply.data = room.data();
    reply.room = room.size();
    assert_int_equal(ds_message_call(c.fabric, 1, DS_STORE_PORT, request.data(),
                                     static_cast<uint32_t>(request.size()), 0, &reply),
                     0);
    return reply.status;
}

// ---- what is in memory ----

// Where on this server these bytes are; 0: nowhere.
inline uint64_t find(Client &c, uint32_t server, const std::string &start) {
    ds_buffer *buffer;
    uint64_t found = 0, room = uint64_t{1} << mortal::shift;
    assert_int_equal(ds_buffer_alloc(c.fabric, room, -1, &buffer), 0);
    uint64_t first = mortal::base + server * room;
    assert_int_equal(ds_read(c.space, first, buffer, 0, room, 0, nullptr), 0);
    std::string_view memory(static_cast<char *>(ds_buffer_data(buffer)), room);
    if (size_t i = memory.find(start); i != memory.npos)
        found = first + i;
    ds_buffer_free(buffer);
    return found;
}

// Flips a bit of the object in one replica. False if none is on the server.
inline bool damage(Client &c, const std::string &data, uint32_t server) {
    uint64_t at = find(c, server, data.substr(0, 64));
    if (!at)
        return false;
    ds_result old;
    assert_int_equal(ds_fetch_add(c.space, at, 0, 0, &old), 0);
    assert_int_equal(ds_cas(c.space, at, old.value, old.value ^ 1, 0, nullptr), 0);
    return true;
}

}  // namespace master_test

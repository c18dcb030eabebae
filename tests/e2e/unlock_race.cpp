// SPDX-License-Identifier: Apache-2.0
// Is an unlock ever lost? DESIGN rule 2, measured.
//
//   unlock_race lock ADDRESS ID write|cas SECONDS
//       takes and frees a lock word over and over: CAS 0 -> ID, then WRITE 0 or
//       CAS ID -> 0. An ID found in the word by the next CAS is an unlock that
//       was lost: nobody else stores it. With `write` nobody else may lock the
//       word, as the pairs are sent without waiting for their results.
//   unlock_race contend ADDRESS SECONDS
//       tries a CAS that fails every time.
//
// Both print one line of NAME VALUE pairs. Space 1.
#include <chrono>
#include <cstring>
#include <ds/ds.hpp>
#include <iostream>
#include <string>

namespace {

constexpr int pairs = 8;  // in a chain, which goes to the device at once; 16 is its limit
constexpr uint64_t never = ~uint64_t{0};

struct Lock {
    uint64_t address;
    uint64_t id;
    bool by_write;
};

struct Counts {
    uint64_t locked = 0, busy = 0, lost = 0;
};

class Clock {
public:
    explicit Clock(const char *seconds)
        : end_(std::chrono::steady_clock::now() + std::chrono::seconds(std::stoul(seconds))) {}
    bool running() const { return std::chrono::steady_clock::now() < end_; }

private:
    std::chrono::steady_clock::time_point end_;
};

void count(const Lock &lock, uint64_t found, Counts &counts) {
    (found == 0 ? counts.locked : found == lock.id ? counts.lost : counts.busy)++;
}

// Lock and unlock several times in one chain.
void lock_and_unlock(ds::Fabric &fabric, const ds::Space &space, const ds::Buffer &zero,
                     const Lock &lock, Counts &counts) {
    ds::Batch batch;

    for (int i = 0; i < pairs; i++) {
        batch.cas(space, lock.address, 0, lock.id).chained();
        if (lock.by_write)
            batch.write(space, lock.address, zero.slice(0, sizeof(uint64_t)));
        else
            batch.cas(space, lock.address, lock.id, 0);
        if (i + 1 < pairs)
            batch.chained();
    }
    fabric.execute(batch).or_throw();
    for (int i = 0; i < pairs; i++)
        count(lock, batch.results()[2 * i].value, counts);
}

int run_lock(ds::Fabric &fabric, const ds::Space &space, const Lock &lock, Clock clock) {
    ds::Buffer zero = fabric.alloc(4096).or_throw();
    Counts counts;

    while (clock.running())
        lock_and_unlock(fabric, space, zero, lock, counts);
    if (space.cas(lock.address, lock.id, 0).or_throw() == lock.id)
        counts.lost++;
    std::cout << "locked " << counts.locked << " busy " << counts.busy << " lost " << counts.lost
              << '\n';
    return 0;
}

int run_contend(ds::Fabric &fabric, const ds::Space &space, uint64_t address, Clock clock) {
    uint64_t tries = 0;

    while (clock.running()) {
        ds::Batch batch;
        for (int i = 0; i < 2 * pairs; i++) {
            batch.cas(space, address, never, never);
            if (i + 1 < 2 * pairs)
                batch.chained();
        }
        fabric.execute(batch).or_throw();
        tries += batch.size();
    }
    std::cout << "tries " << tries << '\n';
    return 0;
}

}  // namespace

int main(int argc, char **argv) try {
    ds::Fabric fabric = ds::Fabric::open().or_throw();
    ds::Space space = fabric.open_space(1).or_throw();

    if (argc == 6 && !std::strcmp(argv[1], "lock")) {
        Lock lock{std::stoull(argv[2], nullptr, 0), std::stoull(argv[3]),
                  !std::strcmp(argv[4], "write")};
        return run_lock(fabric, space, lock, Clock(argv[5]));
    }
    if (argc == 4 && !std::strcmp(argv[1], "contend"))
        return run_contend(fabric, space, std::stoull(argv[2], nullptr, 0), Clock(argv[3]));
    std::cerr << "usage: unlock_race lock ADDRESS ID write|cas SECONDS | contend ADDRESS SECONDS\n";
    return 2;
} catch (const ds::Failure &failure) {
    std::cerr << "unlock_race: " << failure.what() << "\n  " << failure.error().remedy << '\n';
    return 1;
}

// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
//
// Tokens beside the kernel's xarray, on this host: OBJECTS of them, in the mix
// QP:MR:CQ:PD = 4:16:2:1, each known to both by the same index, and asked for
// in the same random order. What takes turns is a line for each round,
// nanoseconds of all look-ups of each.
//
//   tokencache OBJECTS ROUNDS
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

extern "C" {
#include "pool.h"
#include "tokencache/cache.h"

// The linker puts it between the core and the C library: what is asked for is
// counted.
void *real_calloc(size_t count, size_t size) __asm__("__real_calloc");
void *counting_calloc(size_t count, size_t size) __asm__("__wrap_calloc");
}

namespace {

size_t asked_for = 0;  // bytes

constexpr u32 lookups = 500000;
constexpr u32 window = 64;  // uses under way
constexpr u32 l1 = 8192;    // slots

u32 random_below(u64 &seed, u32 n) {
    seed = seed * 6364136223846793005U + 1442695040888963407U;
    return static_cast<u32>((seed >> 32) * n >> 32);
}

[[noreturn]] void fail(const char *why) {
    std::fprintf(stderr, "tokencache: %s\n", why);
    std::exit(1);
}

u8 type_of(u32 number) {
    const u32 place = number % 23;
    if (place < 16)
        return DS_TOKEN_MR;
    if (place < 20)
        return DS_TOKEN_QP;
    return place < 22 ? DS_TOKEN_CQ : DS_TOKEN_PD;
}

// What an object of any number is; none of them is wide.
ds_token_desc describe(u32 number) {
    ds_token_desc d{};
    d.type = type_of(number);
    switch (d.type) {
    case DS_TOKEN_PD:
        d.pd.number = number;
        break;
    case DS_TOKEN_CQ:
        d.cq.number = number;
        d.cq.entries = 4095;
        break;
    case DS_TOKEN_MR:
        d.mr.lkey = d.mr.rkey = number << 8;
        d.mr.access = 7;
        d.mr.iova = static_cast<u64>(number) << 21;
        d.mr.length = 1U << 21;
        d.mr.page_shift = 12;
        break;
    default:
        d.qp.number = number;
        d.qp.qp_type = 2;
        d.qp.state = 3;
    }
    return d;
}

// The number of describe(), cut to what an object of the type has of it.
bool is_right(const ds_token_desc &d, u32 number) {
    if (d.type != type_of(number))
        return false;
    switch (d.type) {
    case DS_TOKEN_PD:
        return d.pd.number == number;
    case DS_TOKEN_CQ:
        return d.cq.number == number;
    case DS_TOKEN_MR:
        return d.mr.lkey == number << 8 && d.mr.iova == static_cast<u64>(number) << 21;
    default:
        return d.qp.number == number;
    }
}

class Objects {
public:
    explicit Objects(u32 count) : pool(pool_create()), tokens(count) {
        const size_t before = asked_for;
        if (pool == nullptr || ds_cache_init(&cache, 1U << DS_TOKEN_INDEX_BITS, l1,
                                             DS_POLICY_DEFAULT, 0, DS_L2_ANYWHERE) != 0)
            fail("no memory");
        for (u32 i = 0; i < count; i++)
            make(i);
        // L1 holds copies, and is as large for any number of objects.
        const size_t all = asked_for - before;
        bytes = all - l1_bytes() - policy_bytes();
        for (u32 i = 0; i < count; i++)
            check(i);
    }
    Objects(const Objects &) = delete;
    Objects &operator=(const Objects &) = delete;
    ~Objects() { ds_cache_destroy(&cache); }

    // Tokens to ask for.
    std::vector<u32> draw(u64 &seed, u32 count) const {
        std::vector<u32> drawn(count);
        for (u32 &token : drawn)
            token = tokens[random_below(seed, static_cast<u32>(tokens.size()))];
        return drawn;
    }

    // Those of half of L1, which come into it the first time, and stay.
    std::vector<u32> draw_hot(u64 &seed, u32 count) {
        std::vector<u32> drawn(count);
        if (hot.empty())
            hot = draw(seed, l1 / 2);
        for (const u32 token : hot)
            ds_cache_miss(&cache, token);
        for (u32 &token : drawn)
            token = hot[random_below(seed, static_cast<u32>(hot.size()))];
        return drawn;
    }

    ds_cache cache{};
    ds_token_table &table = cache.table;
    xarray *pool;
    std::vector<u32> tokens;
    std::vector<u32> hot;
    size_t bytes = 0;         // of the tokens
    size_t kernel_bytes = 0;  // of what they stand for

private:
    // What another one like it asks for.
    static size_t l1_bytes() {
        const size_t before = asked_for;
        ds_l1 tier{};
        if (ds_l1_init(&tier, l1) != 0)
            fail("no memory");
        const size_t asked = asked_for - before;
        ds_l1_destroy(&tier);
        return asked;
    }

    size_t policy_bytes() const { return ds_policy_bytes(&cache.policy) - sizeof(cache.policy); }

    void make(u32 number) {
        const ds_token_desc d = describe(number);
        if (ds_token_create(&table, &d, &tokens[number]) != 0 ||
            !pool_add(pool, ds_token_index(tokens[number]), d.type))
            fail("no memory");
        kernel_bytes += pool_object_size(d.type);
    }

    // Both find it, and neither finds what there is not.
    void check(u32 number) {
        const u32 token = tokens[number];
        const u32 later = token + (1U << DS_TOKEN_GEN_OFF);
        ds_token_desc d{};
        u64 word = 0;
        if (ds_token_find(&table, later, &word) != -EBADF ||
            ds_token_find(&table, token, &word) != 0 || ds_token_get(&table, token, &d) != 0 ||
            !is_right(d, number))
            fail("the directory is wrong");
        ds_token_put(&table, token);
        pool_element *element = pool_get(pool, ds_token_index(token));
        if (element == nullptr || pool_index(element) != ds_token_index(token))
            fail("the xarray is wrong");
        pool_put(element);
    }
};

// ---- look-ups of all that was drawn; the number of those that were answered
// ----

using Lookups = u32(Objects &, const std::vector<u32> &);

u32 in_directory(Objects &of, const std::vector<u32> &drawn) {
    u32 right = 0;
    u64 word = 0;
    for (const u32 token : drawn)
        right += ds_token_find(&of.table, token, &word) == 0;
    return right;
}

u32 in_xarray(Objects &of, const std::vector<u32> &drawn) {
    u32 right = 0;
    for (const u32 token : drawn)
        right += xa_load(of.pool, ds_token_index(token)) != nullptr;
    return right;
}

// With what the policy counts. Only L1 is right.
u32 in_l1(Objects &of, const std::vector<u32> &drawn) {
    u32 right = 0;
    struct ds_token_pack pack = {};
    for (const u32 token : drawn)
        right += ds_cache_look(&of.cache, token, &pack) == 1;
    return right;
}

// Each waits for the answer of the one before, the highest bit of which is 0.
u32 in_directory_chained(Objects &of, const std::vector<u32> &drawn) {
    u32 right = 0;
    u64 word = 0;
    for (const u32 token : drawn)
        right += ds_token_find(&of.table, token + static_cast<u32>(word >> 63), &word) == 0;
    return right;
}

u32 in_xarray_chained(Objects &of, const std::vector<u32> &drawn) {
    u32 right = 0;
    u64 answer = 0;
    for (const u32 token : drawn) {
        const u32 index = ds_token_index(token) + static_cast<u32>(answer >> 63);
        answer = reinterpret_cast<u64>(xa_load(of.pool, index));
        right += answer != 0;
    }
    return right;
}

// Begin some uses, end them, and so on.
template <class Begin, class End>
u32 use(const std::vector<u32> &drawn, Begin &&begin, End &&end) {
    u32 right = 0;
    for (u32 first = 0; first < drawn.size(); first += window) {
        const u32 count = std::min(window, static_cast<u32>(drawn.size()) - first);
        for (u32 i = 0; i < count; i++)
            right += begin(i, drawn[first + i]);
        for (u32 i = 0; i < count; i++)
            end(i, drawn[first + i]);
    }
    return right;
}

u32 held(Objects &of, const std::vector<u32> &drawn) {
    return use(
        drawn, [&](u32, u32 token) { return ds_token_hold(&of.table, token) == 0; },
        [&](u32, u32 token) { ds_token_put(&of.table, token); });
}

u32 copied(Objects &of, const std::vector<u32> &drawn) {
    ds_token_desc d{};
    return use(
        drawn, [&](u32, u32 token) { return ds_token_get(&of.table, token, &d) == 0; },
        [&](u32, u32 token) { ds_token_put(&of.table, token); });
}

u32 referenced(Objects &of, const std::vector<u32> &drawn) {
    std::array<pool_element *, window> elements{};
    return use(
        drawn,
        [&](u32 i, u32 token) {
            elements[i] = pool_get(of.pool, ds_token_index(token));
            return elements[i] != nullptr;
        },
        [&](u32 i, u32) { pool_put(elements[i]); });
}

// ---- what policies take ----

// A line for each policy, with the L1 that it has above and with a small one; L2 is as the module
// has it.
void count_policies() {
    constexpr u32 l2_pages = 1024;

    for (u32 mode = 0; mode < DS_POLICY_MODES; mode++)
        for (const u32 slots : {512U, l1}) {
            ds_policy policy{};
            if (ds_policy_init(&policy, slots, mode) != 0 ||
                ds_policy_001_add_l2(&policy, l2_pages * DS_L2_MIXED_SLOTS) != 0)
                fail("no memory");
            std::printf("policy %u slots %u policybytes %zu\n", mode, slots,
                        static_cast<size_t>(ds_policy_bytes(&policy)));
            ds_policy_destroy(&policy);
        }
}

// ---- their times ----

using Clock = std::chrono::steady_clock;

long since(Clock::time_point start) {
    return std::chrono::nanoseconds(Clock::now() - start).count();
}

long measure(Objects &of, Lookups *look_up, const std::vector<u32> &drawn) {
    const auto start = Clock::now();
    if (look_up(of, drawn) != drawn.size())
        fail("a wrong answer");
    return since(start);
}

void measure_round(Objects &of, u64 seed) {
    const std::vector<u32> drawn = of.draw(seed, lookups);
    std::printf("lookups %u", lookups);
    std::printf(" directory %ld xarray %ld", measure(of, in_directory, drawn),
                measure(of, in_xarray, drawn));
    std::printf(" directorychain %ld xarraychain %ld", measure(of, in_directory_chained, drawn),
                measure(of, in_xarray_chained, drawn));
    std::printf(" held %ld copied %ld referenced %ld\n", measure(of, held, drawn),
                measure(of, copied, drawn), measure(of, referenced, drawn));
}

void measure_hot(Objects &of, u64 seed) {
    const std::vector<u32> drawn = of.draw_hot(seed, lookups);
    measure(of, in_l1, drawn);
    std::printf("lookups %u inlone %ld hotinxarray %ld\n", lookups, measure(of, in_l1, drawn),
                measure(of, in_xarray, drawn));
}

// ---- two threads ----

// So short that on a busy host, too, some have both processors to themselves.
constexpr u32 burst = 20000;
constexpr u32 bursts = 40;

// Two threads at once, each with look-ups of its own, which it drew, so that its processor has
// them: from the first's start to the last's end.
long measure_two(Objects &of, Lookups *look_up, std::array<u64, 2> &seeds) {
    std::array<Clock::time_point, 2> starts;
    std::array<Clock::time_point, 2> ends;
    std::atomic<int> ready = 0;
    const auto run = [&](int number) {
        const std::vector<u32> drawn = of.draw(seeds[number], burst);
        ready++;
        while (ready < 2) {
        }
        starts[number] = Clock::now();
        measure(of, look_up, drawn);
        ends[number] = Clock::now();
    };
    std::jthread other(run, 1);
    run(0);
    other.join();
    return std::chrono::nanoseconds(std::ranges::max(ends) - std::ranges::min(starts)).count();
}

// The best of some bursts: of one thread, and of two with twice the look-ups.
std::pair<long, long> best(Objects &of, Lookups *look_up, u64 seed) {
    std::pair least{LONG_MAX, LONG_MAX};
    std::array seeds{seed, ~seed};
    for (u32 i = 0; i < bursts; i++) {
        least.first = std::min(least.first, measure(of, look_up, of.draw(seeds[0], burst)));
        least.second = std::min(least.second, measure_two(of, look_up, seeds));
    }
    return least;
}

void measure_threads(Objects &of, u64 seed) {
    const auto found = best(of, in_directory, seed);
    const auto used = best(of, held, seed);
    const auto xarray = best(of, in_xarray, seed);
    std::printf(
        "burst %u found %ld foundbytwo %ld held %ld heldbytwo %ld xarray %ld xarraybytwo %ld\n",
        burst, found.first, found.second, used.first, used.second, xarray.first, xarray.second);
}

}  // namespace

void *counting_calloc(size_t count, size_t size) {
    asked_for += count * size;
    return real_calloc(count, size);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        std::fputs("usage: tokencache OBJECTS ROUNDS\n", stderr);
        return 2;
    }
    const auto count = static_cast<u32>(std::strtoul(argv[1], nullptr, 10));
    const unsigned long rounds = std::strtoul(argv[2], nullptr, 10);
    Objects objects(count);
    std::printf("objects %u bytes %zu kernelbytes %zu policybytes %zu slots %u\n", count,
                objects.bytes, objects.kernel_bytes,
                static_cast<size_t>(ds_policy_bytes(&objects.cache.policy)), l1);
    count_policies();
    for (unsigned long round = 1; round <= rounds; round++)
        measure_round(objects, round);
    for (unsigned long round = 1; round <= rounds; round++)
        measure_hot(objects, round);
    for (u64 trial = 1; trial <= 10; trial++)
        measure_threads(objects, trial);
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Clients that put, update, look up and scan the same keys at once, and are
// killed at random; the history of what they saw must be linearizable.
//
//   clients FIRST_SEED SEEDS        one test a seed
//   clients --find FIRST_SEED SEEDS one test: some seed shows a history that is
//   not
//
// Copies are torn at random (fabric/crash_point.hpp), so that readers do see
// nodes that are being written.
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <random>
#include <vector>

#include "fabric/crash_point.hpp"
#include "history.hpp"
#include "pool_file.hpp"

using namespace tree_test;

namespace {

constexpr unsigned processes = 8;
constexpr unsigned operations = 800;  // of a process, in all its lives
constexpr unsigned readers = 2;       // of the processes: slow ones, that only read
constexpr unsigned readings = 60;     // of such a one
constexpr uint64_t keys = 1000;
constexpr uint32_t lease_ms = 60;
constexpr size_t most_scanned = 8;
constexpr size_t most_events = operations * (2 * most_scanned + 2);

uint64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

// What a process has seen, in memory that outlives it.
struct Log {
    std::atomic<uint32_t> done;    // operations that were begun
    std::atomic<uint32_t> events;  // that are valid
    int failure;                   // of a call that should not have failed
    uint64_t taken_over, torn;     // counters of its lives so far
    Event event[most_events];

    Event *begin(Event::Kind kind, uint16_t process, uint64_t key, uint64_t value) {
        Event *e = &event[events];
        *e = {kind, -1, process, key, value, now()};
        events++;
        return e;
    }
};

// The keys come up roughly in this order. If it is the tree's order, all the work is
// at its right end, where one node after the other is split; if not, everywhere.
bool in_order;

uint64_t key_of(uint64_t n) {
    return in_order ? n << 50 | 7 : n * 0x9e3779b97f4a7c15u;
}

class Process {
public:
    Process(const std::string &path, uint16_t number, unsigned life, uint64_t seed, Log *logs)
        : number_(number),
          random_(seed * 1000 + number * 100u + life),
          log_(logs[number]),
          progress_(&logs[processes - 1].done),
          opened_(path) {
        tree_ = opened_.tree(1, lease_ms, number % 4 ? DS_TREE_CACHE_DEFAULT : 0);
    }

    // False if this process cannot go on: it was fenced, because it was too slow.
    bool run() {
        while (log_.done < (is_reader() ? readings : operations)) {
            log_.done++;
            unsigned what = random_() % (is_reader() ? 45 : 100);
            int rc = what < 5 ? scan() : what < 15 ? several() : one(kind(what));
            ds_tree_counts counts = counters(tree_);
            log_.taken_over += counts.recovered - counts_.recovered;
            log_.torn += counts.torn_retries - counts_.torn_retries;
            counts_ = counts;
            if (rc == -ESHUTDOWN)
                return false;
            if (rc < 0) {
                log_.failure = rc;
                return true;
            }
        }
        return true;
    }

private:
    bool is_reader() const { return number_ < readers; }
    static uint32_t kind(unsigned what) {
        return what < 45 ? DS_TREE_GET : what < 85 ? DS_TREE_PUT : DS_TREE_UPDATE;
    }
    static Event::Kind kind_of(uint32_t opcode) {
        return opcode == DS_TREE_GET   ? Event::get
               : opcode == DS_TREE_PUT ? Event::put
                                       : Event::update;
    }

    // All clients work their way through the same keys, and mostly on the same ones.
    uint64_t choose() {
        uint64_t done = is_reader() ? progress_->load() : log_.done.load();
        uint64_t reached = 20 + (keys - 20) * done / operations;
        return key_of(random_() % 4 ? reached - 1 - random_() % 20 : random_() % reached);
    }

    ds_tree_op make(uint32_t opcode) {
        ds_tree_op op{};
        op.opcode = opcode;
        op.key = choose();
        if (opcode != DS_TREE_GET)
            op.value = random_() | 1;  // of which no other operation has the same
        return op;
    }

    // Takes what an operation said into the history. An error leaves it open.
    int note(Event &event, const ds_tree_op &op, uint64_t at) {
        bool answered = op.status == 0 || op.status == -ENOENT || op.status == -EEXIST;
        if (!answered)
            return op.status;
        event.result = op.status == 0;
        if (op.opcode == DS_TREE_GET)
            event.value = op.value;
        event.answer = at;
        return 0;
    }

    int one(uint32_t opcode) {
        ds_tree_op op = make(opcode);
        Event *event = log_.begin(kind_of(opcode), number_, op.key, op.value);
        ds_tree_execute(tree_, &op, 1, 1);
        return note(*event, op, now());
    }

    int several() {
        std::vector<ds_tree_op> ops;
        std::vector<Event *> events;
        for (int i = 0; i < 4; i++) {
            ops.push_back(make(kind(random_() % (is_reader() ? 45 : 100))));
            const ds_tree_op &op = ops.back();
            events.push_back(log_.begin(kind_of(op.opcode), number_, op.key, op.value));
        }
        ds_tree_execute(tree_, ops.data(), ops.size(), 0);
        uint64_t at = now();
        int rc = 0;
        for (size_t i = 0; i < ops.size(); i++)
            if (int failed = note(*events[i], ops[i], at); failed < 0)
                rc = failed;
        return rc;
    }

    // A scan is a get of each key that it found, and of each that it did not find
    // where it looked.
    int scan() {
        ds_tree_entry found[most_scanned];
        uint64_t first = choose();
        uint64_t call = now();
        int n = ds_tree_scan(tree_, first, UINT64_MAX, found, most_scanned);
        uint64_t answer = now();
        if (n < 0)
            return n;
        bool whole = n < static_cast<int>(most_scanned);
        uint64_t last = whole ? UINT64_MAX : found[n - 1].key;
        int noted = 0;
        for (uint64_t i = 0; i < keys && noted < static_cast<int>(2 * most_scanned); i++) {
            uint64_t key = key_of(i);
            if (key < first || key > last)
                continue;
            auto *entry = std::find_if(found, found + n, [&](auto &e) { return e.key == key; });
            Event *event =
                log_.begin(Event::get, number_, key, entry < found + n ? entry->value : 0);
            event->call = call;
            event->result = entry < found + n;
            event->answer = answer;
            noted++;
        }
        return 0;
    }

    uint16_t number_;
    std::mt19937_64 random_;
    Log &log_;
    const std::atomic<uint32_t> *progress_;  // of one who writes
    Opened opened_;
    ds_tree *tree_;
    ds_tree_counts counts_{};
};

// One life of one process: it ends by itself, or is killed at a random word
// that it writes.
[[noreturn]] void live(const std::string &path, uint16_t number, unsigned life, uint64_t seed,
                       Log *logs) {
    std::mt19937_64 random(seed * 77 + number * 7u + life);
    // Short pauses tear lines; after a long one the rest is of another time.
    if (number < readers)
        ds::test_points.tear(100, 10000, random());
    else
        ds::test_points.tear(seed / 2 % 2 ? 50 : 400, 200, random());
    if (life < 3 && number >= readers)
        ds::test_points.crash_at("local.word", 1 + random() % 3000);
    _exit(Process(path, number, life, seed, logs).run() ? 0 : 1);
}

struct Outcome {
    unsigned killed = 0, fenced = 0;
    std::string failure;  // of a process, or of the tree
    std::string why;      // the history is not linearizable
};

std::vector<Event> events_of(Log *logs, ds_tree *tree) {
    std::vector<Event> events;
    for (unsigned i = 0; i < processes; i++)
        events.insert(events.end(), logs[i].event, logs[i].event + logs[i].events);
    // What is there at the end has to follow from it, too.
    for (uint64_t i = 0; i < keys; i++) {
        Event e{Event::get, -1, processes, key_of(i), 0, now()};
        int rc = ds_tree_get(tree, e.key, &e.value);
        e.result = rc == 0 ? 1 : rc == -ENOENT ? 0 : -1;
        e.answer = now();
        events.push_back(e);
    }
    return events;
}

Outcome run(uint64_t seed) {
    Outcome outcome;
    in_order = seed % 2;
    PoolFile file(2);
    {
        Opened opened(file.path());
        NEED(ds_tree_create(opened.space(), 1));
    }
    void *shared = mmap(nullptr, sizeof(Log) * processes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    Log *logs = static_cast<Log *>(shared);
    std::vector<pid_t> pids(processes);
    std::vector<unsigned> lives(processes);
    auto start = [&](uint16_t i) {
        pids[i] = fork();
        if (pids[i] == 0)
            live(file.path(), i, lives[i], seed, logs);
        lives[i]++;
    };
    for (uint16_t i = 0; i < processes; i++)
        start(i);
    int status;
    for (pid_t pid; (pid = wait(&status)) > 0;) {
        auto i = static_cast<uint16_t>(std::find(pids.begin(), pids.end(), pid) - pids.begin());
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? outcome.killed : outcome.fenced)++;
        if (!(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) && WEXITSTATUS(status) != 1)
            outcome.failure = "# process " + std::to_string(i) + " ended with status " +
                              std::to_string(status) + "\n";
        else if (lives[i] < 20)
            start(i);
    }

    Opened opened(file.path());
    ds_tree *tree = opened.tree(1, lease_ms);
    std::vector<Event> events = events_of(logs, tree);
    for (unsigned i = 0; i < processes; i++)
        if (logs[i].failure)
            outcome.failure +=
                "# process " + std::to_string(i) + ": " + ds_strerror(logs[i].failure) + "\n";
    all_linearizable(events, outcome.why);
    ds_tree_stats stats{};
    if (!sound(tree, stats))
        outcome.failure += "# the tree is not sound\n";
    uint64_t taken_over = counters(tree).recovered, torn = 0;
    for (unsigned i = 0; i < processes; i++)
        taken_over += logs[i].taken_over, torn += logs[i].torn;
    std::printf("# seed %" PRIu64 ": %zu events, %u killed, %u fenced, %" PRIu64 " torn, %" PRIu64
                " taken over, %" PRIu64 " leaves\n",
                seed, events.size(), outcome.killed, outcome.fenced, torn, taken_over,
                stats.leaves);
    munmap(shared, sizeof(Log) * processes);
    return outcome;
}

}  // namespace

int main(int argc, char **argv) {
    bool find = argc > 1 && std::strcmp(argv[1], "--find") == 0;
    if (argc - find != 3) {
        std::fprintf(stderr, "clients [--find] FIRST_SEED SEEDS\n");
        return 2;
    }
    uint64_t first = std::strtoull(argv[1 + find], nullptr, 0);
    uint64_t seeds = std::strtoull(argv[2 + find], nullptr, 0);
    std::printf("1..%llu\n", find ? 1ull : static_cast<unsigned long long>(seeds));
    bool found = false;
    for (uint64_t seed = first; seed < first + seeds && !(find && found); seed++) {
        std::fflush(stdout);
        Outcome outcome = run(seed);
        found = !outcome.why.empty() || (!find && !outcome.failure.empty());
        std::fputs((outcome.failure + outcome.why).c_str(), stdout);
        if (!find)
            std::printf("%s %llu - seed %llu\n", found ? "not ok" : "ok",
                        static_cast<unsigned long long>(seed - first + 1),
                        static_cast<unsigned long long>(seed));
    }
    if (find)
        std::printf("%s 1 - the checker finds what is wrong\n", found ? "ok" : "not ok");
    return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Clients that put, get and delete while they and the master are killed.
//
//     chaos run FOLDER DSMASTERD [name=value]...   see Settings
//
// On a pool in a file that it makes, or on space 1 of /dev/ds (device=/dev/ds). There
// server=COMMAND kills a memory server: it ends when the server is back and all lost
// replicas have been made anew.
//
// Prints TAP: what is lost, torn or not accounted for is a failure. The rest of
// what it says begins with '#'. The same seed makes the same choices, but not the
// same interleaving.
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>

#include "chaos_client.hpp"

using namespace chaos;

namespace {

// ---- The one who kills ----

class Process {
public:
    Process(std::vector<std::string> words, const std::string &crash_point,
            const std::string &log) {
        pid_ = fork();
        if (pid_ < 0)
            std::abort();
        if (pid_ > 0)
            return;
        prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody outlives the one who kills
        int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (!log.empty())
            dup2(fd, 1), dup2(fd, 2);
        if (crash_point.empty())
            unsetenv("DS_CRASH_POINT");
        else
            setenv("DS_CRASH_POINT", crash_point.c_str(), 1);
        std::vector<char *> args;
        for (std::string &word : words)
            args.push_back(word.data());
        args.push_back(nullptr);
        execv(args[0], args.data());
        _exit(127);
    }

    /// Its end, if it has ended.
    bool ended(int &status) {
        if (pid_ < 0)
            return true;
        if (waitpid(pid_, &status, WNOHANG) != pid_)
            return false;
        pid_ = -1;
        return true;
    }
    int wait() {
        int status = 0;
        if (pid_ > 0)
            waitpid(pid_, &status, 0);
        pid_ = -1;
        return status;
    }
    void signal(int number) const {
        if (pid_ > 0)
            kill(pid_, number);
    }

private:
    pid_t pid_;
};

class Run {
public:
    explicit Run(const std::string &self) : self_(self), random_(shared->settings.seed) {}

    void go() {
        start_master(false, true);
        const Settings &s = shared->settings;
        for (uint64_t i = 0; i < s.clients; i++)
            start_client(static_cast<int>(i), false);
        for (uint64_t done = 0; done < s.kills || few_servers();) {
            done += let_work(std::chrono::milliseconds(s.pause / 2 + random_() % (s.pause + 1)));
            if (!server_killer.empty() && !server_ && random_() % 10 == 0)
                server_ = std::make_unique<Process>(
                    std::vector<std::string>{server_killer, std::to_string(random_() % 1000)}, "",
                    folder + "/servers.log");
            // A third of the kills are at named points, where the victim ends by itself.
            size_t victim = random_() % (s.clients + 1);
            if (random_() % 3 == 0)
                continue;
            Process &process = victim == s.clients ? *master_ : *clients_[victim];
            process.signal(SIGKILL);
        }
        while (server_) {
            bury();
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
        }
        bury();
        shared->stop = 1;
        let_end();
        restart_plain();
    }

    void stop() {
        master_->signal(SIGTERM);
        if (int status = master_->wait(); status != 0)
            violation("the master ended", std::to_string(status));
    }

private:
    static bool is_kill(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

    // The clients end; what they still wait for, a master has to answer.
    void let_end() {
        for (auto &client : clients_) {
            int status = 0, dead;
            while (!client->ended(status)) {
                if (master_->ended(dead))
                    start_master(false, false);
                std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
            if (!is_kill(status) && status != 0)
                violation("a client ended", std::to_string(status));
        }
    }

    // Where servers are killed, one death of 50 at least is a server's. On a busy machine
    // it takes long until one is back, so the others may be done before.
    static bool few_servers() {
        return !server_killer.empty() && shared->servers <= shared->settings.kills / 50;
    }

    // For so long, and until something was put: else nothing would be in danger. But not
    // for ever, as nothing may be put while a server is away. Returns how many died.
    uint64_t let_work(std::chrono::milliseconds pause) {
        uint64_t before = shared->puts;
        std::this_thread::sleep_for(pause);
        uint64_t dead = bury();
        for (int i = 0; i < 100 && shared->puts == before; i++) {
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            dead += bury();
        }
        return dead;
    }

    // Those who are dead live again. Returns how many there were.
    uint64_t bury() {
        uint64_t dead = 0;
        int status = 0;
        if (master_->ended(status)) {
            dead++;
            shared->crashes++;
            if (!is_kill(status))
                violation("the master ended", std::to_string(status));
            start_master(true, false);
        }
        if (server_ && server_->ended(status)) {
            dead++;
            shared->servers++;
            server_.reset();
            if (status != 0)
                violation("the killer of servers ended", std::to_string(status));
        }
        for (size_t i = 0; i < clients_.size(); i++)
            if (clients_[i]->ended(status)) {
                dead++;
                shared->crashes++;
                if (!is_kill(status))
                    violation("a client ended", std::to_string(status));
                start_client(static_cast<int>(i), true);
            }
        return dead;
    }

    std::string point(bool armed, std::initializer_list<const char *> names) {
        if (!armed || random_() % 3)
            return "";
        return *(names.begin() + random_() % names.size()) +
               (":" + std::to_string(1 + random_() % 40));
    }

    void start_master(bool armed, bool create) {
        std::vector<std::string> words{master_path, "--store", folder + "/store", "--fabric",
                                       pool_device()};
        if (create)
            words.push_back("--create");
        master_ = std::make_unique<Process>(
            words,
            point(armed, {"master_before_commit", "master_before_replies", "master_after_replies",
                          "master_seals_cleared"}),
            folder + "/master.log");
    }

    void start_client(int number, bool armed) {
        auto process = std::make_unique<Process>(
            std::vector<std::string>{self_, "client", folder, std::to_string(number),
                                     std::to_string(random_())},
            point(armed, {"store_begun", "store_written", "store_committed"}), "");
        if (static_cast<size_t>(number) < clients_.size())
            clients_[number] = std::move(process);
        else
            clients_.push_back(std::move(process));
    }

    // The last one has no plan to crash.
    void restart_plain() {
        master_->signal(SIGKILL);
        master_->wait();
        start_master(false, false);
    }

    std::string self_;
    std::mt19937_64 random_;
    std::unique_ptr<Process> master_, server_;
    std::vector<std::unique_ptr<Process>> clients_;
};

// ---- Afterwards ----

int test_number = 0;

void check(bool good, const std::string &name) {
    std::printf("%sok %d - %s\n", good ? "" : "not ", ++test_number, name.c_str());
    std::fflush(stdout);
}

ds_store_totals totals(ds_store *store, std::vector<ds_store_server> &servers) {
    ds_store_totals t{};
    t.size = sizeof(t);
    servers.resize(shared->settings.servers);
    if (int rc = ds_store_get_totals(store, 0, &t, servers.data(), servers.size()))
        violation("totals", ds_errname(rc));
    return t;
}

// Until what the dead had is back.
ds_store_totals settled(ds_store *store, std::vector<ds_store_server> &servers) {
    for (int i = 0;; i++) {
        ds_store_totals t = totals(store, servers);
        if ((t.reserved == 0 && t.retired == 0) || i == 100)
            return t;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
}

// Of one replica, by docs/objstore.md and not by the code.
uint64_t space_for(uint64_t length) {
    auto up = [](uint64_t n, uint64_t to) { return (n + to - 1) / to * to; };
    uint64_t sum = 0;
    do {
        uint64_t part = std::min<uint64_t>(length, 1 << 20);
        sum += up(up(part, 64) + 64, 4096);
        length -= part;
    } while (length > 0);
    return sum;
}

struct Census {
    uint64_t objects = 0, bytes = 0, space = 0;
    std::vector<std::string> keys;
};

Census census(ds_store *store) {
    Census c;
    int rc = ds_store_list(
        store, nullptr, 0, nullptr, 0, 0,
        [](void *arg, const void *key, size_t length, const ds_store_object *object) {
            auto *c = static_cast<Census *>(arg);
            c->objects++;
            c->bytes += object->length;
            c->space += space_for(object->length) * object->replicas;
            c->keys.emplace_back(static_cast<const char *>(key), length);
            return 0;
        },
        &c);
    if (rc)
        violation("list", ds_errname(rc));
    return c;
}

void afterwards() {
    Client client(max_clients - 1, 1);
    std::vector<ds_store_server> servers;
    for (uint64_t i = 0; i < shared->settings.clients; i++)
        Client(static_cast<int>(i), 1).settle();
    check(shared->violations == 0, "no acknowledged put is lost");

    ds_store_totals t = settled(client.store(), servers);
    Census c = census(client.store());
    std::printf("# %llu objects, %llu bytes, used %llu, reserved %llu, retired %llu, free %llu\n",
                (unsigned long long)t.objects, (unsigned long long)t.object_bytes,
                (unsigned long long)t.used, (unsigned long long)t.reserved,
                (unsigned long long)t.retired, (unsigned long long)t.free);
    check(t.reserved == 0 && t.retired == 0, "what the dead had is back");
    check(t.objects == c.objects && t.object_bytes == c.bytes, "the objects are counted");
    check(t.used == c.space && t.used + t.free == t.total, "their space is accounted to the byte");

    bool whole = true;
    for (const std::string &key : c.keys) {
        Client::Got got = client.get(key);
        whole &= got.rc == 0 && pattern::check(key, got.bytes) &&
                 ds_store_check(client.store(), key.data(), key.size(), 0, nullptr, nullptr,
                                nullptr) == 0;
    }
    check(whole, "each object is whole, in each replica");

    for (const std::string &key : c.keys)
        if (int rc = ds_store_del(client.store(), key.data(), key.size(), 0, 0))
            violation("del", key + ds_errname(rc));
    t = settled(client.store(), servers);
    bool back = t.objects == 0 && t.used == 0 && t.free == t.total;
    for (const ds_store_server &s : servers)
        back &= s.free == s.total && s.largest == s.total;
    check(back, "after the deletes all space is free, in one piece a server");
}

int run(const std::string &self, int argc, char **argv) {
    Settings s;
    const std::map<std::string, uint64_t *> names{
        {"seed", &s.seed},    {"clients", &s.clients}, {"kills", &s.kills},
        {"keys", &s.keys},    {"longest", &s.longest}, {"servers", &s.servers},
        {"shift", &s.shift},  {"pause", &s.pause},     {"replicas", &s.replicas},
        {"orders", &s.orders}};
    for (int i = 0; i < argc; i++) {
        std::string word = argv[i];
        size_t at = word.find('=');
        if (word.starts_with("server=")) {
            server_killer = word.substr(7);
            continue;
        }
        if (word.starts_with("device=")) {
            std::snprintf(s.device, sizeof(s.device), "%s", word.c_str() + 7);
            continue;
        }
        auto name = names.find(word.substr(0, at));
        if (at == word.npos || name == names.end())
            return std::fprintf(stderr, "chaos: what is '%s'?\n", argv[i]), 2;
        *name->second = std::strtoull(word.c_str() + at + 1, nullptr, 0);
    }
    if (s.clients < 1 || s.clients >= max_clients || s.keys < 1 || s.keys > max_keys ||
        s.longest < 16 || s.orders < 1 || s.orders > 63)
        return std::fprintf(stderr, "chaos: a number is out of range\n"), 2;
    map_shared(true);
    shared->settings = s;
    ds_local_options options{};
    options.size = sizeof(options);
    options.servers = static_cast<uint32_t>(s.servers);
    options.server_shift = static_cast<uint32_t>(s.shift);
    if (!s.device[0] && ds_local_create((folder + "/pool").c_str(), &options))
        return std::fprintf(stderr, "chaos: cannot make a pool in %s\n", folder.c_str()), 2;

    std::printf("1..7\n");
    Run chaos(self);
    chaos.go();
    std::printf(
        "# seed %llu: %llu puts, %llu gets, %llu deletes, %llu lists, %llu puts without "
        "space, %llu that lost a server, %llu deaths, %llu of them of servers\n",
        (unsigned long long)s.seed, (unsigned long long)shared->puts,
        (unsigned long long)shared->gets, (unsigned long long)shared->dels,
        (unsigned long long)shared->lists, (unsigned long long)shared->refused,
        (unsigned long long)shared->lost, (unsigned long long)(shared->crashes + shared->servers),
        (unsigned long long)shared->servers);
    check(shared->violations == 0, "each get is a whole object that was put, and not too old");
    shared->stop = 0;
    afterwards();
    chaos.stop();
    return shared->violations != 0;
}

}  // namespace

int main(int argc, char **argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::string word = argc > 1 ? argv[1] : "";
    if (word == "client" && argc == 5) {
        folder = argv[2];
        map_shared(false);
        return run_client(std::atoi(argv[3]), std::strtoull(argv[4], nullptr, 10));
    }
    if (word == "run" && argc >= 4) {
        folder = argv[2];
        master_path = argv[3];
        return run(argv[0], argc - 4, argv + 4);
    }
    std::fprintf(stderr, "usage: chaos run FOLDER DSMASTERD [name=value]...\n");
    return 2;
}

// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include <unistd.h>
#include <algorithm>
#include <array>

namespace dsctl {

static volatile std::sig_atomic_t watched, seen;
static const char *volatile file_to_remove;

constexpr std::array interrupts{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static struct sigaction before_watch[interrupts.size()];

// All others end dsctl by default.
constexpr std::array not_fatal{SIGCHLD, SIGCONT, SIGURG, SIGWINCH, SIGTSTP, SIGTTIN, SIGTTOU};

static void at_signal(int number) {
    if (watched && !seen && std::ranges::count(interrupts, number)) {
        seen = 1;
        return;
    }
    if (file_to_remove)
        unlink(file_to_remove);
    std::signal(number, SIG_DFL);
    raise(number);  // as soon as this returns
}

static void handle(int number) {
    struct sigaction action = {};

    action.sa_handler = at_signal;
    sigaction(number, &action, nullptr);
}

// As nohup wants it, and a shell of what it puts into the background; where it ignores SIGINT, too,
// which a script sends to end it.
static bool stays_ignored(int number, const struct sigaction &before) {
    return (number == SIGHUP || number == SIGQUIT) && before.sa_handler == SIG_IGN;
}

void watch_interrupts() {
    for (size_t i = 0; i < interrupts.size() && !watched; i++)
        sigaction(interrupts[i], nullptr, &before_watch[i]);
    watched = 1;
    for (size_t i = 0; i < interrupts.size(); i++)
        if (!stays_ignored(interrupts[i], before_watch[i]))
            handle(interrupts[i]);
}

void unwatch_interrupts() {
    for (size_t i = 0; i < interrupts.size() && watched; i++)
        sigaction(interrupts[i], &before_watch[i], nullptr);
    watched = 0;
}

void remove_if_killed(const char *path) {
    struct sigaction now;

    file_to_remove = path;
    for (int number = 1; path && number <= SIGRTMAX; number++)
        if (std::ranges::count(not_fatal, number) == 0 && sigaction(number, nullptr, &now) == 0 &&
            now.sa_handler == SIG_DFL)
            handle(number);
}

bool interrupted() {
    return seen;
}

Blocked::Blocked() {
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
}

Blocked::~Blocked() {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

// Between a look at what has come and the wait no signal is taken, so none is missed.
class Waiter : Blocked {
public:
    // False if the time is over.
    bool wait(std::chrono::steady_clock::time_point time, pollfd *file) const {
        using std::chrono::nanoseconds;
        using std::chrono::seconds;
        nanoseconds left = time - std::chrono::steady_clock::now();

        if (left <= nanoseconds::zero())
            return false;
        seconds whole = std::chrono::floor<seconds>(left);
        timespec wait{.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
        ppoll(file, file ? 1 : 0, &wait, &before_);
        return true;
    }
};

void sleep_until(std::chrono::steady_clock::time_point time) {
    Waiter waiter;

    while (!seen && waiter.wait(time, nullptr)) {
    }
}

void wait_until(std::chrono::steady_clock::time_point time, pollfd *file) {
    Waiter waiter;

    if (!seen)
        waiter.wait(time, file);
}

}  // namespace dsctl

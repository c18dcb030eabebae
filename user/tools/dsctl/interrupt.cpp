// SPDX-License-Identifier: Apache-2.0
#include "interrupt.hpp"

#include <unistd.h>
#include <csignal>

namespace dsctl {

static volatile std::sig_atomic_t watched, seen;
static const char *volatile file_to_remove;

static void at_signal(int number) {
    if (watched && !seen && (number == SIGINT || number == SIGTERM)) {
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

void watch_interrupts() {
    watched = 1;
    handle(SIGINT);
    handle(SIGTERM);
}

void remove_if_killed(const char *path) {
    struct sigaction now;

    file_to_remove = path;
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGXFSZ})
        if (path && sigaction(number, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
            handle(number);
}

bool interrupted() {
    return seen;
}

// Between a look at what has come and the wait no signal is taken, so none is missed.
class Blocked {
public:
    Blocked() {
        sigset_t blocked;
        sigemptyset(&blocked);
        sigaddset(&blocked, SIGINT);
        sigaddset(&blocked, SIGTERM);
        sigprocmask(SIG_BLOCK, &blocked, &before_);
    }
    Blocked(const Blocked &) = delete;
    Blocked &operator=(const Blocked &) = delete;
    ~Blocked() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

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

private:
    sigset_t before_;
};

void sleep_until(std::chrono::steady_clock::time_point time) {
    Blocked blocked;

    while (!seen && blocked.wait(time, nullptr)) {
    }
}

void wait_until(std::chrono::steady_clock::time_point time, pollfd *file) {
    Blocked blocked;

    if (!seen)
        blocked.wait(time, file);
}

}  // namespace dsctl

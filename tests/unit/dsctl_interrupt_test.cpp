// SPDX-License-Identifier: Apache-2.0
// Signals that end a command: what is removed, what is only noted, what is ignored.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include <cmocka.h>
}

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "../../user/tools/dsctl/interrupt.cpp"

namespace {

/// A file with this name, in a folder of its own.
class TemporaryFile {
public:
    TemporaryFile() {
        assert_non_null(mkdtemp(folder_));
        close(open(path_.assign(folder_).append("/draft").c_str(), O_CREAT | O_WRONLY, 0600));
    }
    ~TemporaryFile() {
        unlink(path_.c_str());
        rmdir(folder_);
    }
    const char *path() const { return path_.c_str(); }
    bool is_there() const { return access(path(), F_OK) == 0; }

private:
    char folder_[32] = "/tmp/dsctl-test-XXXXXX";
    std::string path_;
};

/// What ends a program, unless it has said otherwise: signals for it alone, and of its mistakes.
const std::vector<int> fatal{SIGINT,  SIGTERM,   SIGHUP,  SIGQUIT,  SIGXFSZ, SIGPIPE,
                             SIGXCPU, SIGALRM,   SIGUSR1, SIGUSR2,  SIGABRT, SIGSEGV,
                             SIGBUS,  SIGVTALRM, SIGIO,   SIGRTMIN, SIGRTMAX};

/// The status of a child that does this, with all signals as they are by default.
template <class Action>
int status_of(Action &&action) {
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        const rlimit no_core{0, 0};
        setrlimit(RLIMIT_CORE, &no_core);
        for (int number : fatal)
            std::signal(number, SIG_DFL);
        action();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

void killed(int status, int number) {
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), number);
}

void a_file_goes(void **) {
    for (int number : fatal) {
        TemporaryFile file;
        killed(status_of([&] {
                   dsctl::remove_if_killed(file.path());
                   raise(number);
               }),
               number);
        assert_false(file.is_there());
    }
}

void what_does_not_end_a_program(void **) {
    TemporaryFile file;
    int status = status_of([&] {
        dsctl::remove_if_killed(file.path());
        for (int number : {SIGCHLD, SIGCONT, SIGURG, SIGWINCH})
            raise(number);
    });

    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(file.is_there());
}

void not_if_it_is_done(void **) {
    TemporaryFile file;

    killed(status_of([&] {
               dsctl::remove_if_killed(file.path());
               dsctl::remove_if_killed(nullptr);
               raise(SIGTERM);
           }),
           SIGTERM);
    assert_true(file.is_there());
}

/// Whichever came first, the watch or the file.
void the_second_one_kills(void **) {
    for (bool watch_first : {false, true})
        for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
            TemporaryFile file;
            killed(status_of([&] {
                       if (watch_first)
                           dsctl::watch_interrupts();
                       dsctl::remove_if_killed(file.path());
                       if (!watch_first)
                           dsctl::watch_interrupts();
                       raise(number);
                       if (!dsctl::interrupted() || !file.is_there())
                           _exit(1);
                       raise(number);
                   }),
                   number);
            assert_false(file.is_there());
        }
}

/// What came while it was watched is still known.
void after_a_watch_the_first_one_kills(void **) {
    for (bool came : {false, true})
        for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
            killed(status_of([&] {
                       dsctl::watch_interrupts();
                       dsctl::watch_interrupts();
                       if (came)
                           raise(number);
                       dsctl::unwatch_interrupts();
                       dsctl::unwatch_interrupts();
                       if (dsctl::interrupted() != came)
                           _exit(1);
                       raise(number);
                   }),
                   number);
}

void what_was_ignored_is_again(void **) {
    int status = status_of([] {
        std::signal(SIGINT, SIG_IGN);
        dsctl::watch_interrupts();
        dsctl::unwatch_interrupts();
        raise(SIGINT);
    });

    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// It ends nothing by itself.
void the_first_one_is_heard(void **) {
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        int status = status_of([&] {
            dsctl::watch_interrupts();
            raise(number);
            _exit(dsctl::interrupted() ? 0 : 1);
        });
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/// As nohup and the background want it.
void what_a_watch_does_not_hear(void **) {
    for (int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        int status = status_of([&] {
            std::signal(number, SIG_IGN);
            dsctl::watch_interrupts();
            raise(number);
            bool heard = number == SIGINT || number == SIGTERM;
            _exit(dsctl::interrupted() == heard ? 0 : 1);
        });
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

void what_is_ignored_stays_so(void **) {
    TemporaryFile file;
    int status = status_of([&] {
        std::signal(SIGINT, SIG_IGN);
        dsctl::remove_if_killed(file.path());
        raise(SIGINT);
    });

    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    assert_true(file.is_there());
}

}  // namespace

int main() {
    const CMUnitTest tests[] = {
        cmocka_unit_test(a_file_goes),
        cmocka_unit_test(what_does_not_end_a_program),
        cmocka_unit_test(not_if_it_is_done),
        cmocka_unit_test(the_second_one_kills),
        cmocka_unit_test(after_a_watch_the_first_one_kills),
        cmocka_unit_test(what_was_ignored_is_again),
        cmocka_unit_test(the_first_one_is_heard),
        cmocka_unit_test(what_a_watch_does_not_hear),
        cmocka_unit_test(what_is_ignored_stays_so),
    };

    return cmocka_run_group_tests_name("dsctl_interrupt", tests, nullptr, nullptr);
}

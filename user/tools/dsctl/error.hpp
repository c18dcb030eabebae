// SPDX-License-Identifier: Apache-2.0
// What can go wrong in dsctl: an exit code, a fault code, a sentence, a remedy.
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "json.hpp"

namespace dsctl {

// The exit status of dsctl. Scripts depend on the numbers: never renumbered.
enum class Exit : int {
    ok = 0,
    failed = 1,
    usage = 2,
    unreachable = 3,
    not_found = 4,
    exists = 5,
    permission = 6,
    unsupported = 7,
    timeout = 8,
    unhealthy = 9,
    partial = 10,
    unknown = 11,
    interrupted = 130,
};

// One line of the table of exit codes, for --help and the man page.
struct ExitText {
    Exit exit;
    std::string_view text;
};
const std::vector<ExitText> &exit_table();

// An error that ends a command. The sentence begins in lower case and has no
// full stop; the remedy is a command or an action that the user can take.
class Error : public std::exception {
public:
    Error(Exit exit, std::string code, std::string sentence, std::string remedy)
        : exit(exit),
          code(std::move(code)),
          sentence(std::move(sentence)),
          remedy(std::move(remedy)) {}

    const char *what() const noexcept override { return sentence.c_str(); }

    // Adds a fact for the "context" of the JSON error.
    Error &&with(const std::string &key, Json value) && {
        context[key] = std::move(value);
        return std::move(*this);
    }

    Error &&with_errno(int number) && {
        errnum = number;
        return std::move(*this);
    }

    Exit exit;
    std::string code;  // DS-XXX-NNN
    int errnum = 0;    // positive, 0 if no errno belongs to it
    std::string sentence;
    std::string remedy;
    Json context = Json::object();
};

// A wrong command line. Without a remedy it is the verb's help.
Error usage(std::string sentence, std::string remedy = "");

// An errno that a system call or the kernel gave. area is the XXX of the code;
// NNN is the errno. The remedy is the errno's general one if none is given.
Error from_errno(std::string_view area, int errnum, std::string sentence, std::string remedy = "");

// The exit code that goes with an errno.
Exit exit_of(int errnum);

// A sentence of the library or the kernel, to stand after a colon or "fix:".
std::string clause(const std::string &sentence);

// "no such file or directory (ENOENT)"
std::string errno_text(int errnum);

}  // namespace dsctl

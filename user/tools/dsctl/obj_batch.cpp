// SPDX-License-Identifier: Apache-2.0
// dsctl batch: many commands in one process.
#include <optional>

#include "call.hpp"
#include "file.hpp"
#include "interrupt.hpp"
#include "run.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr unsigned most_batches = 8;  // one in another

// Words as a shell would see them, with quotes and comments but nothing to
// expand. Nothing if a quote is left open.
std::optional<std::vector<std::string>> words_of(std::string_view line) {
    std::vector<std::string> words;
    bool in_word = false;
    char quote = 0;

    for (char c : line) {
        if (quote ? c == quote : c == '"' || c == '\'') {
            quote = quote ? 0 : c;
            if (!in_word)
                words.emplace_back();
            in_word = true;
        } else if (!quote && (c == ' ' || c == '\t' || c == '\r')) {
            in_word = false;
        } else if (!quote && !in_word && c == '#') {
            break;
        } else {
            if (!in_word)
                words.emplace_back();
            in_word = true;
            words.back() += c;
        }
    }
    if (quote)
        return std::nullopt;
    return words;
}

Exit run_line(const Call &call, std::string_view line, const std::string &where) {
    auto words = words_of(line);
    Settings settings = call.settings;

    if (!words) {
        Error error = usage(where + ": a quote is not closed", "close it, in the same line");
        return static_cast<Exit>(Output(settings).finish(error.exit, &error));
    }
    if (words->empty())
        return Exit::ok;
    if (words->front() == "dsctl")
        words->erase(words->begin());
    settings.batches++;
    Exit exit = static_cast<Exit>(run(*words, settings));
    // Some commands do not look for a signal: they shall end by one.
    unwatch_interrupts();
    return exit;
}

Exit batch(Call &call) {
    if (call.settings.batches == most_batches)
        throw usage(format("more than %u batches are one in another", most_batches),
                    "see that no batch runs itself");
    std::string path = call.text("FILE"), text = contents_of(path);
    std::string_view rest = text;
    uint64_t failed = 0;

    for (uint64_t number = 1; !rest.empty(); number++) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        std::string where = "line " + std::to_string(number) + " of " +
                            (path == "-" ? "standard input" : "'" + path + "'");
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        Exit exit = run_line(call, line, where);
        if (interrupted())
            throw Error(Exit::interrupted, "DS-BAT-003", where + ": interrupted",
                        "go on from there")
                .with("line", number);
        if (exit == Exit::ok)
            continue;
        failed++;
        if (!call.has("--force"))
            throw Error(exit, "DS-BAT-001", where + " failed",
                        "correct it and go on from there, or go on after errors with --force")
                .with("line", number);
    }
    if (failed)
        throw Error(Exit::partial, "DS-BAT-002",
                    std::to_string(failed) + " command(s) of the batch failed",
                    "see their errors above")
            .with("failed", failed);
    return Exit::ok;
}

const Object object{
    .name = "batch",
    .summary = "many commands in one process",
    .verbs = {{
        .name = "run",
        .summary = "Run the commands of a file, one a line, until one fails.",
        .params =
            {
                {.name = "FILE",
                 .kind = Kind::file,
                 .help = "commands without the leading 'dsctl'; - is standard input"},
                {.name = "--force", .help = "go on after errors; the status is 10 then"},
            },
        .examples =
            {
                {"batch pool.ds", "set up what the file says"},
                {"-q batch -",
                 "the same from standard input, without a word unless something fails"},
            },
        .run = batch,
        .details = "Words are separated by spaces; quotes hold a word together, and a # begins a "
                   "comment. Options that come before 'batch' hold for all commands. With -j each "
                   "command prints a document. A batch may run others, up to eight one in "
                   "another. Ctrl-C ends all of it, also with --force.",
    }},
};
const Register registered(object);

}  // namespace

}  // namespace dsctl

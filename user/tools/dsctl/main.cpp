// SPDX-License-Identifier: Apache-2.0
// dsctl: the command of DS. See dsctl(8).
#include <algorithm>
#include <cstdio>
#include <new>

#include "call.hpp"
#include "help.hpp"
#include "parse.hpp"

using namespace dsctl;

static std::string help_for(const Parsed &parsed) {
    if (parsed.verb)
        return help(*parsed.object, *parsed.verb);
    if (parsed.object)
        return help(*parsed.object);
    return help();
}

static std::string schema_of(const Parsed &parsed) {
    std::string name = std::string(parsed.object->name) + "-" + std::string(parsed.verb->name);

    std::replace(name.begin(), name.end(), ' ', '-');
    return name;
}

static int fail(Output &out, const Error &error) {
    return out.finish(error.exit, &error);
}

static int run(const Parsed &parsed) {
    Output out(parsed.settings);

    out.set_schema(schema_of(parsed));
    try {
        Call call(*parsed.object, *parsed.verb, parsed.settings, out, parsed.values);
        return out.finish(parsed.verb->run(call));
    } catch (const Error &error) {
        return fail(out, error);
    } catch (const std::bad_alloc &) {
        return fail(out, from_errno("SYS", ENOMEM, "dsctl has no memory"));
    }
}

int main(int argc, char **argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    Parsed parsed;

    if (words.empty()) {
        std::fputs(help().c_str(), stderr);
        return static_cast<int>(Exit::usage);
    }
    try {
        parse(words, &parsed);
    } catch (const Error &error) {
        Output out(parsed.settings);
        return fail(out, error);
    }
    if (parsed.help) {
        Settings plain;
        Output out(plain);
        std::fputs(help_for(parsed).c_str(), stdout);
        return out.finish(Exit::ok);
    }
    if (parsed.version) {
        Parsed version{.settings = parsed.settings};
        parse({"version"}, &version);
        return run(version);
    }
    return run(parsed);
}

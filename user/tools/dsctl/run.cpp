// SPDX-License-Identifier: Apache-2.0
#include "run.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>

#include "call.hpp"
#include "help.hpp"
#include "parse.hpp"

namespace dsctl {

namespace {

std::string help_for(const Parsed &parsed) {
    if (parsed.verb)
        return help(*parsed.object, *parsed.verb);
    if (parsed.object)
        return help(*parsed.object);
    return help();
}

int fail(Output &out, const Parsed &parsed, Error error) {
    if (error.remedy.empty() && error.exit == Exit::usage)
        error.remedy = help_hint(parsed);
    return out.finish(error.exit, &error);
}

int run(const Parsed &parsed) {
    Output out(parsed.settings);

    out.set_schema(document_name(*parsed.object, *parsed.verb));
    try {
        Call call(*parsed.object, *parsed.verb, parsed.settings, out, parsed.values);
        return out.finish(parsed.verb->run(call));
    } catch (const Error &error) {
        return fail(out, parsed, error);
    } catch (const std::bad_alloc &) {
        return fail(out, parsed,
                    from_errno("SYS", ENOMEM, "dsctl has no memory left",
                               "give it less to do, or raise the limit of its memory"));
    } catch (const std::exception &error) {
        return fail(out, parsed,
                    Error(Exit::failed, "DS-SYS-900", "dsctl cannot go on: " + clause(error.what()),
                          "report it, with the command line"));
    }
}

}  // namespace

std::string document_name(const Object &object, const Verb &verb) {
    std::string name = std::string(object.name) + "-" + std::string(verb.name);

    std::replace(name.begin(), name.end(), ' ', '-');
    return name;
}

int run(const std::vector<std::string> &words, const Settings &settings) {
    Parsed parsed{.settings = settings};

    try {
        parse(words, &parsed);
    } catch (const Error &error) {
        Output out(parsed.settings);
        if (parsed.verb)
            out.set_schema(document_name(*parsed.object, *parsed.verb));
        return fail(out, parsed, error);
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

}  // namespace dsctl

// SPDX-License-Identifier: Apache-2.0
// dsctl meta: the grammar itself, for the build: man pages, tests, completion.
#include "call.hpp"
#include "help.hpp"
#include "run.hpp"

namespace dsctl {

namespace {

Json param_json(const Param &param) {
    static constexpr const char *kinds[] = {"text",     "number",  "word", "size",
                                            "duration", "seconds", "file", "choice"};

    return {{"name", param.name},
            {"value", param.value},
            {"kind", kinds[static_cast<int>(param.kind)]},
            {"help", param.help},
            {"default", param.fallback},
            {"choices", param.choices},
            {"names", param.names},
            {"letter", std::string(param.letter ? 1 : 0, param.letter)},
            {"needed", param.is_needed()}};
}

Json verb_json(const Object &object, const Verb &verb) {
    Json params = Json::array(), examples = Json::array();

    for (const Param &param : verb.params)
        params.push_back(param_json(param));
    for (const Example &example : verb.examples)
        examples.push_back({{"command", example.command}, {"text", example.text}});
    return {{"name", verb.name},
            {"document", document_name(object, verb)},
            {"summary", verb.summary},
            {"details", verb.details},
            {"params", params},
            {"examples", examples},
            {"synopsis", synopsis(object, verb)}};
}

Exit show(Call &call) {
    for (const Object *object : objects()) {
        Json verbs = Json::array();
        for (const Verb &verb : object->verbs)
            verbs.push_back(verb_json(*object, verb));
        call.out.respond({{"name", object->name},
                          {"summary", object->summary},
                          {"hidden", object->hidden},
                          {"verbs", verbs}});
        call.out.line(std::string(object->name));
    }
    return Exit::ok;
}

// Text for scdoc, which gives a meaning to these characters.
std::string escaped(std::string_view text) {
    std::string result;

    for (char c : text) {
        if (std::string_view("_*\\").find(c) != std::string_view::npos)
            result += '\\';
        result += c;
    }
    return result;
}

std::string option_text(const Param &param) {
    std::string text = "*" + escaped(param.name) + "*";

    if (!param.value.empty())
        text += " _" + escaped(param.value) + "_";
    text += "\n\t" + escaped(param.help);
    if (!param.choices.empty())
        text += ": " + escaped(param.choices);
    if (!param.fallback.empty())
        text += " (default " + escaped(param.fallback) + ")";
    if (param.letter)
        text += std::string(" (short: -") + param.letter + ")";
    return text + ".\n\n";
}

// The part of an object's man page that its tables know.
std::string commands_text(const Object &object) {
    std::string text;

    for (const Verb &verb : object.verbs) {
        text += "## " + escaped(synopsis(object, verb)) + "\n\n" + escaped(verb.summary) + "\n";
        if (!verb.details.empty())
            text += "\n" + escaped(verb.details) + "\n";
        text += "\n";
        for (const Param &param : verb.params)
            text += option_text(param);
    }
    return text;
}

std::string examples_text(const Object &object) {
    std::string text;

    for (const Verb &verb : object.verbs)
        for (const Example &example : verb.examples)
            text += escaped(example.text) + ":\n\n```\ndsctl " + std::string(example.command) +
                    "\n```\n\n";
    return text;
}

std::string objects_text() {
    std::string text;

    for (const Object *object : objects())
        if (!object->hidden)
            text += "*" + std::string(object->name) + "*\n\t" + escaped(object->summary) +
                    "; see *dsctl-" + std::string(object->name) + "*(8).\n\n";
    return text;
}

std::string options_text() {
    std::string text;

    for (const Param &param : global_options())
        text += option_text(param);
    return text;
}

std::string exits_text() {
    std::string text;

    for (const ExitText &line : exit_table())
        text += "*" + std::to_string(static_cast<int>(line.exit)) + "*\n\t" + escaped(line.text) +
                ".\n\n";
    return text;
}

Exit man(Call &call) {
    std::string part = call.text("PART");
    std::string name = call.text("OBJECT");

    if (part == "objects" || part == "options" || part == "exits") {
        call.out.line(part == "objects"   ? objects_text()
                      : part == "options" ? options_text()
                                          : exits_text());
        return Exit::ok;
    }
    for (const Object *object : objects()) {
        if (object->name != name)
            continue;
        if (part == "commands")
            call.out.line(commands_text(*object));
        else if (part == "examples")
            call.out.line(examples_text(*object));
        else
            break;
        return Exit::ok;
    }
    throw usage("there is no part '" + part + "' of '" + name + "'");
}

const Object object{
    .name = "meta",
    .summary = "the grammar of dsctl, for programs",
    .verbs =
        {
            {
                .name = "show",
                .summary = "List the objects; with -j all verbs, arguments, options and examples.",
                .params = {},
                .examples = {{"meta show -j", "all that dsctl understands"}},
                .run = show,
            },
            {
                .name = "man",
                .summary = "Print a generated part of a man page, for scdoc.",
                .params =
                    {
                        {.name = "PART", .help = "objects, options, exits, commands or examples"},
                        {.name = "OBJECT",
                         .help = "object of the commands and examples",
                         .optional = true},
                    },
                .examples = {{"meta man commands seg", "the verbs of 'seg'"}},
                .run = man,
            },
        },
    .hidden = true,
};

const Register registered(object);

}  // namespace

}  // namespace dsctl

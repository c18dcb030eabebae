// SPDX-License-Identifier: Apache-2.0
#include "command.hpp"

#include <algorithm>

namespace dsctl {

// A function's static: it is made before the first Register of any file runs.
static std::vector<const Object *> &registry() {
    static std::vector<const Object *> list;
    return list;
}

Register::Register(const Object &object) {
    auto &list = registry();
    auto place = std::find_if(list.begin(), list.end(),
                              [&](const Object *other) { return object.name < other->name; });
    list.insert(place, &object);
}

const std::vector<const Object *> &objects() {
    return registry();
}

const Verb *Object::default_verb() const {
    if (verbs.size() == 1)
        return &verbs.front();
    auto show = std::find_if(verbs.begin(), verbs.end(),
                             [](const Verb &verb) { return verb.name == "show"; });
    return show == verbs.end() ? nullptr : &*show;
}

const std::vector<Param> &global_options() {
    static const std::vector<Param> options{
        {.name = "--json", .help = "print one JSON document", .letter = 'j'},
        {.name = "--pretty", .help = "the same, indented", .letter = 'p'},
        {.name = "--quiet",
         .help = "print results only: no notes, warnings, progress",
         .letter = 'q'},
        {.name = "--verbose", .help = "say what is being done, on stderr", .letter = 'v'},
        {.name = "--fabric",
         .value = "FABRIC",
         .help = "module, or local:PATH for a file of this host; the default is DS_FABRIC in the "
                 "environment, or else module",
         .names = "%fabric"},
        {.name = "--timeout",
         .value = "MS",
         .kind = Kind::duration,
         .help = "longest wait of a command that asks a host; 500, 500ms, 10s, 2m",
         .min = 1,
         .max = 86400000},
        {.name = "--color",
         .value = "WHEN",
         .kind = Kind::choice,
         .help = "auto, always or never; NO_COLOR in the environment means never",
         .fallback = "auto",
         .choices = "auto|always|never"},
        {.name = "--progress", .help = "show progress also when stderr is no terminal"},
        {.name = "--help", .help = "explain the command", .letter = 'h'},
        {.name = "--version", .help = "print the version", .letter = 'V'},
    };
    return options;
}

}  // namespace dsctl

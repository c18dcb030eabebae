// SPDX-License-Identifier: Apache-2.0
#include "fabric_choice.hpp"

#include <cstdlib>

#include <ds/ds.h>

#include "fabric/local_reason.hpp"

namespace dsctl {

std::optional<std::string> local_file(const Settings &settings) {
    constexpr std::string_view prefix = DS_LOCAL_PREFIX;
    const char *environment = std::getenv("DS_FABRIC");
    std::string chosen = settings.fabric.value_or(environment ? environment : "");

    if (chosen.empty() || chosen == "module")
        return std::nullopt;
    if (!chosen.starts_with(prefix) || chosen.size() == prefix.size())
        throw usage(std::string(settings.fabric ? "--fabric" : "DS_FABRIC in the environment") +
                        " is module or local:PATH, not '" + chosen + "'",
                    "name a file as local:PATH, or the kernel module as module");
    return chosen.substr(prefix.size());
}

void need_module(const Call &call) {
    auto path = local_file(call.settings);

    if (path)
        throw Error(Exit::unsupported, "DS-LOC-001",
                    "'dsctl " + std::string(call.object.name) + " " + std::string(call.verb.name) +
                        "' is about the kernel module, and the fabric is the file " + *path,
                    "leave out --fabric, and unset DS_FABRIC if it is set, or say --fabric module");
}

Error local_error(int rc, const std::string &path) {
    ds::fabric::LocalReason reason = ds::fabric::local_reason(rc, path);

    return from_errno("LOC", -rc, reason.sentence, reason.remedy);
}

ds_local_options describe_local(const std::string &path) {
    ds_local_options options{};

    options.size = sizeof(options);
    if (int rc = ds_local_describe(path.c_str(), &options); rc < 0)
        throw local_error(rc, path);
    return options;
}

}  // namespace dsctl

// SPDX-License-Identifier: Apache-2.0
#include "fabric_choice.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <ds/ds.h>

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
    switch (rc) {
    case -ENOENT:
        return from_errno("LOC", ENOENT, "there is no file " + path,
                          "make it with 'dsctl space create' and the same --fabric");
    case -EINVAL:
        return from_errno("LOC", EINVAL, path + " holds no pool, or a damaged one",
                          "choose another file, or make a new one with 'dsctl space create'");
    case -ENODATA:
        return from_errno("LOC", ENODATA, path + " was cut off: it is shorter than its pool",
                          "get a whole copy of it, or make a new one with 'dsctl space create'");
    case -EOPNOTSUPP:
        return from_errno("LOC", EOPNOTSUPP, path + " is of a newer version",
                          "use the dsctl that made it, or a newer one");
    case -EACCES:
        return from_errno("LOC", EACCES, "cannot open " + path + ": no permission",
                          "have its owner change its mode with 'chmod'");
    case -ENOMEM:
        return from_errno("LOC", ENOMEM, path + " is larger than a process can map",
                          "raise 'ulimit -v', or make a smaller pool");
    default:
        return from_errno("LOC", -rc, "cannot open " + path + ": " + std::strerror(-rc));
    }
}

ds_local_options describe_local(const std::string &path) {
    ds_local_options options{};

    options.size = sizeof(options);
    if (int rc = ds_local_describe(path.c_str(), &options); rc < 0)
        throw local_error(rc, path);
    return options;
}

}  // namespace dsctl

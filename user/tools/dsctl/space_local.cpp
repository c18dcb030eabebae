// SPDX-License-Identifier: Apache-2.0
// The space of a file: 'space create' and 'space show'.
#include <cerrno>
#include <cstring>

#include "fabric_choice.hpp"
#include "kernel.hpp"
#include "space_admin.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

Json describe(const ds_local_options &options, const std::string &path) {
    Map map{options.servers, options.server_shift};

    return {{"space", options.space},
            {"servers", options.servers},
            {"server_shift", options.server_shift},
            {"access", access_text(options.access)},
            {"first", map.base()},
            {"last", map.last()},
            {"file", path}};
}

}  // namespace

Exit space_create(Call &call) {
    auto path = local_file(call.settings);
    if (!path)
        throw usage("'dsctl space create' makes a file, and none is named",
                    "name it with --fabric local:PATH; 'dsctl space add' makes a space of the "
                    "kernel module");
    ds_local_options options{};
    options.size = sizeof(options);
    options.space = static_cast<uint32_t>(call.number("NUMBER"));
    options.servers = static_cast<uint32_t>(call.number("--servers"));
    options.server_shift = shift_for(call.number("--server-size"));
    if (call.has("--access"))
        options.access = parse_access(call.text("--access"));
    int rc = ds_local_create(path->c_str(), &options);
    if (rc == -EEXIST)
        throw from_errno("LOC", EEXIST, "there is a file " + *path,
                         "choose another name; 'dsctl space show' tells what this one holds");
    if (rc == -EFBIG)
        throw from_errno("LOC", EFBIG, "the file system allows no file as large as this pool",
                         "make a pool of fewer or smaller servers");
    if (rc < 0)
        throw from_errno("LOC", -rc, "cannot make " + *path + ": " + std::strerror(-rc),
                         "choose a folder that is there and that you may write to");
    call.out.respond(describe(describe_local(*path), *path));
    call.out.done(format("space %u has %u server(s) of %s, in %s", options.space, options.servers,
                         bytes_text(uint64_t(1) << options.server_shift).c_str(), path->c_str()));
    return Exit::ok;
}

Exit space_show_local(Call &call, const std::string &path) {
    ds_local_options options = describe_local(path);
    Map map{options.servers, options.server_shift};

    call.out.respond(describe(options, path));
    call.out.table({{"SPACE", true},
                    {"SERVERS", true},
                    {"SERVER SIZE", true},
                    {"ACCESS"},
                    {"FIRST"},
                    {"LAST"},
                    {"FILE"}},
                   {{std::to_string(options.space), std::to_string(options.servers),
                     bytes_text(map.server_bytes()), access_text(options.access), hex(map.base()),
                     hex(map.last()), path}});
    return Exit::ok;
}

}  // namespace dsctl

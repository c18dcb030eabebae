// SPDX-License-Identifier: Apache-2.0
// dsctl module: ds.ko itself.
#include "kernel.hpp"
#include "sysfs.hpp"

namespace dsctl {

namespace {

const std::string module_dir = "/sys/module/ds";

Exit show(Call &call) {
    Json parameters = Json::object();
    std::vector<Row> rows;

    if (!exists(module_dir))
        throw not_loaded();
    std::string version = read_line(module_dir + "/version").value_or("unknown");
    std::string users = read_line(module_dir + "/refcnt").value_or("unknown");
    for (const std::string &name : entries(module_dir + "/parameters")) {
        std::string value = read_line(module_dir + "/parameters/" + name).value_or("");
        parameters[name] = value;
        rows.push_back({name, value});
    }
    call.out.respond({{"version", version}, {"users", users}, {"parameters", parameters}});
    if (call.out.json())
        return Exit::ok;
    call.out.fields({{"version", version}, {"users", users}});
    call.out.line("");
    call.out.table({{"PARAMETER"}, {"VALUE", false, true}}, rows);
    return Exit::ok;
}

Exit holders(Call &call) {
    std::vector<Row> rows;

    for (const nl::Message &file : Kernel(call).dump(DS_CMD_FILE_GET, "list the open files")) {
        auto uid = file.get(attr::uid);
        call.out.respond(to_json(file));
        rows.push_back({std::to_string(file.get_or(attr::pid, 0)), file.get_or(attr::comm, "?"),
                        uid ? user_name(*uid) : "?", std::to_string(file.get_or(attr::bufs, 0))});
    }
    call.out.table({{"PID", true}, {"COMMAND", false, true}, {"USER"}, {"BUFFERS", true}}, rows);
    return Exit::ok;
}

const Object object{
    .name = "module",
    .summary = "the kernel module ds.ko",
    .verbs =
        {
            {
                .name = "show",
                .summary = "Show the module's version and parameters.",
                .params = {},
                .examples = {{"module show", "limits and settings of the module"}},
                .run = show,
                .details =
                    "'users' counts what keeps the module loaded: open files and other modules.",
            },
            {
                .name = "holders",
                .summary = "Show the processes that have /dev/ds open.",
                .params = {},
                .examples = {{"module holders", "why does 'rmmod ds' say that it is in use?"}},
                .run = holders,
            },
        },
};

const Register registered(object);

}  // namespace

}  // namespace dsctl

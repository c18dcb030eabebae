// SPDX-License-Identifier: Apache-2.0
// dsctl version: of the command, and with --all of all that it works with.
#include <sys/utsname.h>

#include <ds/ioctl.h>
#include <ds/netlink.h>
#include <ds/wire.h>

#include "call.hpp"
#include "sysfs.hpp"

namespace dsctl {

namespace {

Exit show(Call &call) {
    utsname host = {};

    call.out.respond({{"component", "dsctl"}, {"version", DSCTL_VERSION}});
    if (!call.has("--all")) {
        call.out.line("dsctl " DSCTL_VERSION);
        return Exit::ok;
    }
    uname(&host);
    auto module = read_line("/sys/module/ds/version");
    std::string loaded = module ? *module : exists("/sys/module/ds") ? "unnamed" : "not loaded";
    if (module && *module != DSCTL_VERSION)
        call.out.warn("the module and dsctl are of different versions");

    call.out.respond({{"component", "ds.ko"}, {"version", or_null(module)}});
    call.out.respond({{"component", "kernel"}, {"version", host.release}});
    call.out.respond({{"component", "ioctl"}, {"version", std::to_string(DS_ABI_VERSION)}});
    call.out.respond({{"component", "netlink"}, {"version", std::to_string(DS_GENL_VERSION)}});
    call.out.respond({{"component", "wire"}, {"version", std::to_string(DS_WIRE_VERSION)}});
    call.out.fields({
        {"dsctl", DSCTL_VERSION},
        {"ds.ko", {loaded, module ? Style::plain : Style::warning}},
        {"kernel", host.release},
        {"ioctl ABI", std::to_string(DS_ABI_VERSION)},
        {"netlink", std::to_string(DS_GENL_VERSION)},
        {"wire", std::to_string(DS_WIRE_VERSION)},
    });
    return Exit::ok;
}

const Object object{
    .name = "version",
    .summary = "versions of dsctl, the module and the interfaces",
    .verbs = {{
        .name = "show",
        .summary = "Print the version.",
        .params =
            {
                {.name = "--all", .help = "also of the module, the kernel and the interfaces"},
            },
        .examples =
            {
                {"version", "version of dsctl"},
                {"version --all -j", "all versions, for a bug report"},
            },
        .run = show,
    }},
};

const Register registered(object);

}  // namespace

}  // namespace dsctl

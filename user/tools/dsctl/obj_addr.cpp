// SPDX-License-Identifier: Apache-2.0
// dsctl addr: what an address of a space means (document 000's map).
#include "fabric_choice.hpp"
#include "space_admin.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

std::string region_text(const Place &place) {
    switch (place.region) {
    case DS_REGION_ROOT:
        return "root: superblock and the trees' anchors";
    case DS_REGION_LEVEL1:
        return "level 1: nodes three and more levels above the leaves";
    case DS_REGION_LEVEL2:
        return "level 2: nodes two levels above the leaves";
    case DS_REGION_LEVEL3:
        return "level 3+: nodes one level above the leaves";
    default:
        return "leaves";
    }
}

// What the root region of a pool holds at this offset.
std::string root_text(const Map &map, const Place &place) {
    uint64_t offset = place.offset >> (map.shift - DS_LAYOUT_SERVER_SHIFT);

    if (place.region != DS_REGION_ROOT)
        return "";
    if (offset >= DS_LAYOUT_EXTENT_OFFSET)
        return "extent table of the server";
    if (place.server != 0)
        return "";
    if (offset >= DS_LAYOUT_CLIENT_OFFSET)
        return "client table";
    if (offset < DS_LAYOUT_ANCHOR_OFFSET)
        return "superblock";
    return "anchor of tree " + std::to_string(offset / DS_LAYOUT_ANCHOR_OFFSET);
}

Map local_map(const std::string &path, uint32_t number) {
    ds_local_options options = describe_local(path);

    if (options.space != number)
        throw Error(Exit::not_found, "DS-SPC-001",
                    format("%s has no space %u", path.c_str(), number),
                    format("its space is number %u", options.space));
    return Map{options.servers, options.server_shift};
}

Map chosen_map(const Call &call) {
    if (auto space = call.maybe("--space")) {
        if (call.has("--servers") || call.has("--k"))
            throw usage("--space already says --servers and --k");
        auto number = static_cast<uint32_t>(*space);
        if (auto path = local_file(call.settings))
            return local_map(*path, number);
        Kernel kernel(call);
        return map_of_space(kernel, number);
    }
    return Map{static_cast<uint32_t>(call.number("--servers")),
               static_cast<uint32_t>(DS_LAYOUT_SERVER_SHIFT + call.number("--k"))};
}

Exit explain(Call &call) {
    Map map = chosen_map(call);
    uint64_t address = call.number("ADDR");
    Place place = call.has("--space")
                      ? map.place(address)
                      : map.place(address,
                                  "give an address within it; --servers and --k say how "
                                  "large the space is");
    std::string holds = root_text(map, place);

    call.out.respond({{"address", address},
                      {"address_hex", hex(address)},
                      {"server", place.server},
                      {"offset", place.offset},
                      {"region", region_name(place.region)},
                      {"region_code", place.region},
                      {"region_offset", place.region_offset},
                      {"region_first", map.base(place.server) + map.region_start(place.region)},
                      {"region_last", map.base(place.server) + map.region_end(place.region) - 1},
                      {"holds", holds.empty() ? Json(nullptr) : Json(holds)},
                      {"servers", map.servers},
                      {"server_shift", map.shift}});
    if (call.out.json())
        return Exit::ok;
    call.out.fields({
        {"address", hex(address)},
        {"server", std::to_string(place.server)},
        {"offset in server", hex(place.offset)},
        {"region", region_text(place)},
        {"offset in region", hex(place.region_offset)},
        {"region spans", hex(map.base(place.server) + map.region_start(place.region)) + " to " +
                             hex(map.base(place.server) + map.region_end(place.region) - 1)},
    });
    if (!holds.empty())
        call.out.fields({{"holds           ", holds}});
    return Exit::ok;
}

const Object object{
    .name = "addr",
    .summary = "what an address of a space means",
    .verbs = {{
        .name = "explain",
        .summary = "Tell the server, the region and the offsets of an address.",
        .params =
            {
                {.name = "ADDR", .kind = Kind::number, .help = "address, as 0x12300000"},
                {.name = "--servers",
                 .value = "N",
                 .kind = Kind::number,
                 .help = "memory servers of the space",
                 .fallback = "1024",
                 .min = 1,
                 .max = DS_LAYOUT_MAX_SERVERS},
                {.name = "--k",
                 .value = "K",
                 .kind = Kind::number,
                 .help = "a server has 2^(24+K) bytes",
                 .fallback = "0",
                 .max = DS_LAYOUT_MAX_K},
                {.name = "--space",
                 .value = "S",
                 .kind = Kind::number,
                 .help = "take both from this space of the fabric instead",
                 .names = "spaces",
                 .min = 1,
                 .max = UINT32_MAX},
            },
        .examples =
            {
                {"addr explain 0x12300000", "an address of the map of 16 MiB a server"},
                {"addr explain 0x12300000 --k 6", "the same address where a server has 1 GiB"},
                {"addr explain 0x12300000 --space 1", "the same address in space 1"},
            },
        .run = explain,
        .details = "Server i begins at 0x10000000 + i x its size, and has five regions. An "
                   "address below the first server or past the last one is an error "
                   "(ERANGE).",
    }},
};

const Register registered(object);

}  // namespace

}  // namespace dsctl

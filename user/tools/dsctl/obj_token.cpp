// SPDX-License-Identifier: Apache-2.0
// dsctl token: the token cache of ds.ko.
#include "token.hpp"
#include "top.hpp"

namespace dsctl {

namespace {

constexpr Param device{
    .name = "--device", .value = "DEV", .help = "only of this RDMA device", .names = "devices"};

constexpr Param handle{.name = "TOKEN",
                       .kind = Kind::number,
                       .help = "handle of the token",
                       .names = "tokens",
                       .min = 1,
                       .max = UINT32_MAX};

const Object token{
    .name = "token",
    .summary = "the token cache: short descriptions of RDMA objects in three tiers",
    .verbs =
        {
            {
                .name = "show",
                .summary = "Show the tokens.",
                .params =
                    {
                        {.name = "--type",
                         .value = "TYPE",
                         .kind = Kind::choice,
                         .help = "only of this type",
                         .choices = "pd|mr|cq|qp"},
                        device,
                        {.name = "--tier",
                         .value = "N",
                         .kind = Kind::number,
                         .help = "only of this tier",
                         .min = 1,
                         .max = 3},
                    },
                .examples = {{"token show", "all tokens of this host"},
                             {"token show --type qp --tier 1", "queue pairs that are in L1"},
                             {"token show --device rxe0", "objects of one RDMA device"}},
                .run = token_show,
                .details = "Where a token is, how it is used, and with --json the keys of memory "
                           "regions are for administrators only. 'foreign' are objects of other "
                           "users: see 'token import'.",
            },
            {
                .name = "map",
                .summary = "Count the tokens of each type in each tier, by the mapped directory.",
                .params = {},
                .examples = {{"token map", "how many are where now"}},
                .run = token_map,
                .details = "It reads the words that the kernel works on: no lock is taken and "
                           "nobody waits. Tokens move meanwhile, so sums may be off by some. "
                           "Those of other users are not in it. It needs CAP_NET_ADMIN and "
                           "/dev/ds, as root has.",
            },
            {
                .name = "stat",
                .summary = "Show what the token cache has counted.",
                .params = {device},
                .examples = {{"token stat", "hits, moves and times since each device came"},
                             {"token stat --device rxe0", "of one RDMA device"}},
                .run = token_stat,
                .details =
                    "Times are of a sample of the look-ups, but move_ns is of all moves to L1: "
                    "see LATENCY_SAMPLING in 'token set'. P50 and P99 are upper bounds, rounded up "
                    "to a power of two.",
            },
            {
                .name = "top",
                .summary = "Show the tiers at work, again and again.",
                .params = top_params("devices with the most look-ups first"),
                .examples = {{"token top -b -n 1", "what the tiers do in one second, as text"},
                             {"token top -d 10 --json", "a sample each 10 seconds, for a program"}},
                .run = token_top,
                .details = "Keys: q ends it, s sorts the devices by their look-ups or by their "
                           "names. With --json each sample is a document of its own, in one line.",
            },
            {
                .name = "set",
                .summary = "Show the parameters of the token cache, or change one.",
                .params = {{.name = "NAME=VALUE",
                            .help =
                                "parameter, and the number that it becomes; NAME alone: show it",
                            .optional = true},
                           {.name = "--domain",
                            .value = "ID",
                            .kind = Kind::number,
                            .help = "trust domain, of SHARE_MIN and SHARE_MAX",
                            .names = "domains",
                            .min = 1,
                            .max = 65535}},
                .examples = {{"token set", "the parameters, their ranges and defaults"},
                             {"token set MIGRATION_BLOCKING=1",
                              "who meets a token on its way waits for it"},
                             {"token set LATENCY_SAMPLING=1", "time each look-up"},
                             {"token set SHARE_MIN=100 --domain 1",
                              "trust domain 1 keeps 100 slots of L1"},
                             {"token set --domain 1", "what it has of L1"}},
                .run = token_set,
                .details =
                    "If SMALLEST and LARGEST are equal, the parameter cannot be changed: it was "
                    "fixed when the module was loaded, or the policy in use has none. "
                    "SHARE_MIN and SHARE_MAX are of a trust domain, and shown of those that "
                    "have a share. It may be given before its domain comes, and stays when the "
                    "domain goes. Changing one needs CAP_NET_ADMIN, and lasts until the "
                    "module is unloaded.",
            },
            {
                .name = "import",
                .summary = "Read the objects of all users of an RDMA device, and list them.",
                .params = {{.name = "DEV", .help = "RDMA device", .names = "devices"},
                           {.name = "--forget", .help = "drop what was imported of the device"}},
                .examples = {{"token import rxe0", "list what 'rdma resource show' counts"},
                             {"token import rxe0 --forget", "and have it no longer"}},
                .run = token_import,
                .details =
                    "Protection domains, completion queues, memory regions and queue pairs, as the "
                    "kernel lists them. Those of ds.ko have tokens already ('own'); the others "
                    "get tokens that are shown as foreign, and that no operation uses. The next "
                    "import takes their place; they go when the device goes. Needs CAP_NET_ADMIN.",
            },
            {
                .name = "pin",
                .summary = "Keep a token in the tier where it is.",
                .params = {handle},
                .examples = {{"token pin 0x400000", "it does not move any more"}},
                .run = token_pin,
                .details = "Until it is unpinned, or its object ends. One in L1 is found there "
                           "whatever else is used; one pinned in L3 stays in L3. At most half of "
                           "L1 can be pinned.",
            },
            {
                .name = "unpin",
                .summary = "Let a pinned token move again.",
                .params = {handle},
                .examples = {{"token unpin 0x400000", "it moves as all others do"}},
                .run = token_unpin,
            },
            token_record_verb(),
        },
};

const Register registered(token);

}  // namespace

}  // namespace dsctl

// SPDX-License-Identifier: Apache-2.0
// dsctl tree: B+trees in the memory of a space.
#include "tree.hpp"

namespace dsctl {

namespace {

constexpr Param tree{.name = "--tree",
                     .value = "ID",
                     .kind = Kind::number,
                     .help = "number of the tree",
                     .fallback = "1",
                     .min = 1,
                     .max = DS_TREE_MAX_ID};
constexpr Param cache{.name = "--cache",
                      .value = "BYTES",
                      .kind = Kind::size,
                      .help = "memory for copies of nodes above the leaves",
                      .fallback = "16M",
                      .max = uint64_t(1) << 40};
constexpr Param key{.name = "KEY", .kind = Kind::number, .help = "a 64-bit number"};
constexpr Param number{.name = "NUMBER", .kind = Kind::number, .help = "its value, 64 bits"};
constexpr Param file{.name = "FILE",
                     .kind = Kind::file,
                     .help = "lines of KEY VALUE, in any order; - for standard input"};
constexpr Param depth{.name = "--depth",
                      .value = "N",
                      .kind = Kind::number,
                      .help = "operations under way at the same time",
                      .fallback = "16",
                      .min = 1,
                      .max = DS_TREE_MAX_DEPTH};

const Object object{
    .name = "tree",
    .summary = "B+trees in the memory of a space",
    .verbs =
        {
            {
                .name = "show",
                .summary = "List the trees of a space.",
                .params = {space_option},
                .examples = {{"tree show", "numbers, heights and roots"}},
                .run = tree_show,
            },
            {
                .name = "create",
                .summary = "Make an empty tree.",
                .params = {{.name = "ID",
                            .kind = Kind::number,
                            .help = "number of the tree",
                            .min = 1,
                            .max = DS_TREE_MAX_ID},
                           space_option},
                .examples = {{"tree create 1", "the first tree of space 1"}},
                .run = tree_create,
                .details =
                    "A space becomes a pool with the first tree if its first KiB is zero; else "
                    "it is left alone. The rest is not looked at: what was written there "
                    "must be zeros again ('mem fill').",
            },
            {
                .name = "get",
                .summary = "Look a key up.",
                .params = {key, tree, space_option, cache},
                .examples = {{"tree get 42", "print its value"}},
                .run = tree_get,
                .details = "Status 4 if it is not there.",
            },
            {
                .name = "put",
                .summary = "Insert a key that is not there.",
                .params = {key,
                           number,
                           tree,
                           space_option,
                           cache,
                           {.name = "--upsert", .help = "also if it is there: give it this value"}},
                .examples = {{"tree put 42 1000", "a new key"},
                             {"tree put 42 1001 --upsert", "new or not"}},
                .run = tree_put,
                .details = "Status 5 if it is there already.",
            },
            {
                .name = "update",
                .summary = "Change the value of a key that is there.",
                .params = {key, number, tree, space_option, cache},
                .examples = {{"tree update 42 2000", "a new value"}},
                .run = tree_update,
                .details = "Status 4 if it is not there.",
            },
            {
                .name = "scan",
                .summary = "List keys in order, with their values.",
                .params = {{.name = "FIRST",
                            .kind = Kind::number,
                            .help = "smallest key wanted",
                            .fallback = "0",
                            .optional = true},
                           {.name = "LAST",
                            .kind = Kind::number,
                            .help = "largest key wanted (default: the largest there is)",
                            .optional = true},
                           tree,
                           space_option,
                           cache,
                           {.name = "--limit",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "stop after so many of a range",
                            .min = 1},
                           {.name = "--file",
                            .value = "FILE",
                            .kind = Kind::file,
                            .help = "scan the ranges of this file, lines of FIRST LAST"},
                           {.name = "--tail",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "of those of a range, show the last only",
                            .min = 1}},
                .examples = {{"tree scan", "all keys"},
                             {"tree scan 0x1000 0x1fff --limit 10", "the first ten of a range"},
                             {"tree scan 0 0x1fff --tail 1", "the largest key up to 0x1fff"}},
                .run = tree_scan,
                .details = "A key that is there during the whole scan is found.",
            },
            {
                .name = "load",
                .summary = "Fill a tree from a file.",
                .params = {file,
                           tree,
                           space_option,
                           cache,
                           {.name = "--insert",
                            .help = "add the keys one by one to what is there; known keys get "
                                    "the new value"},
                           depth},
                .examples = {{"tree load symbols", "an empty tree, all keys at one instant"},
                             {"tree load more --insert --depth 64", "a tree that is in use"}},
                .run = tree_load,
            },
            {
                .name = "verify",
                .summary = "Look up every key of a file, and compare the values.",
                .params = {file, tree, space_option, cache, depth},
                .examples = {{"tree verify symbols --depth 16", "16 lookups at the same time"}},
                .run = tree_verify,
                .details = "Status 1 if one is missing or has another value.",
            },
            {
                .name = "check",
                .summary = "Read the whole tree and name each defect.",
                .params = {tree, space_option, cache},
                .examples = {{"tree check", "count keys and nodes, look for defects"}},
                .run = tree_check,
                .details = "Status 9 if there are defects. Others may use the tree meanwhile.",
            },
            {
                .name = "bench",
                .summary = "Measure operations: round trips, bytes and time of each.",
                .params = {{.name = "--op",
                            .value = "OP",
                            .kind = Kind::choice,
                            .help = "put stores the keys; get, update and missing use them",
                            .fallback = "get",
                            .choices = "get|missing|update|put"},
                           {.name = "--keys",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "keys of the bench",
                            .fallback = "10000",
                            .min = 1,
                            .max = uint64_t(1) << 32},
                           {.name = "--count",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "operations (default: --keys)",
                            .min = 1,
                            .max = uint64_t(1) << 32},
                           {.name = "--depth",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "operations under way at the same time",
                            .fallback = "1",
                            .min = 1,
                            .max = DS_TREE_MAX_DEPTH},
                           tree,
                           space_option,
                           cache},
                .examples = {{"tree bench --op put --tree 2",
                              "store 10,000 keys in a tree of "
                              "their own"},
                             {"tree bench --op get --tree 2 --depth 16",
                              "look them up, 16 at a "
                              "time"}},
                .run = tree_bench,
                .details = "But for put, the nodes above the leaves are read before the clock "
                           "starts.",
            },
        },
};

const Register registered(object);

}  // namespace

}  // namespace dsctl

// SPDX-License-Identifier: Apache-2.0
// dsctl rdm: the packet service: memory that is reached by packets.
#include <algorithm>

#include <ds/packet.h>

#include "rdm.hpp"

namespace dsctl {

namespace {

constexpr uint64_t most_depth = DS_PACKET_WINDOW;

// What all verbs of a client take, behind those of their own.
std::vector<Param> with_server(std::vector<Param> params) {
    static const std::vector<Param> server = {
        {.name = "--to", .value = "ADDR", .help = "the server: ADDR or ADDR:PORT, by UDP"},
        {.name = "--node",
         .value = "N",
         .kind = Kind::number,
         .help = "the server: a connected peer, by RDMA",
         .names = "nodes",
         .min = 1,
         .max = 65535},
        {.name = "--wire",
         .value = "WIRE",
         .kind = Kind::choice,
         .help = "version 1 or 2 of the packets by UDP, or rdma: version 2 by RDMA (default: "
                 "2 with --to, rdma with --node)",
         .choices = "1|2|rdma"},
        {.name = "--space",
         .value = "S",
         .kind = Kind::number,
         .help = "number of the space on the server",
         .fallback = "1",
         .max = DS_PACKET_SPACES - 1},
        {.name = "--tenant",
         .value = "T",
         .kind = Kind::number,
         .help = "whose the space is",
         .fallback = "0",
         .max = UINT32_MAX},
        {.name = "--key-file",
         .value = "FILE",
         .kind = Kind::file,
         .help = "the key of the space: 16 bytes or 32 hexadecimal digits"},
    };

    params.insert(params.end(), server.begin(), server.end());
    return params;
}

constexpr Param write_replies{.name = "--write-replies",
                              .help =
                                  "with --wire 1: wait for answers to writes, which the "
                                  "server gives if its listener has the same option"};
constexpr Param at{.name = "--at",
                   .value = "ADDR",
                   .kind = Kind::number,
                   .help = "use what is allocated there (default: a range of its own)"};
constexpr Param depth{.name = "--depth",
                      .value = "N",
                      .kind = Kind::number,
                      .help = "requests under way",
                      .fallback = "16",
                      .min = 1,
                      .max = most_depth};
constexpr Param address{.name = "ADDR", .kind = Kind::number, .help = "address in the space"};
constexpr Param word{.name = "ADDR", .kind = Kind::number, .help = "address, a multiple of 8"};
constexpr Param space_id{.name = "ID",
                         .kind = Kind::number,
                         .help = "number of the space; version 1 reaches those up to 255",
                         .names = "packet-spaces",
                         .max = DS_PACKET_SPACES - 1};
constexpr Param own_address{.name = "ADDR",
                            .help =
                                "address of this host, ADDR or ADDR:PORT (default port: 18528 "
                                "for version 1, 18529 for version 2)"};
constexpr Param wire{.name = "--wire",
                     .value = "N",
                     .kind = Kind::number,
                     .help = "version of the packets, 1 or 2",
                     .fallback = "2",
                     .min = 1,
                     .max = 2};
constexpr Param host{.name = "ADDR", .help = "IPv4 address of the host"};
constexpr Param seed{.name = "--seed",
                     .value = "N",
                     .kind = Kind::number,
                     .help = "of what is random",
                     .fallback = "1"};

std::vector<Verb> admin_verbs() {
    return {
        {
            .name = "space add",
            .summary = "Serve a segment of this host by packets.",
            .params =
                {for_new(space_id),
                 {.name = "--segment",
                  .value = "N",
                  .kind = Kind::number,
                  .help = "number of the segment",
                  .required = true,
                  .names = "segments"},
                 {.name = "--kind",
                  .value = "KIND",
                  .kind = Kind::choice,
                  .help = "translation of addresses",
                  .fallback = "hash",
                  .choices = "direct|segments|hash"},
                 {.name = "--page",
                  .value = "BYTES",
                  .kind = Kind::size,
                  .help = "page size, a power of two",
                  .fallback = "4K",
                  .min = uint64_t(1) << DS_PACKET_PAGE_SHIFT_MIN,
                  .max = uint64_t(1) << DS_PACKET_PAGE_SHIFT_MAX},
                 {.name = "--size",
                  .value = "BYTES",
                  .kind = Kind::size,
                  .help = "bytes to serve (default: all of the segment)",
                  .min = 1},
                 {.name = "--tenant",
                  .value = "T",
                  .kind = Kind::number,
                  .help = "whose the space is",
                  .fallback = "0",
                  .max = UINT32_MAX},
                 {.name = "--access",
                  .value = "RWA",
                  .help = "r read, w write, a atomics (default: what the segment allows)"},
                 {.name = "--key-file",
                  .value = "FILE",
                  .kind = Kind::file,
                  .help = "packets need a MAC under this key: 16 bytes or 32 hexadecimal digits"}},
            .examples = {{"rdm space add 1 --segment 2", "all of segment 2, in pages of 4 KiB"},
                         {"rdm space add 2 --segment 3 --kind segments --page 64K --access rw",
                          "translated by a table of ranges"}},
            .run = rdm_space_add,
            .details = "direct: an address is an offset. segments: a sorted table of ranges. hash: "
                       "a table of pages, in buckets of seven.",
        },
        {
            .name = "space show",
            .summary = "Show the spaces that this host serves by packets.",
            .params = {},
            .examples = {{"rdm space show", "what is allocated and free"}},
            .run = rdm_space_show,
        },
        {
            .name = "space del",
            .summary = "End serving a space; its segment stays.",
            .params = {space_id},
            .examples = {{"rdm space del 2", "no request is at work when it returns"}},
            .run = rdm_space_del,
        },
        {
            .name = "listen add",
            .summary = "Receive packets by UDP.",
            .params = {own_address,
                       wire,
                       {.name = "--write-replies", .help = "version 1: answer writes too"}},
            .examples = {{"rdm listen add 10.77.0.1", "version 2, at its usual port"},
                         {"rdm listen add 10.77.0.1 --wire 1 --write-replies",
                          "version 1, all of whose requests are answered"}},
            .run = rdm_listen_add,
            .details = "Only hosts of 'rdm peer add' are heard.",
        },
        {
            .name = "listen show",
            .summary = "Show where packets are received.",
            .params = {},
            .examples = {{"rdm listen show", "versions, addresses and ports"}},
            .run = rdm_listen_show,
        },
        {
            .name = "listen del",
            .summary = "End receiving packets at a port.",
            .params = {own_address, wire},
            .examples = {{"rdm listen del 10.77.0.1 --wire 1", "no more of version 1"}},
            .run = rdm_listen_del,
        },
        {
            .name = "peer add",
            .summary = "Let a host send packets by UDP.",
            .params = {host,
                       {.name = "--tenant",
                        .value = "T",
                        .kind = Kind::number,
                        .help = "the only tenant for whom it may speak (default: any)",
                        .max = UINT32_MAX}},
            .examples = {{"rdm peer add 10.77.0.1", "this host itself"},
                         {"rdm peer add 10.77.0.3 --tenant 7", "for tenant 7 only"}},
            .run = rdm_peer_add,
            .details = "Who can forge that address can do the same: use keys on networks that are "
                       "not your own.",
        },
        {
            .name = "peer show",
            .summary = "Show the hosts that may send packets by UDP.",
            .params = {},
            .examples = {{"rdm peer show", "hosts and their tenants"}},
            .run = rdm_peer_show,
        },
        {
            .name = "peer del",
            .summary = "Hear a host no more.",
            .params = {host},
            .examples = {{"rdm peer del 10.77.0.3", "its packets are dropped"}},
            .run = rdm_peer_del,
        },
        {
            .name = "keygen",
            .summary = "Make a random key of a space in a new file that only you can read.",
            .params = {{.name = "FILE", .kind = Kind::file, .help = "file to make"}},
            .examples = {{"rdm keygen space1.key", "a key for --key-file"}},
            .run = rdm_keygen,
        },
        {
            .name = "selftest",
            .summary = "Have the kernel drive the service with packets of its own.",
            .params = {{.name = "--count",
                        .value = "N",
                        .kind = Kind::number,
                        .help = "requests",
                        .fallback = "10000",
                        .min = 1,
                        .max = 1000000}},
            .examples = {{"rdm selftest", "10,000 requests, with and without errors in them"}},
            .run = rdm_selftest,
            .details = "In a space of its own, that nobody can reach. Status 1 if an answer is "
                       "wrong.",
        },
    };
}

std::vector<Verb> client_verbs() {
    return {
        {
            .name = "alloc",
            .summary = "Allocate memory of the server.",
            .params = with_server(
                {{.name = "LEN", .kind = Kind::size, .help = "bytes, as 64, 4K or 16M", .min = 1},
                 {.name = "--access",
                  .value = "RWA",
                  .help = "r read, w write, a atomics (default: what the space allows)"}}),
            .examples = {{"rdm alloc 64K --to 10.77.0.1", "prints the address"}},
            .run = rdm_alloc,
        },
        {
            .name = "free",
            .summary = "Give memory of the server back.",
            .params = with_server({address}),
            .examples = {{"rdm free 0x1000 --to 10.77.0.1", "what was allocated at this address"}},
            .run = rdm_free,
        },
        {
            .name = "read",
            .summary = "Read bytes and show them.",
            .params = with_server(
                {address,
                 {.name = "LEN", .kind = Kind::size, .help = "bytes, as 64, 4K or 16M", .min = 1},
                 {.name = "--out",
                  .value = "FILE",
                  .kind = Kind::file,
                  .help = "write them to this file, - for standard output"}}),
            .examples = {{"rdm read 0x1000 64 --to 10.77.0.1", "show 64 bytes"},
                         {"rdm read 0x1000 4K --to 10.77.0.1 --wire 1 --out page",
                          "by packets of version 1, to a file"}},
            .run = rdm_read,
        },
        {
            .name = "write",
            .summary = "Write bytes: from the argument, a file or standard input.",
            .params = with_server(
                {address,
                 {.name = "DATA",
                  .help = "text to write; - or nothing: standard input",
                  .optional = true},
                 {.name = "--hex", .help = "DATA, or what is read, is hexadecimal digits"},
                 {.name = "--file",
                  .value = "FILE",
                  .kind = Kind::file,
                  .help = "write the contents of this file"},
                 {.name = "--persistent", .help = "wait until they are on the server's storage"},
                 write_replies}),
            .examples = {{"rdm write 0x1000 hello --to 10.77.0.1", "write five bytes"}},
            .run = rdm_write,
        },
        {
            .name = "cas",
            .summary = "Compare and swap a 64-bit word.",
            .params = with_server(
                {word,
                 {.name = "OLD", .kind = Kind::word, .help = "value to compare with"},
                 {.name = "NEW", .kind = Kind::word, .help = "value to store if it is equal"}}),
            .examples = {{"rdm cas 0x1008 0 1 --to 10.77.0.1", "take a lock, if it is free"}},
            .run = rdm_cas,
            .details = "Status 1 if the word is another one. It happens at most once, however "
                       "often its packets are sent.",
        },
        {
            .name = "fetch-add",
            .summary = "Add to a 64-bit word and show its old value.",
            .params = with_server(
                {word,
                 {.name = "N", .kind = Kind::word, .help = "number to add, may be negative"}}),
            .examples = {{"rdm fetch-add 0x1010 1 --to 10.77.0.1", "count"}},
            .run = rdm_fetch_add,
        },
        {
            .name = "ping",
            .summary = "Send packets to and fro.",
            .params = with_server({{.name = "--count",
                                    .value = "N",
                                    .kind = Kind::number,
                                    .help = "pings",
                                    .fallback = "4",
                                    .min = 1},
                                   {.name = "--size",
                                    .value = "BYTES",
                                    .kind = Kind::size,
                                    .help = "data of a ping",
                                    .fallback = "64",
                                    .max = 65536}}),
            .examples = {{"rdm ping --to 10.77.0.1", "does the server answer, and how fast?"}},
            .run = rdm_ping,
        },
        {
            .name = "bench",
            .summary = "Measure requests a second.",
            .params = with_server({{.name = "--op",
                                    .value = "OP",
                                    .kind = Kind::choice,
                                    .help = "request",
                                    .fallback = "read",
                                    .choices = "read|write|ping"},
                                   {.name = "--size",
                                    .value = "BYTES",
                                    .kind = Kind::size,
                                    .help = "bytes of a request",
                                    .fallback = "64",
                                    .min = 1,
                                    .max = 16 << 20},
                                   depth,
                                   {.name = "--count",
                                    .value = "N",
                                    .kind = Kind::number,
                                    .help = "requests",
                                    .fallback = "10000",
                                    .min = 1},
                                   at,
                                   write_replies}),
            .examples = {{"rdm bench --to 10.77.0.1 --count 1000", "READs of 64 bytes"},
                         {"rdm bench --to 10.77.0.1 --op write --size 64K --depth 2 --count 100",
                          "WRITEs in many packets"}},
            .run = rdm_bench,
        },
        {
            .name = "trace",
            .summary = "Make a trace of random requests for 'replay'.",
            .params = {{.name = "FILE", .kind = Kind::file, .help = "file to write"},
                       {.name = "--count",
                        .value = "N",
                        .kind = Kind::number,
                        .help = "requests",
                        .fallback = "1000",
                        .min = 1,
                        .max = 100000000},
                       {.name = "--span",
                        .value = "BYTES",
                        .kind = Kind::size,
                        .help = "requests stay within so many bytes",
                        .fallback = "1M",
                        .min = 4096,
                        .max = uint64_t(1) << 40},
                       seed},
            .examples = {{"rdm trace requests --count 500", "the same file for the same --seed"}},
            .run = rdm_trace,
        },
        {
            .name = "replay",
            .summary = "Run the requests of a trace.",
            .params = with_server(
                {{.name = "FILE", .kind = Kind::file, .help = "the trace"},
                 {.name = "--check", .help = "compare all that is read with a model in memory"},
                 depth,
                 seed,
                 at,
                 write_replies}),
            .examples = {{"rdm replay requests --check --to 10.77.0.1",
                          "no read may differ from what was written before"}},
            .run = rdm_replay,
            .details =
                "A line is: batch_id timestamp_us signed_offset size_in_4K_pages. An offset in "
                "bytes is where to write, with a minus sign where to read. Requests of a batch are "
                "under way together, unless one writes what another one touches; batches follow "
                "each other at once, whatever their times. Status 1 if a read differs.",
        },
    };
}

Object make_object() {
    Object object{.name = "rdm",
                  .summary = "memory that is reached by packets: serve it, use it",
                  .verbs = admin_verbs()};

    std::ranges::move(client_verbs(), std::back_inserter(object.verbs));
    return object;
}

const Object object = make_object();
const Register registered(object);

}  // namespace

}  // namespace dsctl

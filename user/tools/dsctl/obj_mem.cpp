// SPDX-License-Identifier: Apache-2.0
// dsctl mem: the memory of a space.
#include "mem.hpp"

namespace dsctl {

namespace {

constexpr Param address{.name = "ADDR", .kind = Kind::number, .help = "address in the space"};
constexpr Param length{
    .name = "LEN", .kind = Kind::size, .help = "bytes, as 64, 4K or 16M", .min = 1};
constexpr Param file{.name = "FILE", .kind = Kind::file, .help = "file"};
constexpr Param maybe_address{
    .name = "ADDR", .kind = Kind::number, .help = "address of the first byte", .optional = true};
constexpr Param maybe_length{
    .name = "LEN", .kind = Kind::size, .help = "bytes", .optional = true, .min = 1};
constexpr Param byte{.name = "BYTE",
                     .kind = Kind::number,
                     .help = "value of each byte, 0 to 255",
                     .optional = true,
                     .max = 255};
constexpr Param pattern{.name = "--pattern",
                        .value = "SEED",
                        .kind = Kind::number,
                        .help = "instead of BYTE: bytes made from the seed and the address"};
constexpr Param at{
    .name = "--at", .value = "ADDR", .kind = Kind::number, .help = "the same as the argument ADDR"};
constexpr Param at_length{.name = "--length",
                          .value = "BYTES",
                          .kind = Kind::size,
                          .help = "the same as the argument LEN",
                          .min = 1};
constexpr Param stripe{.name = "--stripe",
                       .value = "BYTES",
                       .kind = Kind::size,
                       .help = "spread over the servers: stripe n on server n % servers",
                       .fallback = "0",
                       .max = uint64_t(1) << 40};

const Object object{
    .name = "mem",
    .summary = "read, write and measure the memory of a space",
    .verbs =
        {
            {
                .name = "read",
                .summary = "Read bytes and show them.",
                .params = {address,
                           length,
                           space_option,
                           {.name = "--out",
                            .value = "FILE",
                            .kind = Kind::file,
                            .help = "write them to this file, - for standard output"}},
                .examples = {{"mem read 0x10200000 64", "show 64 bytes"},
                             {"mem read 0x10200000 4K --out page", "put 4 KiB into a file"}},
                .run = mem_read,
            },
            {
                .name = "write",
                .summary = "Write a few bytes: from the argument, a file or standard input.",
                .params = {address,
                           {.name = "DATA",
                            .help = "text to write; - or nothing: standard input",
                            .optional = true},
                           space_option,
                           {.name = "--hex",
                            .help = "DATA, or what is read, is hexadecimal digits"},
                           {.name = "--file",
                            .value = "FILE",
                            .kind = Kind::file,
                            .help = "write the contents of this file"}},
                .examples = {{"mem write 0x10200000 hello", "write five bytes"},
                             {"mem write 0x10200000 --hex 0100000000000000",
                              "write the word 1, little-endian"}},
                .run = mem_write,
                .details =
                    "If the connection breaks it is not known whether the bytes are written: "
                    "status 11. Words that others change with cas or add must not be written.",
            },
            {
                .name = "cas",
                .summary = "Compare and swap a 64-bit word.",
                .params =
                    {{.name = "ADDR", .kind = Kind::number, .help = "address, a multiple of 8"},
                     {.name = "OLD", .kind = Kind::word, .help = "value to compare with"},
                     {.name = "NEW", .kind = Kind::word, .help = "value to store if it is equal"},
                     space_option},
                .examples = {{"mem cas 0x10200000 0 1", "take a lock, if it is free"}},
                .run = mem_cas,
                .details =
                    "Status 1 if the word is another one. If the connection breaks it is never "
                    "tried again by itself, because it may have happened: status 11.",
            },
            {
                .name = "add",
                .summary = "Add to a 64-bit word and show its old value.",
                .params =
                    {{.name = "ADDR", .kind = Kind::number, .help = "address, a multiple of 8"},
                     {.name = "N", .kind = Kind::word, .help = "number to add, may be negative"},
                     space_option},
                .examples = {{"mem add 0x10200000 1", "count"},
                             {"-q mem add 0x10200000 -1", "count down, print the old value only"}},
                .run = mem_add,
                .details =
                    "If the connection breaks it is never tried again by itself, because it may "
                    "have happened: status 11.",
            },
            {
                .name = "fill",
                .summary = "Write one byte, or a pattern, to a run of addresses.",
                .params = {address, length, byte, space_option, pattern},
                .examples = {{"mem fill 0x10200000 1M 0", "zero 1 MiB"},
                             {"mem fill 0x10200000 1M --pattern 7",
                              "bytes that 'mem verify --pattern 7' knows"}},
                .run = mem_fill,
            },
            {
                .name = "verify",
                .summary = "Check that a run of addresses holds what 'fill' wrote.",
                .params = {address, length, byte, space_option, pattern},
                .examples = {{"mem verify 0x10200000 1M 0", "is it all zero?"},
                             {"mem verify 0x10280000 64K --pattern 7", "any part of a pattern"}},
                .run = mem_verify,
                .details =
                    "A pattern byte depends on its address too, so data at a wrong place is found.",
            },
            {
                .name = "put",
                .summary = "Store a file in the space.",
                .params = {file, maybe_address, space_option, at, stripe},
                .examples = {{"mem put image 0x10200000",
                              "the file, from this address on over the servers"},
                             {"mem put image --at 0x10200000 --stripe 64K",
                              "in stripes of 64 KiB over all servers"}},
                .run = mem_put,
                .details =
                    "Addresses go on from one server to the next. Striped, the data begins at the "
                    "same offset on each server, first on the server of ADDR. Status 10 if only "
                    "a part was stored.",
            },
            {
                .name = "get",
                .summary = "Copy a run of the space into a file.",
                .params = {file, maybe_address, maybe_length, space_option, at, at_length, stripe},
                .examples = {{"mem get image 0x10200000 8M", "8 MiB into a file"},
                             {"mem get - --at 0x10200000 --length 8M --stripe 64K",
                              "what was put in stripes, to standard output"}},
                .run = mem_get,
                .details = "The file is complete or not there at all.",
            },
            {
                .name = "bench",
                .summary = "Measure operations: rate and quantiles of their times.",
                .params =
                    {address,
                     space_option,
                     {.name = "--op",
                      .value = "OP",
                      .kind = Kind::choice,
                      .help = "read, write, cas (0 to 0) or add (1)",
                      .fallback = "read",
                      .choices = "read|write|cas|add"},
                     {.name = "--size",
                      .value = "BYTES",
                      .kind = Kind::size,
                      .help = "bytes of an operation",
                      .fallback = "64",
                      .min = 1,
                      .max = 1 << 30},
                     {.name = "--depth",
                      .value = "N",
                      .kind = Kind::number,
                      .help = "operations under way at the same time",
                      .fallback = "1",
                      .min = 1,
                      .max = 1024},
                     {.name = "--span",
                      .value = "BYTES",
                      .kind = Kind::size,
                      .help = "spread over this many bytes from ADDR on (default --size)",
                      .min = 1},
                     {.name = "--random", .help = "at random places of the span, not in turn"},
                     {.name = "--sync", .help = "in batches of --depth, one system call each"},
                     {.name = "--seconds",
                      .value = "SECONDS",
                      .kind = Kind::seconds,
                      .help = "how long; 10, 1500ms, 2m (default 5)",
                      .min = 1,
                      .max = 86400000},
                     {.name = "--count",
                      .value = "N",
                      .kind = Kind::number,
                      .help = "how many operations, instead of --seconds",
                      .min = 1},
                     {.name = "--keep-going",
                      .help = "count failed operations and go on; status 11 or 10 then"}},
                .examples = {{"mem bench 0x10200000 --sync", "64-byte reads, one at a time"},
                             {"mem bench 0x10200000 --size 4K --depth 16 --span 8M --random",
                              "16 random reads of 4 KiB at any time"}},
                .run = mem_bench,
                .details =
                    "Writes overwrite the span. 'cas' leaves words as they are, 'add' adds 1.",
            },
        },
};

const Register registered(object);

}  // namespace

}  // namespace dsctl

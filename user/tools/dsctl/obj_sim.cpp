// SPDX-License-Identifier: Apache-2.0
// dsctl sim: caches on traces, and models of what was measured.
#include "sim.hpp"
#include "sim/generate.hpp"

namespace dsctl {

namespace {

constexpr Param csv{.name = "--csv", .help = "print lines of comma-separated values"};

constexpr Param traces{.name = "TRACE...",
                       .kind = Kind::file,
                       .help =
                           "files of requests, plain or packed by gzip, xz or zstd; -: "
                           "standard input"};

// What all verbs that read traces take, behind those of their own.
std::vector<Param> with_reader(std::vector<Param> params) {
    static const std::vector<Param> reader = {
        {.name = "--format",
         .value = "FORMAT",
         .kind = Kind::choice,
         .help = "of the files",
         .fallback = "guess",
         .choices = "guess|ds|csv|integers|lis|address|u32be|u64le|oracle"},
        {.name = "--block",
         .value = "BYTES",
         .kind = Kind::size,
         .help = "memory that is one object in a trace of addresses",
         .fallback = "64",
         .min = 1,
         .max = 1 << 30},
        {.name = "--most",
         .value = "N",
         .kind = Kind::number,
         .help = "requests of a trace; a longer one is refused",
         .fallback = "1073741824",
         .min = 1,
         .max = ds::sim::most_requests},
    };

    params.insert(params.end(), reader.begin(), reader.end());
    return params;
}

// "zipf|scan|...", as Param::choices are.
std::string_view trace_kinds() {
    static const std::string kinds = [] {
        std::string all;
        for (std::string_view kind : ds::sim::recipe_kinds())
            all += (all.empty() ? "" : "|") + std::string(kind);
        return all;
    }();
    return kinds;
}

constexpr Param events{.name = "--events",
                       .value = "FILE",
                       .kind = Kind::file,
                       .help = "write what moves there, a line of JSON each"};
constexpr Param one_trace{.name = "TRACE",
                          .kind = Kind::file,
                          .help =
                              "file of requests, plain or packed by gzip, xz or zstd; -: "
                              "standard input"};

// What a run is given, behind the options of one verb and before those of reading. With
// @p lists several values are several runs.
std::vector<Param> with_run(std::vector<Param> params, bool lists) {
    const char *number = lists ? "LIST" : "N";
    const std::vector<Param> run = {
        {.name = "--policy",
         .value = lists ? "LIST" : "POLICY",
         .help = "of L1: the module's default, also called ds, or literal-001 or adaptive-001 of "
                 "document 001",
         .fallback = "default",
         .choices = "default|literal-001|adaptive-001"},
        {.name = "--mode",
         .value = lists ? "LIST" : "MODE",
         .help = "what becomes of requests for a token that moves: optimistic (served where it "
                 "was) or blocking (they wait)",
         .fallback = "optimistic",
         .choices = "optimistic|blocking"},
        {.name = "--l1",
         .value = number,
         .help = "entries of L1, 16 to 2097150",
         .fallback = "8192"},
        {.name = "--l2",
         .value = lists ? "LIST" : "PAGES",
         .help = "pages of L2, of 16 KiB, up to 2048; 0: there is none",
         .fallback = "256"},
        {.name = "--writes",
         .value = lists ? "LIST" : "PERCENT",
         .help = "accesses that write, in percent, drawn by --seed (default: as the trace says)"},
        {.name = "--batch",
         .value = number,
         .help =
             "misses that are fetched together, or after PREFETCH_TIMER_NS, up to 1024; 0: each "
             "for itself (default: 0)"},
        {.name = "--handlers",
         .value = number,
         .help = "threads of the host that serve its mailbox, up to 1024; 0: each request has its "
                 "own (default: 0)"},
        {.name = "--rate",
         .value = lists ? "LIST" : "R",
         .help = "requests in a microsecond, 0.001 to 1000, evenly, however long they take "
                 "(default: 10)"},
        {.name = "--outstanding",
         .value = number,
         .help = "requests under way, 1 to 65536, at no fixed rate: each that ends is followed by "
                 "another"},
        {.name = "--trace-times",
         .help = "requests come when the trace says, from the first one's time on"},
        {.name = "--seed",
         .value = "N",
         .kind = Kind::number,
         .help = "seed of the random numbers",
         .fallback = "1"},
        {.name = "--latency",
         .value = "LIST",
         .help = "in ns, as l1=5,l2=170:410: always, or median and P99; also l3_read, l3_write, "
                 "expand"},
        {.name = "--bandwidth", .value = "LIST", .help = "in bytes a ns, as cxl=37,pcie=16"},
        {.name = "--classes",
         .value = "LIST",
         .help = "what objects are, in percent, as token:60,wqe:40; also doorbell, qp, index, "
                 "history (default: tokens)"},
        {.name = "--set",
         .value = "LIST",
         .help = lists ? "parameters of document 001, as ALPHA=2,PROMOTE_TO_L1_THRESHOLD=1:8:64; "
                         "several values are several runs"
                       : "parameters of document 001, as AGING_INTERVAL=80000,ALPHA=2"},
        csv};

    params.insert(params.end(), run.begin(), run.end());
    return with_reader(std::move(params));
}

const Object sim{
    .name = "sim",
    .summary = "what caches and NICs would do: recorded and made requests, measured rates",
    .verbs =
        {
            {
                .name = "run",
                .summary = "Run a trace through the tiers of the token cache, in virtual time.",
                .params =
                    with_run({one_trace,
                              events,
                              {.name = "--timing",
                               .help = "compare the processor time that it takes with that of a "
                                       "bare LRU pass, five times each"}},
                             false),
                .examples =
                    {{"sim run OLTP.lis --l1 512", "hits, access times, moves and DMA"},
                     {"sim run OLTP.lis --mode blocking --writes 50 --outstanding 16",
                      "16 requests at a time, half of them writes, that wait for moves"},
                     {"sim run loop.trace --l1 512 --policy adaptive-001 --events events.jsonl",
                      "document 001's thresholds, and all that moves"}},
                .run = sim_run,
                .details = "The same command says the same on any machine, but for --timing.",
            },
            {
                .name = "sweep",
                .summary = "Run a trace through many configurations of the tiers.",
                .params = with_run({one_trace,
                                    events,
                                    {.name = "--threads",
                                     .value = "N",
                                     .kind = Kind::number,
                                     .help = "runs at a time (default: one a processor)",
                                     .min = 1,
                                     .max = 256}},
                                   true),
                .examples = {{"sim sweep OLTP.lis --l1 512,2048 --mode optimistic,blocking",
                              "four runs"},
                             {"sim sweep loop.trace --l1 512 --policy default,literal-001 --csv",
                              "for a spreadsheet"},
                             {"sim sweep loop.trace --policy literal-001 --set "
                              "PROMOTE_TO_L1_THRESHOLD=1:8:64",
                              "three thresholds"}},
                .run = sim_sweep,
                .details = "Each option that is a list is a dimension. The result does not depend "
                           "on --threads. With --events there is one run at a time, and each line "
                           "says of which run it is, from 0 on.",
            },
            {
                .name = "compare",
                .summary = "Compare policies by their hit ratio on traces.",
                .params = with_reader(
                    {traces,
                     {.name = "--capacity",
                      .value = "LIST",
                      .help = "entries of the cache, each once, 1 to 1073741824; with ds, "
                              "literal-001 and adaptive-001 16 to 4194304",
                      .fallback = "512,2048,8192,32768"},
                     {.name = "--policy",
                      .value = "LIST",
                      .help = "policies, each once, also literal-001, adaptive-001, w-tinylfu:N "
                              "with a window of N percent, literal-001:N with a threshold of N "
                              "uses; ds is also called default",
                      .fallback = "lru,fifo,clock,sieve,s3-fifo,2q,arc,lirs,w-tinylfu,lfu,ds,opt"},
                     {.name = "--threads",
                      .value = "N",
                      .kind = Kind::number,
                      .help = "passes over a trace at a time (default: one a processor)",
                      .min = 1,
                      .max = 256},
                     csv}),
                .examples =
                    {{"sim compare OLTP.lis web12.trace --capacity 512,2048",
                      "the usual policies, on two traces at two capacities"},
                     {"sim compare loop.trace --capacity 512 --policy lru,w-tinylfu:1,opt --csv",
                      "three of them, for a spreadsheet"}},
                .run = sim_compare,
                .details = "opt knows the future: no policy can have more hits. The mean rank is "
                           "over the rows where the capacity is at most half the objects and a "
                           "twentieth of the accesses; the other rows are dim. The result does "
                           "not depend on --threads.",
            },
            {
                .name = "mrc",
                .summary = "Show the miss ratios of LRU at many capacities, from one pass.",
                .params = with_reader(
                    {traces,
                     {.name = "--capacity",
                      .value = "LIST",
                      .help = "entries of the cache, as 512,2048 (default: powers of two below the "
                              "number of objects, and that number)"},
                     {.name = "--sampled", .help = "ask some requests only for their distance"},
                     {.name = "--rate",
                      .value = "PERCENT",
                      .help = "with --sampled: how many of the requests, above 0 to 100",
                      .fallback = "1"},
                     {.name = "--least",
                      .value = "N",
                      .kind = Kind::number,
                      .help = "with --sampled: requests to ask, if --rate would be fewer",
                      .fallback = "65536",
                      .min = 1,
                      .max = ds::sim::most_requests},
                     csv}),
                .examples = {{"sim mrc OLTP.lis web12.trace", "where larger caches would help"},
                             {"sim mrc OLTP.lis --capacity 100,200,300 --sampled --rate 5",
                              "faster, from a twentieth of the requests"},
                             {"sim mrc loop.trace --csv", "for a plot"}},
                .run = sim_mrc,
                .details = "First accesses are misses, too. With --sampled the pass, but not the "
                           "reading of the file, takes about half the time; it is off by some "
                           "thousandths, with the usual --least.",
            },
            {
                .name = "calibrate",
                .summary = "Fit the model of a NIC to its rate of READs by QPs.",
                .params = {{.name = "FILE",
                            .kind = Kind::file,
                            .help = "lines 'qps,mpps': QPs in use, READs in a microsecond"},
                           csv},
                .examples = {{"sim calibrate nic_qp_cliff.csv",
                              "what the NIC caches, and what narrow tokens would gain"},
                             {"sim calibrate nic_qp_cliff.csv --csv",
                              "the curve and the model's, for a plot"}},
                .run = sim_calibrate,
                .details = "The knee is the largest number of QPs that still has nine tenths of "
                           "the highest rate. With tokens: the NIC whose memory for contexts, of "
                           "232 bytes each, holds tokens of 16 bytes instead.",
            },
            {
                .name = "trace show",
                .summary = "Show what is in trace files.",
                .params = with_reader({traces}),
                .examples = {{"sim trace show OLTP.lis", "its format, requests and objects"},
                             {"sim trace show gcc.trace --block 4K",
                              "loads and stores, by pages of memory"}},
                .run = sim_trace_show,
                .details = "A file that cannot be shown does not hold up those behind it. If some "
                           "were shown the status is 10.",
            },
            {
                .name = "trace make",
                .summary = "Make a trace, in the format 'ds'.",
                .params = {{.name = "FILE",
                            .kind = Kind::file,
                            .help = "file to write; -: standard output"},
                           {.name = "--kind",
                            .value = "KIND",
                            .kind = Kind::choice,
                            .help = "of requests",
                            .fallback = "zipf",
                            .choices = trace_kinds()},
                           {.name = "--requests",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "length of the trace",
                            .fallback = "1000000",
                            .min = 1,
                            .max = ds::sim::most_requests},
                           {.name = "--objects",
                            .value = "N",
                            .kind = Kind::number,
                            .help =
                                "objects; of phases those of each; of fanout QPs, up to 1048576; "
                                "a scan has as many as requests",
                            .fallback = "100000",
                            .min = 1,
                            .max = ds::sim::most_requests},
                           {.name = "--alpha",
                            .value = "A",
                            .help = "exponent of zipf, phases and mixture, 0 to 10",
                            .fallback = "0.99"},
                           {.name = "--phases",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "of phases: how many, 1 to 1000",
                            .fallback = "10",
                            .min = 1,
                            .max = 1000},
                           {.name = "--scans",
                            .value = "PERCENT",
                            .kind = Kind::number,
                            .help = "of mixture: requests in scans, 0 to 99",
                            .fallback = "20",
                            .max = 99},
                           {.name = "--random", .help = "of fanout: QPs at random, not in turn"},
                           {.name = "--writes",
                            .value = "PERCENT",
                            .kind = Kind::number,
                            .help = "requests that write",
                            .fallback = "0",
                            .max = 100},
                           {.name = "--seed",
                            .value = "N",
                            .kind = Kind::number,
                            .help = "seed of the random numbers",
                            .fallback = "1"}},
                .examples =
                    {{"sim trace make loop.trace --kind loop --objects 1000 --requests 90000",
                      "what LRU is bad at"},
                     {"sim trace make qps.trace --kind fanout --objects 4096 --writes 10",
                      "tokens of a benchmark with 4096 QPs"}},
                .run = sim_trace_make,
                .details =
                    "zipf: some objects often, most rarely. scan: no object twice. loop: all "
                    "objects in turn. phases: zipf, of other objects from time to time. "
                    "mixture: zipf, with scans in between. fanout: each request of a QP "
                    "touches the tokens of its QP, CQ, PD and one of its MRs.",
            },
        },
};

const Register registered(sim);

}  // namespace

}  // namespace dsctl

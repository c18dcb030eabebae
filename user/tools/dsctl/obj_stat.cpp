// SPDX-License-Identifier: Apache-2.0
// dsctl stat: counters of the module, of peers and of devices.
#include <chrono>

#include "clock.hpp"
#include "counters.hpp"
#include "interrupt.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

Counters take(Kernel &kernel, const std::string &object) {
    Counters counters = read_counters(kernel);

    if (!object.empty())
        std::erase_if(counters, [&](const auto &counter) { return counter.first.first != object; });
    if (counters.empty() && !object.empty())
        throw Error(Exit::not_found, "DS-STA-001", "there are no counters of '" + object + "'",
                    "see the first column of 'dsctl stat show'");
    return counters;
}

void print_csv(Output &out, const Counters &sample, const std::string &time) {
    for (const auto &[key, value] : sample)
        out.line(format("%s,%s,%s,%llu", time.c_str(), key.first.c_str(), key.second.c_str(),
                        static_cast<unsigned long long>(value)));
}

void print(Output &out, const Counters &sample, const CounterMap *before, double seconds) {
    std::vector<Column> columns{{"OBJECT"}, {"COUNTER", false, true}, {"VALUE", true}};
    std::string time = timestamp();
    std::vector<Row> rows;

    if (before)
        columns.push_back({"PER SECOND", true});
    for (const auto &[key, value] : sample) {
        auto grown = before ? growth(*before, key, value) : std::nullopt;
        Json element{{"object", key.first}, {"name", key.second}, {"value", value}};
        Row row{key.first, key.second, std::to_string(value)};
        if (before) {
            double rate = grown ? static_cast<double>(*grown) / seconds : 0;
            element["time"] = time;
            element["per_second"] = grown ? Json(rate) : Json(nullptr);
            row.push_back(grown ? format("%.1f", rate) : "-");
        }
        out.respond(element);
        rows.push_back(row);
    }
    out.table(columns, rows);
}

// A sample every period until Ctrl-C.
Exit watch(Call &call, Kernel &kernel, uint64_t period_ms) {
    using Clock = std::chrono::steady_clock;
    CounterMap before;
    Clock::time_point last = Clock::now();

    watch_interrupts();
    for (const auto &[key, value] : take(kernel, call.text("--object")))
        before[key] = value;
    for (uint64_t left = call.maybe("--count").value_or(UINT64_MAX); left > 0; left--) {
        sleep_until(last + std::chrono::milliseconds(period_ms));
        if (interrupted())
            return Exit::interrupted;
        Clock::time_point now = Clock::now();
        Counters sample = take(kernel, call.text("--object"));
        if (call.has("--csv"))
            print_csv(call.out, sample, timestamp());
        else
            print(call.out, sample, &before, std::chrono::duration<double>(now - last).count());
        call.out.flush_document();
        last = now;
        for (const auto &[key, value] : sample)
            before[key] = value;
    }
    return Exit::ok;
}

Exit show(Call &call) {
    if (call.has("--csv") && call.out.json())
        throw usage("--csv and --json are both given");
    if (call.has("--count") && !call.has("--watch"))
        throw usage("--count goes with --watch");
    Kernel kernel(call);
    if (call.has("--csv"))
        call.out.line("time,object,counter,value");
    if (auto period = call.maybe("--watch"))
        return watch(call, kernel, *period);
    Counters sample = take(kernel, call.text("--object"));
    if (call.has("--csv"))
        print_csv(call.out, sample, timestamp());
    else
        print(call.out, sample, nullptr, 0);
    return Exit::ok;
}

const Object object{
    .name = "stat",
    .summary = "counters of the module, its peers and the packet service",
    .verbs = {{
        .name = "show",
        .summary = "Show the counters.",
        .params =
            {
                {.name = "--object", .value = "X", .help = "only of this one, as 'peer 2'"},
                {.name = "--watch",
                 .value = "SECONDS",
                 .kind = Kind::seconds,
                 .help = "again each 1, 10 or 500ms, with the growth per second; Ctrl-C ends it",
                 .min = 100,
                 .max = 86400000},
                {.name = "--count",
                 .value = "N",
                 .kind = Kind::number,
                 .help = "with --watch: end after N times",
                 .min = 1},
                {.name = "--csv", .help = "lines of time,object,counter,value"},
            },
        .examples =
            {
                {"stat show", "all counters since the module was loaded"},
                {"stat show --object 'peer 2' --watch 1", "what goes to node 2 each second"},
                {"stat show --csv --watch 10", "a log for a spreadsheet"},
            },
        .run = show,
        .details = "With --watch and --json each sample is a document of its own, in one line.",
    }},
};

const Register registered(object);

}  // namespace

}  // namespace dsctl

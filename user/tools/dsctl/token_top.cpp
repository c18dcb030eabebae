// SPDX-License-Identifier: Apache-2.0
// dsctl token top: the tiers at work.
#include <algorithm>
#include <chrono>

#include "clock.hpp"
#include "token.hpp"
#include "top.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using Clock = std::chrono::steady_clock;
using Devices = std::map<std::string, TokenCounters>;
using Names = std::vector<std::string_view>;

constexpr int tiers = 3;

// Under this name the kernel counts what fetches tokens into L1.
const std::string fetch = "(fetch)";

std::string of_tier(std::string_view name, int tier) {
    return std::string(name) + "_l" + std::to_string(tier);
}

std::string rate_of(std::optional<double> per_second) {
    return per_second ? format(*per_second < 10 ? "%.1f" : "%.0f", *per_second) : "-";
}

std::string share_of(std::optional<double> share) {
    return share ? format("%.1f %%", *share * 100) : "-";
}

class Tiers : public TopSource {
public:
    explicit Tiers(const Call &call);

    void sample() override;
    View view(Order order) const override;
    Json json() const override;

private:
    uint64_t sum(const std::string &name) const;
    std::optional<double> per_second(const std::string &device, const std::string &name) const;
    std::optional<double> per_second(const std::string &name) const;
    std::optional<double> share(const std::string &device, const std::string &part) const;
    std::optional<double> share(const std::string &part) const;
    TokenHistogram times(const std::string &name) const;
    Panel tier_panel() const;
    Panel device_panel(Order order) const;
    Json tier_json(int tier) const;
    Json device_json(const std::string &device) const;

    Kernel kernel_;
    uint64_t l1_slots_ = 0, l2_bytes_ = 0;
    std::string l2_memory_;
    Devices before_, now_;
    std::string stamp_;
    std::optional<Clock::time_point> time_;
    std::optional<double> seconds_;  // since the sample before
};

Tiers::Tiers(const Call &call) : kernel_(call) {
    for (const nl::Message &parameter : read_token_parameters(kernel_)) {
        std::string name = parameter.get_or(attr::name, "");
        uint64_t value = parameter.get_or(attr::setting, 0);
        if (name == "L1_CAPACITY")
            l1_slots_ = value;
        else if (name == "L2_CAPACITY")
            l2_bytes_ = value;
        else if (name == "L2_NODE")
            l2_memory_ = parameter.get_or(attr::reason, "");
    }
}

void Tiers::sample() {
    Clock::time_point now = Clock::now();

    before_ = std::move(now_);
    now_ = read_token_counters(kernel_);
    std::erase_if(before_, [&](const auto &device) {
        auto counters = now_.find(device.first);
        return counters != now_.end() && has_begun_anew(device.second, counters->second);
    });
    now_.try_emplace(fetch);
    if (time_)
        seconds_ = std::chrono::duration<double>(now - *time_).count();
    time_ = now;
    stamp_ = timestamp();
}

uint64_t Tiers::sum(const std::string &name) const {
    uint64_t sum = 0;

    for (const auto &[device, counters] : now_)
        if (auto it = counters.values.find(name); it != counters.values.end())
            sum += it->second;
    return sum;
}

// Of a device that was not there before, or has begun to count anew, nothing is known.
std::optional<double> Tiers::per_second(const std::string &device, const std::string &name) const {
    auto before = before_.find(device);
    const auto &counters = now_.at(device).values;
    auto value = counters.find(name);

    if (!seconds_ || before == before_.end() || value == counters.end())
        return std::nullopt;
    auto old = before->second.values.find(name);
    if (old == before->second.values.end() || old->second > value->second)
        return std::nullopt;
    return static_cast<double>(value->second - old->second) / *seconds_;
}

std::optional<double> Tiers::per_second(const std::string &name) const {
    std::optional<double> sum;

    for (const auto &[device, counters] : now_)
        if (auto rate = per_second(device, name))
            sum = sum.value_or(0) + *rate;
    return sum;
}

std::optional<double> Tiers::share(const std::string &device, const std::string &part) const {
    double all = 0;

    for (int tier = 1; tier <= tiers; tier++)
        all += per_second(device, of_tier("hits", tier)).value_or(0);
    auto hits = per_second(device, part);
    return hits && all > 0 ? std::optional(*hits / all) : std::nullopt;
}

std::optional<double> Tiers::share(const std::string &part) const {
    double all = 0;

    for (int tier = 1; tier <= tiers; tier++)
        all += per_second(of_tier("hits", tier)).value_or(0);
    auto hits = per_second(part);
    return hits && all > 0 ? std::optional(*hits / all) : std::nullopt;
}

// Of all devices, since the sample before.
TokenHistogram Tiers::times(const std::string &name) const {
    TokenHistogram sum{};

    for (const auto &[device, counters] : now_) {
        auto now = counters.times.find(name);
        auto before = before_.find(device);
        if (now == counters.times.end() || before == before_.end())
            continue;
        auto old = before->second.times.find(name);
        for (size_t i = 0; i < sum.size(); i++)
            if (old != before->second.times.end() && now->second[i] >= old->second[i])
                sum[i] += now->second[i] - old->second[i];
    }
    return sum;
}

Json Tiers::tier_json(int tier) const {
    TokenHistogram look = times(of_tier("look_ns", tier));
    Json row{{"tier", tier},
             {"tokens", sum(of_tier("tokens", tier))},
             {"hits", or_null(per_second(of_tier("hits", tier)))},
             {"share", or_null(share(of_tier("hits", tier)))}};

    row["promoted"] = tier < 3 ? or_null(per_second(of_tier("up", tier))) : Json(nullptr);
    row["demoted"] = tier > 1 ? or_null(per_second(of_tier("down", tier))) : Json(nullptr);
    row["p50"] = count_of(look) ? Json(percentile(look, 0.5)) : Json(nullptr);
    row["p99"] = count_of(look) ? Json(percentile(look, 0.99)) : Json(nullptr);
    return row;
}

constexpr std::string_view device_rates[] = {"hits_l1", "hits_l2", "hits_l3",  "stale",
                                             "failed",  "up_l1",   "up_l2",    "down_l2",
                                             "down_l3", "aborted", "dma_bytes"};

Json Tiers::device_json(const std::string &device) const {
    Json row{{"device", device}, {"l1_share", or_null(share(device, "hits_l1"))}};

    for (std::string_view name : device_rates)
        row[name] = or_null(per_second(device, std::string(name)));
    return row;
}

Json Tiers::json() const {
    Json levels = Json::array(), devices = Json::array();

    for (int tier = 1; tier <= tiers; tier++)
        levels.push_back(tier_json(tier));
    for (const auto &[device, counters] : now_)
        if (device != fetch)
            devices.push_back(device_json(device));
    return {{"time", stamp_},
            {"seconds", or_null(seconds_)},
            {"l1_slots", l1_slots_},
            {"l2_bytes", l2_bytes_},
            {"l2_memory", l2_memory_},
            {"dma_operations", or_null(per_second(fetch, "batch_fetches"))},
            {"fetched", or_null(per_second(fetch, "batch_fetched"))},
            {"tiers", levels},
            {"devices", devices}};
}

Panel Tiers::tier_panel() const {
    Panel panel{.title = "Tiers, a second",
                .columns = {{"TIER"},
                            {"TOKENS", true},
                            {"HITS", true},
                            {"SHARE", true},
                            {"PROMOTED", true},
                            {"DEMOTED", true},
                            {"P50", true},
                            {"P99", true}},
                .rows = {}};

    for (int tier = 1; tier <= tiers; tier++) {
        TokenHistogram look = times(of_tier("look_ns", tier));
        bool any = count_of(look) > 0;
        panel.rows.push_back(
            {"L" + std::to_string(tier), std::to_string(sum(of_tier("tokens", tier))),
             rate_of(per_second(of_tier("hits", tier))), share_of(share(of_tier("hits", tier))),
             tier < 3 ? rate_of(per_second(of_tier("up", tier))) : "-",
             tier > 1 ? rate_of(per_second(of_tier("down", tier))) : "-",
             any ? ns_text(percentile(look, 0.5)) : "-",
             any ? ns_text(percentile(look, 0.99)) : "-"});
    }
    return panel;
}

Panel Tiers::device_panel(Order order) const {
    Panel panel{.title = "Devices, a second",
                .columns = {{"DEVICE", false, true},
                            {"TOKENS", true},
                            {"FOREIGN", true},
                            {"HITS", true},
                            {"IN L1", true},
                            {"STALE", true},
                            {"MOVES", true},
                            {"ABORTED", true},
                            {"DMA", true}},
                .rows = {}};
    std::vector<std::pair<double, Row>> rows;
    auto add = [&](const std::string &device, const Names &names) {
        std::optional<double> sum;
        for (std::string_view name : names)
            if (auto rate = per_second(device, std::string(name)))
                sum = sum.value_or(0) + *rate;
        return sum;
    };

    for (const auto &[device, counters] : now_) {
        if (device == fetch)
            continue;
        auto value = [&counters = counters](const std::string &name) {
            auto it = counters.values.find(name);
            return it == counters.values.end() ? uint64_t{0} : it->second;
        };
        auto hits = add(device, {"hits_l1", "hits_l2", "hits_l3"});
        auto bytes = per_second(device, "dma_bytes");
        rows.push_back(
            {hits.value_or(0),
             {device, std::to_string(value("tokens_l1") + value("tokens_l2") + value("tokens_l3")),
              std::to_string(value("foreign")), rate_of(hits), share_of(share(device, "hits_l1")),
              rate_of(per_second(device, "stale")),
              rate_of(add(device, {"up_l1", "up_l2", "down_l2", "down_l3"})),
              rate_of(per_second(device, "aborted")),
              bytes ? bytes_text(static_cast<uint64_t>(*bytes)) : "-"}});
    }
    if (order == Order::by_traffic)
        std::ranges::stable_sort(rows, std::greater(), &std::pair<double, Row>::first);
    for (auto &[hits, row] : rows)
        panel.rows.push_back(std::move(row));
    return panel;
}

View Tiers::view(Order order) const {
    View view{.fields = {{"time", stamp_},
                         {"look-ups", share_of(share("hits_l1")) + " found in L1"},
                         {"L1", format("%llu of %llu slots used",
                                       static_cast<unsigned long long>(sum("tokens_l1")),
                                       static_cast<unsigned long long>(l1_slots_))},
                         {"L2", l2_bytes_ ? bytes_text(l2_bytes_) + " of " + l2_memory_ : "none"},
                         {"fetched",
                          rate_of(per_second(fetch, "batch_fetched")) + " tokens a second, by " +
                              rate_of(per_second(fetch, "batch_fetches")) + " DMA operations"}},
              .panels = {tier_panel(), device_panel(order)}};

    std::erase_if(view.panels, [](const Panel &panel) { return panel.rows.empty(); });
    return view;
}

}  // namespace

Exit token_top(Call &call) {
    need_terminal(call);
    Tiers tiers(call);
    return run_top(call, tiers);
}

}  // namespace dsctl

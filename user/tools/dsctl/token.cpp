// SPDX-License-Identifier: Apache-2.0
#include "token.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

namespace dsctl {

std::string token_type_name(uint32_t type) {
    return type < token_types.size() ? std::string(token_types[type]) : std::to_string(type);
}

std::string qp_type_name(uint32_t type) {
    // enum ib_qp_type
    constexpr std::array<std::string_view, 5> names{"SMI", "GSI", "RC", "UC", "UD"};

    return type < names.size() ? std::string(names[type]) : std::to_string(type);
}

uint64_t count_of(const TokenHistogram &histogram) {
    return std::accumulate(histogram.begin(), histogram.end(), uint64_t{0});
}

double percentile(const TokenHistogram &histogram, double part) {
    uint64_t count = count_of(histogram), seen = 0;

    for (size_t i = 0; i < histogram.size() && count > 0; i++) {
        seen += histogram[i];
        if (static_cast<double>(seen) >= part * static_cast<double>(count))
            return std::ldexp(1, static_cast<int>(i) + 1);
    }
    return 0;
}

static TokenHistogram histogram_of(const nl::Bytes &bytes) {
    TokenHistogram histogram{};

    std::memcpy(histogram.data(), bytes.data(), std::min(bytes.size(), sizeof(histogram)));
    return histogram;
}

bool has_begun_anew(const TokenCounters &before, const TokenCounters &now) {
    auto has_fallen = [&](const auto &value) {
        const auto &[name, count] = value;
        bool is_of_now = name == "foreign" || name.starts_with("tokens_");
        auto then = before.values.find(name);
        return !is_of_now && then != before.values.end() && count < then->second;
    };
    auto have_fallen = [&](const auto &time) {
        auto then = before.times.find(time.first);
        return then != before.times.end() &&
               !std::ranges::equal(time.second, then->second, std::greater_equal());
    };

    return std::ranges::any_of(now.values, has_fallen) ||
           std::ranges::any_of(now.times, have_fallen);
}

std::map<std::string, TokenCounters> read_token_counters(Kernel &kernel) {
    std::map<std::string, TokenCounters> devices;

    for (const nl::Message &counter :
         kernel.dump(DS_CMD_TOKEN_STAT_GET, "read the counters of the token cache")) {
        TokenCounters &device = devices[counter.get_or(attr::device, "?")];
        std::string name = counter.get_or(attr::name, "?");
        if (auto bytes = counter.get(attr::histogram))
            device.times[name] = histogram_of(*bytes);
        else
            device.values[name] = counter.get_or(attr::value, 0);
    }
    return devices;
}

std::vector<nl::Message> read_token_parameters(Kernel &kernel) {
    return kernel.dump(DS_CMD_TOKEN_PARAM_GET, "list the parameters of the token cache");
}

std::string parameter_note(const nl::Message &parameter) {
    auto domain = parameter.get(attr::domain);

    return parameter.get_or(attr::reason, domain ? "domain " + std::to_string(*domain) : "");
}

}  // namespace dsctl

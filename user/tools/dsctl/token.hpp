// SPDX-License-Identifier: Apache-2.0
// The verbs of 'dsctl token', and what they share.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include <ds/token.h>

#include "call.hpp"
#include "kernel.hpp"

namespace dsctl {

inline constexpr std::array<std::string_view, DS_TOKEN_TYPES> token_types{"pd", "mr", "cq", "qp"};

// "pd", "mr", "cq", "qp"
std::string token_type_name(uint32_t type);

// "RC" for 2, the number for one that has no name.
std::string qp_type_name(uint32_t type);

// How often something took 2^i ns to twice that.
using TokenHistogram = std::array<uint64_t, DS_TOKEN_BUCKETS>;

uint64_t count_of(const TokenHistogram &histogram);

// Nanoseconds that the part (0 to 1) of all did not exceed: the end of its bucket; 0 of none.
double percentile(const TokenHistogram &histogram, double part);

// The counters of a device, by name.
struct TokenCounters {
    std::map<std::string, uint64_t, std::less<>> values;
    std::map<std::string, TokenHistogram, std::less<>> times;
};

// Has the device come back, and counts anew? Some counters may be larger all the same.
bool has_begun_anew(const TokenCounters &before, const TokenCounters &now);

// By device.
std::map<std::string, TokenCounters> read_token_counters(Kernel &kernel);

// The parameters of the token cache, as messages, in the module's order.
std::vector<nl::Message> read_token_parameters(Kernel &kernel);

// What is to be known of the value of a parameter; of one of a trust domain at least of which. The
// module's own note, which says so, too, is for administrators.
std::string parameter_note(const nl::Message &parameter);

// The verbs.
Exit token_show(Call &call);
Exit token_map(Call &call);
Exit token_stat(Call &call);
Exit token_top(Call &call);
Exit token_set(Call &call);
Exit token_import(Call &call);
Exit token_pin(Call &call);
Exit token_unpin(Call &call);
Verb token_record_verb();

}  // namespace dsctl

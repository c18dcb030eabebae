// SPDX-License-Identifier: Apache-2.0
// dsctl token show|stat|set.
#include <algorithm>

#include "token.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr struct {
    uint32_t flag;
    std::string_view name;
    bool secret;  // the module does not say it to everybody
} flags[] = {
    {DS_TOKEN_PINNED, "pinned", true},    {DS_TOKEN_DIRTY, "dirty", true},
    {DS_TOKEN_WIDE, "wide", false},       {DS_TOKEN_MOVING, "moving", true},
    {DS_TOKEN_FOREIGN, "foreign", false},
};

// Whether the module says where a token is, and what is done with it.
bool is_whole(const nl::Message &token) {
    return token.get(attr::tier).has_value();
}

Json token_json(const nl::Message &token) {
    Json row = Json::object(), all = to_json(token);

    for (const auto &[name, value] : all.members()) {
        if (name == "flags")
            for (const auto &flag : flags) {
                if (flag.secret && !is_whole(token))
                    continue;
                row[flag.name] = (token.get_or(attr::flags, 0) & flag.flag) != 0;
            }
        else if (name == "type")
            row[name] = token_type_name(token.get_or(attr::type, 0));
        else if (name == "qp_type")
            row[name] = qp_type_name(token.get_or(attr::qp_type, 0));
        else if (name == "srq")
            row[name] = token.get_or(attr::srq, 0) != 0;
        else
            row[name] = value;
    }
    return row;
}

std::string flags_text(const nl::Message &token) {
    std::string text;

    for (const auto &flag : flags)
        if (token.get_or(attr::flags, 0) & flag.flag)
            text += (text.empty() ? "" : ",") + std::string(flag.name);
    return text;
}

std::string mr_text(const nl::Message &token) {
    std::string text = bytes_text(token.get_or(attr::length, 0)) + " at " +
                       hex(token.get_or(attr::iova, 0)) + ", ";
    uint64_t pages = token.get_or(attr::pages, 0);

    return text + std::to_string(pages) + (pages == 1 ? " page" : " pages");
}

std::string cq_text(const nl::Message &token) {
    uint32_t with = token.get_or(attr::cq_flags, 0);

    return format("%u entries, vector %u", token.get_or(attr::entries, 0),
                  token.get_or(attr::vector, 0)) +
           (with ? ", flags " + hex(with) : "");
}

std::string qp_text(const nl::Message &token) {
    auto posted = token.get(attr::posted);

    return qp_type_name(token.get_or(attr::qp_type, 0)) + " " + std::string(token.state_name()) +
           (posted ? format(", %u posted", *posted) : "") +
           (token.get_or(attr::srq, 0) ? ", SRQ" : "");
}

// What is worth knowing of an object, in a few words.
std::string object_text(const nl::Message &token) {
    switch (token.get_or(attr::type, 0)) {
    case DS_TOKEN_PD:
        return format("domain %u", token.get_or(attr::domain, 0));
    case DS_TOKEN_MR:
        return mr_text(token);
    case DS_TOKEN_CQ:
        return cq_text(token);
    default:
        return qp_text(token);
    }
}

bool is_wanted(const Call &call, const nl::Message &token) {
    if (call.has("--type") && call.text("--type") != token_type_name(token.get_or(attr::type, 0)))
        return false;
    if (call.has("--device") && call.text("--device") != token.get_or(attr::device, ""))
        return false;
    if (call.has("--tier") && !is_whole(token))
        throw Error(Exit::permission, "DS-TOK-003", "only administrators see where tokens are",
                    "run it as root, or without --tier");
    return !call.has("--tier") || call.number("--tier") == token.get_or(attr::tier, 0);
}

Row token_row(const nl::Message &token) {
    auto number = token.get(attr::number), slot = token.get(attr::slot);
    auto tier = token.get(attr::tier), uses = token.get(attr::uses);

    return {hex(token.get_or(attr::token, 0)),
            token_type_name(token.get_or(attr::type, 0)),
            token.get_or(attr::device, "?"),
            number ? std::to_string(*number) : "-",
            tier ? format("L%u", *tier) : "-",
            slot ? std::to_string(*slot) : "-",
            uses ? std::to_string(*uses) : "-",
            object_text(token),
            std::to_string(token.get_or(attr::layout, 0)),
            flags_text(token)};
}

void print_times(const std::string &device, const std::string &name, const TokenHistogram &times,
                 Call &call, std::vector<Row> &rows) {
    uint64_t count = count_of(times);
    double p50 = percentile(times, 0.5), p99 = percentile(times, 0.99);
    Json buckets = Json::array();

    for (uint64_t bucket : times)
        buckets.push_back(bucket);
    call.out.respond({{"device", device},
                      {"name", name},
                      {"count", count},
                      {"p50", p50},
                      {"p99", p99},
                      {"buckets", buckets}});
    rows.push_back({device, name, std::to_string(count), count ? ns_text(p50) : "-",
                    count ? ns_text(p99) : "-"});
}

Json parameter_json(const nl::Message &parameter) {
    Json row{{"name", parameter.get_or(attr::name, "?")},
             {"value", parameter.get_or(attr::setting, 0)},
             {"min", parameter.get_or(attr::least, 0)},
             {"max", parameter.get_or(attr::most, 0)},
             {"default", parameter.get_or(attr::normal, 0)},
             {"note", parameter.get_or(attr::reason, "")}};

    if (auto domain = parameter.get(attr::domain))
        row["domain"] = *domain;
    return row;
}

Row parameter_row(const nl::Message &parameter) {
    return {parameter.get_or(attr::name, "?"),
            std::to_string(parameter.get_or(attr::setting, 0)),
            std::to_string(parameter.get_or(attr::least, 0)),
            std::to_string(parameter.get_or(attr::most, 0)),
            std::to_string(parameter.get_or(attr::normal, 0)),
            parameter_note(parameter)};
}

// NAME, or both sides of NAME=VALUE.
std::pair<std::string, std::optional<uint64_t>> parse_setting(const std::string &text) {
    size_t sign = text.find('=');

    if (sign == text.npos)
        return {text, std::nullopt};
    auto value = parse_number(text.substr(sign + 1));
    if (!value || sign == 0)
        throw usage("NAME=VALUE is a parameter and a number, not '" + text + "'",
                    "list the parameters with 'dsctl token set'");
    return {text.substr(0, sign), value};
}

bool is_of_domain(const std::string &name) {
    return name == "SHARE_MIN" || name == "SHARE_MAX";
}

// The module would say so in its own terms. To see what all domains have, none is named.
void check_domain(const std::string &name, bool changed, uint32_t domain) {
    if (changed && is_of_domain(name) && !domain)
        throw usage(name + " is of a trust domain", "add --domain ID");
    if (!name.empty() && !is_of_domain(name) && domain)
        throw usage(name + " is not of a trust domain", "leave --domain out");
}

void change_parameter(Kernel &kernel, const std::string &name, uint64_t value, uint32_t domain) {
    nl::Message request(DS_CMD_TOKEN_SET);

    request.put(attr::name, name).put(attr::setting, value);
    if (domain)
        request.put(attr::domain, domain);
    kernel.call(request, "set " + name);
}

// Its share waits for it; but who mistypes a number should not wait, too.
void warn_if_absent(Call &call, Kernel &kernel, uint32_t domain) {
    auto domains = kernel.dump(DS_CMD_DOMAIN_GET, "list the trust domains");
    auto is_it = [&](const nl::Message &m) { return m.get_or(attr::domain, 0) == domain; };

    if (std::ranges::none_of(domains, is_it))
        call.out.warn(
            format("this host has no trust domain %u: its share is for when it comes", domain));
}

Error no_parameter(const std::string &name, uint32_t domain) {
    if (domain || is_of_domain(name))
        return Error(Exit::not_found, "DS-TOK-004",
                     domain ? format("trust domain %u has no share of L1", domain)
                            : "no trust domain has a share of L1",
                     "give it one: dsctl token set SHARE_MIN=N --domain ID");
    return Error(Exit::not_found, "DS-TOK-005", "there is no parameter '" + name + "'",
                 "list the parameters with 'dsctl token set'");
}

}  // namespace

Exit token_show(Call &call) {
    std::vector<Row> rows;

    Kernel kernel(call);
    std::string only = call.text("--device");
    for (const nl::Message &token : kernel.dump(DS_CMD_TOKEN_GET, "list the tokens")) {
        if (!is_wanted(call, token))
            continue;
        call.out.respond(token_json(token));
        rows.push_back(token_row(token));
    }
    if (rows.empty() && !only.empty() && !read_token_counters(kernel).contains(only))
        throw Error(Exit::not_found, "DS-TOK-001", "there are no tokens of '" + only + "'",
                    "list the RDMA devices with 'dsctl dev'");
    call.out.table({{"TOKEN", true},
                    {"TYPE"},
                    {"DEVICE"},
                    {"NUMBER", true},
                    {"TIER"},
                    {"SLOT", true},
                    {"USES", true},
                    {"OBJECT", false, true},
                    {"LAYOUT", true},
                    {"FLAGS"}},
                   rows);
    return Exit::ok;
}

Exit token_stat(Call &call) {
    Kernel kernel(call);
    std::vector<Row> values, times;
    std::string only = call.text("--device");
    auto devices = read_token_counters(kernel);

    if (!only.empty() && !devices.contains(only))
        throw Error(Exit::not_found, "DS-TOK-001", "there are no counters of '" + only + "'",
                    "list the RDMA devices with 'dsctl dev'");
    for (const auto &[device, counters] : devices) {
        if (!only.empty() && device != only)
            continue;
        for (const auto &[name, value] : counters.values) {
            call.out.respond({{"device", device}, {"name", name}, {"value", value}});
            values.push_back({device, name, std::to_string(value)});
        }
        for (const auto &[name, histogram] : counters.times)
            print_times(device, name, histogram, call, times);
    }
    if (call.out.json())
        return Exit::ok;
    call.out.table({{"DEVICE"}, {"COUNTER", false, true}, {"VALUE", true}}, values);
    call.out.line("");
    call.out.table(
        {{"DEVICE"}, {"TIME", false, true}, {"SAMPLES", true}, {"P50", true}, {"P99", true}},
        times);
    return Exit::ok;
}

Exit token_set(Call &call) {
    auto [only, value] = parse_setting(call.text("NAME=VALUE"));
    auto domain = static_cast<uint32_t>(call.number("--domain"));
    std::vector<Row> rows;

    check_domain(only, value.has_value(), domain);
    Kernel kernel(call);
    if (value)
        change_parameter(kernel, only, *value, domain);
    for (const nl::Message &parameter : read_token_parameters(kernel)) {
        if (!only.empty() && parameter.get_or(attr::name, "") != only)
            continue;
        if (domain && parameter.get_or(attr::domain, 0) != domain)
            continue;
        call.out.respond(parameter_json(parameter));
        rows.push_back(parameter_row(parameter));
    }
    // A share that was taken away is not shown any more.
    if (rows.empty() && !value)
        throw no_parameter(only, domain);
    if (value && domain && !rows.empty())
        warn_if_absent(call, kernel, domain);
    if (value)
        call.out.done(call.text("NAME=VALUE") + " is set");
    else
        call.out.table({{"PARAMETER"},
                        {"VALUE", true},
                        {"SMALLEST", true},
                        {"LARGEST", true},
                        {"DEFAULT", true},
                        {"NOTE", false, true}},
                       rows);
    return Exit::ok;
}

}  // namespace dsctl

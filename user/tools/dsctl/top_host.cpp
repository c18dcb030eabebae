// SPDX-License-Identifier: Apache-2.0
// dsctl top: this host, by the dumps and the counters of ds.ko.
#include <algorithm>

#include "clock.hpp"
#include "counters.hpp"
#include "memory.hpp"
#include "space_admin.hpp"
#include "sysfs.hpp"
#include "top.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using Messages = std::vector<nl::Message>;
using Clock = std::chrono::steady_clock;

// What is counted for the module and for each connection, per second.
struct Rate {
    std::string_view name;  // in JSON
    std::vector<std::string_view> counters;
};

const Rate operations{"operations", {"ops_read", "ops_write", "ops_cas", "ops_fetch_add"}};
const Rate read_bytes{"bytes_read", {"bytes_read"}};
const Rate written_bytes{"bytes_written", {"bytes_written"}};
const Rate round_trips{"round_trips", {"chains"}};
const Rate failed{"failed", {"ops_not_executed", "ops_unknown"}};
const Rate messages{"messages", {"msgs_sent", "msgs_received"}};

// A parameter of the module, in MiB; as bytes.
uint64_t limit(const std::string &name) {
    auto line = read_line("/sys/module/ds/parameters/" + name);

    return line ? parse_number(*line).value_or(0) << 20 : 0;
}

std::string count_text(std::optional<double> per_second) {
    if (!per_second)
        return "-";
    return format(*per_second < 10 ? "%.1f" : "%.0f", *per_second);
}

std::string amount_text(std::optional<double> per_second) {
    return per_second ? bytes_text(static_cast<uint64_t>(*per_second)) : "-";
}

bool is_in(const nl::Message &peer) {
    return peer.get_or(attr::passive, 0) != 0;
}

// Whose counters are the connection's; "" before its node is known.
std::string owner_of(const nl::Message &peer) {
    uint32_t node = peer.get_or(attr::node, 0);

    return node ? format("%s %u", is_in(peer) ? "host" : "peer", node) : "";
}

class Host : public TopSource {
public:
    explicit Host(const Call &call) : kernel_(call) {}

    void sample() override;
    View view(Order order) const override;
    Json json() const override;

private:
    std::optional<double> per_second(const std::string &owner, const Rate &rate) const;
    Json rates_json(const std::string &owner, bool in) const;
    uint64_t exported() const;
    std::string operations_text() const;
    std::string memory_text() const;
    std::string connected_text() const;
    Panel peers(Order order) const;
    Panel segments() const;
    Panel servers() const;
    Panel programs() const;

    Kernel kernel_;
    nl::Message node_{DS_CMD_NODE_GET};
    Messages peers_, segments_, spaces_, servers_, files_;
    CounterMap before_, counters_;
    std::string stamp_;
    std::optional<Clock::time_point> time_;
    std::optional<double> seconds_;  // since the sample before
};

void Host::sample() {
    Clock::time_point now = Clock::now();

    before_ = std::move(counters_);
    counters_.clear();
    for (const auto &[key, value] : read_counters(kernel_))
        counters_[key] = value;
    if (time_)
        seconds_ = std::chrono::duration<double>(now - *time_).count();
    time_ = now;
    stamp_ = timestamp();
    node_ = kernel_.call(nl::Message(DS_CMD_NODE_GET), "read the node");
    peers_ = kernel_.dump(DS_CMD_PEER_GET, "list the peers");
    segments_ = kernel_.dump(DS_CMD_SEG_GET, "list the segments");
    spaces_ = kernel_.dump(DS_CMD_SPACE_GET, "list the spaces");
    servers_ = kernel_.dump(DS_CMD_ATTACH_GET, "list the servers of spaces");
    files_ = kernel_.dump(DS_CMD_FILE_GET, "list the open files");
}

std::optional<double> Host::per_second(const std::string &owner, const Rate &rate) const {
    uint64_t sum = 0;

    if (!seconds_)
        return std::nullopt;
    for (std::string_view name : rate.counters) {
        CounterKey key(owner, name);
        auto now = counters_.find(key);
        auto grown = now == counters_.end() ? std::nullopt : growth(before_, key, now->second);
        if (!grown)
            return std::nullopt;
        sum += *grown;
    }
    return static_cast<double>(sum) / *seconds_;
}

// Operations are counted where they begin: a connection that came in has none.
Json Host::rates_json(const std::string &owner, bool in) const {
    Json rates = Json::object();
    auto add = [&](const Rate &rate) { rates[rate.name] = or_null(per_second(owner, rate)); };

    if (!in)
        for (const Rate *rate : {&operations, &read_bytes, &written_bytes, &round_trips, &failed})
            add(*rate);
    add(messages);
    return rates;
}

uint64_t Host::exported() const {
    uint64_t bytes = 0;

    for (const nl::Message &segment : segments_)
        bytes += segment.get_or(attr::length, 0);
    return bytes;
}

Json list_of(const Messages &messages) {
    Json list = Json::array();

    for (const nl::Message &message : messages)
        list.push_back(to_json(message));
    return list;
}

Json Host::json() const {
    Json peers = Json::array();

    for (const nl::Message &peer : peers_) {
        Json row = to_json(peer);
        row["rates"] = rates_json(owner_of(peer), is_in(peer));
        peers.push_back(row);
    }
    return {{"time", stamp_},
            {"seconds", or_null(seconds_)},
            {"node", node_.get_or(attr::node, 0)},
            {"rates", rates_json("module", false)},
            {"memory",
             {{"total", meminfo("MemTotal")},
              {"available", meminfo("MemAvailable")},
              {"exported", exported()},
              {"max_exported", limit("max_seg_mb")},
              {"max_buffers", limit("max_buf_mb")}}},
            {"peers", peers},
            {"segments", list_of(segments_)},
            {"spaces", list_of(spaces_)},
            {"servers", list_of(servers_)},
            {"programs", list_of(files_)}};
}

std::string Host::operations_text() const {
    auto text = [&](const Rate &rate) { return count_text(per_second("module", rate)); };

    return text(operations) + " a second, " + text(round_trips) + " round trips, " + text(failed) +
           " failed; read " + amount_text(per_second("module", read_bytes)) + ", written " +
           amount_text(per_second("module", written_bytes));
}

std::string Host::memory_text() const {
    uint64_t most = limit("max_seg_mb");

    return bytes_text(meminfo("MemAvailable")) + " of " + bytes_text(meminfo("MemTotal")) +
           " available; exported " + bytes_text(exported()) +
           (most ? " of at most " + bytes_text(most) : "");
}

std::string Host::connected_text() const {
    auto up = std::ranges::count_if(
        peers_, [](const nl::Message &peer) { return peer.state_name() == "up"; });

    return format("%td of %zu connections up", up, peers_.size());
}

Panel Host::peers(Order order) const {
    std::vector<std::pair<double, Row>> rows;
    Panel panel{.title = "Peers, a second",
                .columns = {{"NODE", true},
                            {"ADDRESS", false, true},
                            {"STATE"},
                            {"DIR"},
                            {"RTT", true},
                            {"OPS", true},
                            {"READ", true},
                            {"WRITTEN", true},
                            {"MESSAGES", true}},
                .rows = {}};

    for (const nl::Message &peer : peers_) {
        std::string owner = owner_of(peer), state(peer.state_name());
        auto rate = [&](const Rate &what) {
            return is_in(peer) ? std::nullopt : per_second(owner, what);
        };
        auto rtt = peer.get(attr::rtt_ns);
        double traffic = rate(read_bytes).value_or(0) + rate(written_bytes).value_or(0) +
                         8 * rate(operations).value_or(0);
        rows.push_back({traffic,
                        {owner.empty() ? "?" : std::to_string(peer.get_or(attr::node, 0)),
                         address_of(peer),
                         {state, state_style(state)},
                         is_in(peer) ? "in" : "out",
                         rtt ? ns_text(static_cast<double>(*rtt)) : "-",
                         count_text(rate(operations)),
                         amount_text(rate(read_bytes)),
                         amount_text(rate(written_bytes)),
                         count_text(per_second(owner, messages))}});
    }
    if (order == Order::by_traffic)
        std::ranges::stable_sort(rows, std::greater(), &std::pair<double, Row>::first);
    for (auto &[traffic, row] : rows)
        panel.rows.push_back(std::move(row));
    return panel;
}

Panel Host::segments() const {
    Panel panel{.title = "Segments that this host exports",
                .columns = {{"SEGMENT", true},
                            {"NAME", false, true},
                            {"LENGTH", true},
                            {"DOMAIN", true},
                            {"ACCESS"},
                            {"ATTACHED", true}},
                .rows = {}};

    for (const nl::Message &segment : segments_)
        panel.rows.push_back({std::to_string(segment.get_or(attr::segment, 0)),
                              segment.get_or(attr::name, ""),
                              bytes_text(segment.get_or(attr::length, 0)),
                              std::to_string(segment.get_or(attr::domain, 0)),
                              access_text(segment.get_or(attr::access, 0)),
                              std::to_string(segment.get_or(attr::attached, 0))});
    return panel;
}

Panel Host::servers() const {
    Panel panel{.title = "Memory that this host has attached",
                .columns = {{"SPACE", true},
                            {"SERVER", true},
                            {"STATE"},
                            {"NODE", true},
                            {"SEGMENT", true},
                            {"LENGTH", true},
                            {"ACCESS"}},
                .rows = {}};

    for (const nl::Message &server : servers_) {
        std::string state(server.state_name());
        panel.rows.push_back({std::to_string(server.get_or(attr::space, 0)),
                              std::to_string(server.get_or(attr::server, 0)),
                              {state, state_style(state)},
                              std::to_string(server.get_or(attr::node, 0)),
                              std::to_string(server.get_or(attr::segment, 0)),
                              bytes_text(server.get_or(attr::length, 0)),
                              access_text(server.get_or(attr::access, 0))});
    }
    return panel;
}

Panel Host::programs() const {
    Panel panel{.title = "Programs that have /dev/ds open",
                .columns = {{"PID", true}, {"COMMAND", false, true}, {"USER"}, {"BUFFERS", true}},
                .rows = {}};

    for (const nl::Message &file : files_) {
        auto uid = file.get(attr::uid);
        panel.rows.push_back({std::to_string(file.get_or(attr::pid, 0)),
                              file.get_or(attr::comm, "?"), uid ? user_name(*uid) : "?",
                              std::to_string(file.get_or(attr::bufs, 0))});
    }
    return panel;
}

View Host::view(Order order) const {
    uint32_t node = node_.get_or(attr::node, 0);
    View view{.fields = {{"node", (node ? std::to_string(node) : "not set") + ", " +
                                      connected_text() + ", " + stamp_},
                         {"operations", operations_text()},
                         {"memory", memory_text()}},
              .panels = {peers(order), segments(), servers(), programs()}};

    std::erase_if(view.panels, [](const Panel &panel) { return panel.rows.empty(); });
    return view;
}

}  // namespace

std::unique_ptr<TopSource> watch_host(const Call &call) {
    return std::make_unique<Host>(call);
}

}  // namespace dsctl

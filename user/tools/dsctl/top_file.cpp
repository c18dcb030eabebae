// SPDX-License-Identifier: Apache-2.0
// dsctl top: the pool in a file.
#include <sys/stat.h>

#include <cerrno>
#include <optional>

#include "clock.hpp"
#include "fabric_choice.hpp"
#include "kernel.hpp"
#include "pool/usage.hpp"
#include "remote.hpp"
#include "store/label.hpp"
#include "top.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

using Clock = std::chrono::steady_clock;

// Bytes that the file takes on the disk.
uint64_t disk_bytes(const std::string &path) {
    struct stat status;

    if (stat(path.c_str(), &status) != 0)
        throw local_error(-errno, path);
    return static_cast<uint64_t>(status.st_blocks) * 512;
}

uint64_t extents_of(const ds_extent_tally &tally) {
    return uint64_t{tally.free} + tally.owned + tally.part + tally.full;
}

class File : public TopSource {
public:
    File(const Call &call, const std::string &path)
        : path_(path),
          options_(describe_local(path)),
          map_{options_.servers, options_.server_shift},
          remote_(call, options_.space, DS_ACCESS_READ | (options_.access & DS_ACCESS_ATOMIC)) {}

    void sample() override;
    View view(Order order) const override;
    Json json() const override;

private:
    std::string path_;
    ds_local_options options_;
    Map map_;
    Remote remote_;
    std::optional<ds::pool::Usage> usage_;  // none: the space is no pool
    uint64_t store_ = 0;                    // number of the object store, 0: there is none
    uint64_t disk_ = 0;
    std::string stamp_;
    std::optional<Clock::time_point> time_;
    std::optional<double> seconds_;  // since the sample before
    std::optional<double> growth_;   // of the file on the disk, bytes a second
};

void File::sample() {
    Clock::time_point now = Clock::now();
    uint64_t disk = disk_bytes(path_);
    ds::pool::Usage usage;

    int rc = ds::pool::look_at(remote_.space(), usage);
    if (rc < 0 && rc != -ENOENT && rc != -EINVAL)
        throw from_errno("LOC", -rc,
                         "cannot look at the pool in " + path_ + ": " + clause(ds_strerror(rc)));
    // A space without atomics has no store.
    if (!(options_.access & DS_ACCESS_ATOMIC) || ds::store::read_label(remote_.space(), store_) < 0)
        store_ = 0;
    usage_.reset();
    if (rc == 0)
        usage_ = usage;
    if (time_) {
        seconds_ = std::chrono::duration<double>(now - *time_).count();
        growth_ = (static_cast<double>(disk) - static_cast<double>(disk_)) / *seconds_;
    }
    disk_ = disk;
    time_ = now;
    stamp_ = timestamp();
}

Json File::json() const {
    Json servers = Json::array();

    for (size_t i = 0; usage_ && i < usage_->servers.size(); i++) {
        const ds_extent_tally &tally = usage_->servers[i];
        servers.push_back({{"server", i},
                           {"extents", extents_of(tally)},
                           {"free", tally.free},
                           {"owned", tally.owned},
                           {"part", tally.part},
                           {"full", tally.full}});
    }
    Json pool = nullptr;
    if (usage_)
        pool = {{"clients", usage_->clients},
                {"max_clients", usage_->most_clients},
                {"servers", servers}};
    return {{"time", stamp_},
            {"seconds", or_null(seconds_)},
            {"file", path_},
            {"space", options_.space},
            {"servers", options_.servers},
            {"server_bytes", map_.server_bytes()},
            {"access", access_text(options_.access)},
            {"disk_bytes", disk_},
            {"disk_growth", or_null(growth_)},
            {"store", store_ ? Json(hex(store_)) : Json(nullptr)},
            {"pool", pool}};
}

View File::view(Order) const {
    Panel panel{.title = "Extents",
                .columns = {{"SERVER", true},
                            {"EXTENTS", true},
                            {"FREE", true},
                            {"OWNED", true},
                            {"PART", true},
                            {"FULL", true},
                            {"TAKEN", true}},
                .rows = {}};
    std::string clients = "none: the space holds no pool of trees or objects";
    View view{.fields = {{"file", path_ + ", " + stamp_},
                         {"space", format("%u, %u server(s) of %s, access %s", options_.space,
                                          options_.servers, bytes_text(map_.server_bytes()).c_str(),
                                          access_text(options_.access).c_str())},
                         {"disk",
                          bytes_text(disk_) + (growth_ ? ", growing " + rate_text(*growth_) : "")}},
              .panels = {}};

    if (!usage_) {
        view.fields.emplace_back("clients", clients);
        return view;
    }
    view.fields.emplace_back("clients",
                             format("%u of at most %u", usage_->clients, usage_->most_clients));
    // A store divides the servers in its own way, and only its master knows how.
    if (store_) {
        view.fields.emplace_back("store", hex(store_) + "; 'dsctl obj stat' tells how full it is");
        return view;
    }
    for (size_t i = 0; i < usage_->servers.size(); i++) {
        const ds_extent_tally &tally = usage_->servers[i];
        uint64_t all = extents_of(tally), taken = all - tally.free;
        panel.rows.push_back(
            {std::to_string(i), std::to_string(all), std::to_string(tally.free),
             std::to_string(tally.owned), std::to_string(tally.part), std::to_string(tally.full),
             format("%.1f %%", 100.0 * static_cast<double>(taken) / static_cast<double>(all))});
    }
    view.panels.push_back(panel);
    return view;
}

}  // namespace

std::unique_ptr<TopSource> watch_file(const Call &call, const std::string &path) {
    return std::make_unique<File>(call, path);
}

}  // namespace dsctl

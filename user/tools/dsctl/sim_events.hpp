// SPDX-License-Identifier: Apache-2.0
// The file of --events.
#pragma once

#include <optional>
#include <string>

#include "call.hpp"
#include "file.hpp"
#include "sim/event_log.hpp"

namespace dsctl {

// Throws if it would take the place of the trace or of the result.
void check_events(const Call &call, const std::string &trace);

// To be made when nothing is left that could be refused. Absent unless it is kept.
class EventFile {
public:
    explicit EventFile(const Call &call);
    EventFile(const EventFile &) = delete;
    EventFile &operator=(const EventFile &) = delete;

    // Null: nobody wants it.
    ds::sim::EventLog *log() { return log_ ? &*log_ : nullptr; }

    void keep();

private:
    std::optional<NewFile> file_;
    std::optional<ds::sim::EventLog> log_;
};

}  // namespace dsctl

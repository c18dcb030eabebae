// SPDX-License-Identifier: Apache-2.0
// The verbs of 'dsctl rdm', and what they share: a client of the packet service.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ds/rdm.h>

#include "call.hpp"

namespace dsctl {

// The space --space of the server --to or --node, by --wire.
class RdmClient {
public:
    explicit RdmClient(Call &call);

    bool is_wire1() const { return wire_ == DS_RDM_WIRE_1; }

    // Runs requests. Throws the first failure; what says what was tried, as "read".
    void run(std::span<ds_rdm_request> requests, uint32_t depth, const std::string &what) const;
    ds_rdm_request run(ds_rdm_request request, const std::string &what) const;

    Error failure(const ds_rdm_request &request, const std::string &what) const;

    ds_rdm_counts counts() const;

private:
    std::string who_;  // "10.77.0.2:18529", "node 2"
    uint32_t wire_;
    uint32_t space_;
    std::unique_ptr<ds_fabric, decltype(&ds_fabric_close)> fabric_;
    std::unique_ptr<ds_rdm, decltype(&ds_rdm_close)> rdm_;
};

ds_rdm_request rdm_request(uint32_t opcode, uint64_t address = 0, uint64_t length = 0,
                           void *data = nullptr);

// Memory of the server: what --at names, or a range of its own, given back at the end.
class RdmRange {
public:
    RdmRange(Call &call, const RdmClient &client, uint64_t length);
    ~RdmRange();
    RdmRange(const RdmRange &) = delete;
    RdmRange &operator=(const RdmRange &) = delete;

    uint64_t address() const { return address_; }

private:
    const RdmClient &client_;
    uint64_t address_;
    bool owned_;
};

// "10.77.0.2:18529" as an address in network byte order and a port, 0 if none is given.
std::pair<uint32_t, uint16_t> parse_endpoint(const std::string &text, std::string_view what);

// rdm_admin.cpp
Exit rdm_space_add(Call &call);
Exit rdm_space_del(Call &call);
Exit rdm_space_show(Call &call);
Exit rdm_listen_add(Call &call);
Exit rdm_listen_del(Call &call);
Exit rdm_listen_show(Call &call);
Exit rdm_peer_add(Call &call);
Exit rdm_peer_del(Call &call);
Exit rdm_peer_show(Call &call);
Exit rdm_keygen(Call &call);
Exit rdm_selftest(Call &call);

// rdm_word.cpp
Exit rdm_alloc(Call &call);
Exit rdm_free(Call &call);
Exit rdm_read(Call &call);
Exit rdm_write(Call &call);
Exit rdm_cas(Call &call);
Exit rdm_fetch_add(Call &call);
Exit rdm_ping(Call &call);

// rdm_bench.cpp
Exit rdm_bench(Call &call);

// rdm_replay.cpp
Exit rdm_trace(Call &call);
Exit rdm_replay(Call &call);

}  // namespace dsctl

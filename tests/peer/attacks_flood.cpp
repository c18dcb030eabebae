// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * Very many connection requests without a queue pair behind them.
 */
#include <map>
#include <string>
#include <thread>

#include "attack.hpp"

namespace peer {

namespace {

// What became of a flood's requests.
struct Outcome {
    int accepted = 0, busy = 0, other = 0;
    std::string first_other;
};

/** Requests a window at a time; those that are accepted are left silent. */
class Flood {
public:
    Flood(const Target &t, bool establish) : target_(t), establish_(establish) {
        ds_cm_req req;
        ds_hs_make_req(&req, DS_ROLE_CONTROL, 0, t.group, 0, 0);
        data_ = bytes_of(req);
        to_ = socket_address(t.address.host, t.address.port);
    }
    ~Flood() {
        for (auto &[id, accepted] : ids_)
            rdma_destroy_id(id);
    }

    Outcome run(int count, int window) {
        int begun = 0, done = 0;
        while (done < count) {
            while (begun < count && begun - done < window) {
                begin();
                begun++;
            }
            auto event = channel_.next(Clock::now() + 60s);
            if (!event)
                throw Failed("no request got an answer in 60 s");
            done += take(*event);
        }
        return outcome_;
    }

private:
    void begin() {
        rdma_cm_id *id;
        if (rdma_create_id(channel_.raw(), &id, nullptr, RDMA_PS_TCP) ||
            rdma_resolve_addr(id, nullptr, reinterpret_cast<sockaddr *>(&to_), 5000))
            throw Broken("no more connection ids");
        ids_[id] = false;
    }

    // One event; 1 when it ends a request.
    int take(const CmEvent &event) {
        rdma_conn_param param = connection_parameters(data_, 1, {});
        switch (event.type) {
        case RDMA_CM_EVENT_ADDR_RESOLVED:
            return rdma_resolve_route(event.id, 5000) ? end(event, "no route") : 0;
        case RDMA_CM_EVENT_ROUTE_RESOLVED:
            param.qp_num = next_qp_++ & 0xffffff;
            return rdma_connect(event.id, &param) ? end(event, "no connect") : 0;
        case RDMA_CM_EVENT_CONNECT_RESPONSE:
            if (establish_)
                rdma_establish(event.id);
            outcome_.accepted++;
            ids_[event.id] = true;
            return 1;
        case RDMA_CM_EVENT_REJECTED:
            if (ids_[event.id])  // accepted before, and its time is over
                return 0;
            if (refuses_for(event.data, DS_REJECT_BUSY)) {
                outcome_.busy++;
                forget(event.id);
                return 1;
            }
            return end(event, "refused for another reason than BUSY");
        case RDMA_CM_EVENT_DISCONNECTED:
        case RDMA_CM_EVENT_TIMEWAIT_EXIT:
            return 0;
        default:
            return ids_[event.id] ? 0 : end(event, rdma_event_str(event.type));
        }
    }

    int end(const CmEvent &event, const char *what) {
        outcome_.other++;
        if (outcome_.first_other.empty())
            outcome_.first_other = std::string(what) + ", status " + std::to_string(event.status);
        forget(event.id);
        return 1;
    }

    void forget(rdma_cm_id *id) {
        ids_.erase(id);
        rdma_destroy_id(id);
    }

    const Target &target_;
    bool establish_;
    CmChannel channel_;
    Bytes data_;
    sockaddr_in to_;
    std::uint32_t next_qp_ = 0x100;
    std::map<rdma_cm_id *, bool> ids_;  // and whether they were accepted
    Outcome outcome_;
};

void check(const Outcome &outcome, int most) {
    expect(!outcome.other, std::to_string(outcome.other) +
                               " requests ended otherwise; the first: " + outcome.first_other);
    expect(outcome.accepted > 0 && outcome.accepted <= most,
           std::to_string(outcome.accepted) + " of the requests were accepted, more than " +
               std::to_string(most));
}

void never_hello(const Target &t) {
    auto start = Clock::now();
    Outcome outcome = Flood(t, true).run(t.flood, 64);
    auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - start).count();
    // Each place is free again after 5 s.
    check(outcome, static_cast<int>(64 * (seconds / 5 + 1)));
}

void never_ready(const Target &t) {
    Outcome outcome = Flood(t, false).run(100, 32);
    check(outcome, 64);
}

// The last places of the flood are free after 5 s; until then BUSY is right.
void still_open(const Target &t) {
    for (auto until = Clock::now() + 10s;; std::this_thread::sleep_for(100ms)) {
        try {
            Client client = t.client();
            client.open();
            client.heartbeat();
            return;
        } catch (const Busy &) {
            if (Clock::now() > until)
                throw;
        }
    }
}

const Attack attacks[] = {
    {"100 connects that are never ready to use", "no more than 64 accepted", never_ready},
    {"connects that never say HELLO", "64 at a time; others BUSY", never_hello},
    {"a good client after the floods", "is served", still_open},
};

}  // namespace

std::span<const Attack> flood_attacks() {
    return attacks;
}

}  // namespace peer

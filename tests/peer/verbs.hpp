// SPDX-License-Identifier: Apache-2.0
/**
 * @file
 * RC queue pairs and connections by libibverbs and librdmacm, with a limit to
 * every wait. Not thread-safe; one object, one thread.
 */
#ifndef DSPEER_VERBS_HPP
#define DSPEER_VERBS_HPP

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include <deque>
#include <memory>
#include <optional>
#include <span>

#include "bytes.hpp"

namespace peer {

/** Where to connect to. @p from: local IPv4 address, empty for any. */
struct Address {
    std::string host;
    std::uint16_t port;
    std::string from;
};

/** An event of the connection manager; @p data is its private data. */
struct CmEvent {
    rdma_cm_event_type type;
    int status;
    rdma_cm_id *id;
    Bytes data;
};

/** Events of the connection manager, acknowledged as they are taken. */
class CmChannel {
public:
    CmChannel();
    rdma_event_channel *raw() { return channel_.get(); }
    int fd() const { return channel_->fd; }
    /** The next event, or nothing when there is none until @p until. */
    std::optional<CmEvent> next(Clock::time_point until);

private:
    struct Destroy {
        void operator()(rdma_event_channel *c) const { rdma_destroy_event_channel(c); }
    };
    std::unique_ptr<rdma_event_channel, Destroy> channel_;
};

/** What a queue pair can hold. @p receives: buffers that are posted, 0 for none. */
struct QpSizes {
    unsigned sends = 16;
    unsigned receives = 16;
    std::uint8_t rnr_retries = 7;
};

/** A queue pair on a connection, with its own domain, completions and buffers. */
class Qp {
public:
    /** Bytes of a receive buffer and of a send slot: a message and more. */
    static constexpr std::size_t buffer_size = 8192;

    /**
     * @p pd: a protection domain to share, which must live longer. Throws
     * Withdrawn when @p id is of a connection request that is there no more.
     */
    Qp(rdma_cm_id *id, const QpSizes &sizes, ibv_pd *pd = nullptr);
    ~Qp();
    Qp(const Qp &) = delete;
    Qp &operator=(const Qp &) = delete;

    int fd() const { return events_->fd; }
    std::uint32_t number() const { return id_->qp->qp_num; }

    /** Post a SEND; waits while all slots are taken. False: the queue pair is broken. */
    bool send(std::span<const std::uint8_t> message, ibv_wr_opcode opcode = IBV_WR_SEND,
              std::uint32_t rkey = 0);

    /** The next message that has arrived by @p until. */
    std::optional<Bytes> receive(Clock::time_point until);

    /** Post no receive buffer any more, until start_receiving(). */
    void stop_receiving() { receiving_ = false; }
    void start_receiving();

    /** As send(), but false at once when all slots are taken. */
    bool try_send(std::span<const std::uint8_t> message);

    /** Wait until all sends have ended; IBV_WC_SUCCESS or the first bad status. */
    ibv_wc_status sent(Clock::time_point until);

    /** One one-sided operation, waited for; -1 when it did not end in 20 s. */
    int write(std::uint64_t address, std::uint32_t rkey, std::span<const std::uint8_t> data);
    int read(std::uint64_t address, std::uint32_t rkey, std::span<std::uint8_t> data);
    int compare_swap(std::uint64_t address, std::uint32_t rkey, std::uint64_t compare,
                     std::uint64_t swap, std::uint64_t &old);
    int fetch_add(std::uint64_t address, std::uint32_t rkey, std::uint64_t add, std::uint64_t &old);

private:
    bool poll();
    bool wait(Clock::time_point until);
    void post_receive(std::uint64_t slot);
    void release();
    int one_sided(ibv_send_wr &wr, std::size_t length);

    rdma_cm_id *id_;
    QpSizes sizes_;
    bool receiving_ = true;
    bool shared_;
    ibv_pd *pd_;
    ibv_comp_channel *events_ = nullptr;
    ibv_cq *cq_ = nullptr;
    ibv_mr *mr_ = nullptr;
    Bytes memory_;                         // receive buffers, send slots, a buffer for one-sided
    std::deque<Bytes> arrived_;            // messages not yet asked for
    std::vector<std::uint64_t> unposted_;  // receive slots while nothing is received
    std::vector<std::uint64_t> free_;      // send slots
    std::optional<int> data_status_;       // of the one-sided operation under way
    ibv_wc_status bad_ = IBV_WC_SUCCESS;   // first bad status of a send
};

/** How the other side answered a connection request. */
struct Answer {
    enum Kind { accepted, refused, failed, silent };
    Kind kind;
    int status;  // of the connection manager
    Bytes data;  // private data
};

/** A queue pair that this side connects. */
class Lane {
public:
    /** Resolve the address and make the queue pair; Broken when that cannot be done. */
    explicit Lane(const Address &to, const QpSizes &sizes = {});
    ~Lane();
    Lane(const Lane &) = delete;
    Lane &operator=(const Lane &) = delete;

    /** Ask for the connection with this private data. @p depth: READs in flight. */
    Answer connect(const Bytes &private_data, std::uint8_t depth = 16, Millis limit = 10s);

    /** Whether the other side has closed the connection, waiting until @p until. */
    bool closed(Clock::time_point until);

    /** The next message, unless the connection closes or @p until passes first. */
    std::optional<Bytes> receive(Clock::time_point until);

    void disconnect();
    Qp &qp() { return *qp_; }

private:
    void resolve(const Address &to);

    CmChannel channel_;
    rdma_cm_id *id_ = nullptr;
    QpSizes sizes_;
    std::unique_ptr<Qp> qp_;
    bool closed_ = false;
};

/** Fill in what every connection of the peer uses. */
rdma_conn_param connection_parameters(const Bytes &private_data, std::uint8_t depth,
                                      const QpSizes &sizes);

sockaddr_in socket_address(const std::string &host, std::uint16_t port);

}  // namespace peer

#endif

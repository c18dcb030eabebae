// SPDX-License-Identifier: Apache-2.0
// How packets get to the server and back: by UDP, or in messages to a peer.
#pragma once

#include <cstdint>
#include <span>

namespace ds::rdm {

using Bytes = std::span<const uint8_t>;

/// Errors that may pass are not returned but kept for error(): the packets count as
/// lost, and are sent again in time.
class Link {
public:
    virtual ~Link() = default;

    /// Bytes of the longest packet.
    virtual uint32_t most() const = 0;

    /// Bytes of the longest reply that one request may ask for, if it takes several
    /// packets that is their sum.
    virtual uint32_t most_reply() const = 0;

    /// Puts a packet on its way, the latest at flush(). @p reply: bytes that answer it.
    virtual int send(Bytes packet, uint32_t reply) = 0;
    virtual int flush() = 0;

    /// Waits until @p ns of the monotonic clock for a packet, or several in one piece,
    /// which stay there until the next call. Empty: nothing came.
    virtual int receive(uint64_t ns, Bytes &bytes) = 0;

    /// Forgets the way back: what still comes by it is not seen any more.
    virtual int renew() = 0;

    /// The last error that may pass since something was received, or 0.
    virtual int error() const = 0;

    /// A number of the message that the last packet went into, if the link has such.
    virtual uint64_t message() const { return 0; }

    /// The message that surely did not arrive, when send() or flush() has failed; or 0.
    virtual uint64_t unsent() const { return 0; }
};

}  // namespace ds::rdm

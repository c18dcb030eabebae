// SPDX-License-Identifier: Apache-2.0
// What both ends of a message on the local fabric share: where a port's socket
// is, and the frames that go through it.
//
// A port is a SOCK_SEQPACKET socket PATH.ports/NUMBER beside the pool's file.
// Each packet is a Frame and up to 4096 bytes of payload. A connection carries
// one request at a time: who calls from several threads has several.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fabric/fd.hpp"

namespace ds::fabric {

constexpr size_t local_max_payload = 4096;

struct Frame {
    static constexpr uint32_t known = 0x314d5344;  // "DSM1"
    enum Type : uint32_t {
        request = 1,  // wants a reply
        one_way = 2,
        reply = 3,
        refusal = 4,  // its status says why; the service never saw the message
    };

    uint32_t magic = known;
    uint32_t type = 0;
    int32_t status = 0;
    uint32_t reserved = 0;
};
static_assert(sizeof(Frame) == 16);

/// Sends one packet, without waiting. 0 or a negative errno.
int send_frame(int fd, const Frame &frame, std::span<const std::byte> payload);

/// Takes one packet, without waiting. Bytes of the payload, or -EPIPE: the other
/// end is gone; -EPROTO: it is no packet of ours; or what recvmsg(2) says.
ssize_t receive_frame(int fd, Frame &frame, std::span<std::byte> payload);

/// Waits until @p fd is ready for @p events. 0, or -ETIMEDOUT at @p deadline (ns).
int wait_for(int fd, short events, uint64_t deadline);

/// The folder PATH.ports of the sockets.
class PortFolder {
public:
    /// @p path of the pool's file, whatever the working directory will be.
    static int locate(const char *path, PortFolder &folder);

    /// Opens it. -ENOENT: there is none.
    int open(Fd &fd) const;

    /// Makes it if there is none, for those who may open the pool (@p mode), and opens it.
    int make(mode_t mode, Fd &fd) const;

    /// A name for bind(2) and connect(2), however long the path is.
    static std::string socket_of(const Fd &folder, uint32_t port);

private:
    std::string path_;
};

/// A new socket for a port; not blocking.
int make_socket(Fd &fd);

/// bind(2) or connect(2) to that name. 0 or a negative errno.
int bind_to(const Fd &fd, const std::string &name);
int connect_to(const Fd &fd, const std::string &name);

}  // namespace ds::fabric

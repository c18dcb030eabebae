// SPDX-License-Identifier: Apache-2.0
#include "rdm/reason.hpp"

#include <cerrno>
#include <iterator>

#include <ds/rdm.h>

namespace ds::rdm {
namespace {

struct Entry {
    int code;
    const char *sentence;
    const char *remedy;
};

// By enum ds_packet_status.
constexpr Entry table[] = {
    {0, "Success.", ""},
    {-EPROTO, "The server finds that the request's fields do not fit together.",
     "Run the same release of DS on both hosts."},
    {-EOPNOTSUPP, "The server does not know the operation.",
     "Update ds.ko on the server; `dsctl version` shows its version."},
    {-ENOENT, "The server has no such space for this tenant and host.",
     "Compare space and tenant with `dsctl rdm space show` and `dsctl rdm peer show` on the "
     "server."},
    {-EACCES, "The space or the allocation does not allow it.",
     "Allocate with the access that is needed; `dsctl rdm space show` on the server shows what "
     "the space allows."},
    {-ERANGE, "The range is not within one allocation.",
     "Use addresses that an ALLOC gave, up to the length that was asked for."},
    {-EINVAL, "The length is 0, or more than the server takes.",
     "Ask for at most 64 KiB a request, and allocate at least one byte."},
    {-EINVAL, "The word of an atomic operation is not aligned.", "Use an address divisible by 8."},
    {-ENOSPC, "The pool or its addresses are used up.",
     "Free what is not needed, or make a larger space; `dsctl rdm space show` on the server "
     "shows what is free."},
    {-ENOMEM, "The server has no memory for its own tables.", "Free memory on the server."},
    {-EOPNOTSUPP, "The space has no file behind it, so nothing can be stored lastingly.",
     "Make the segment on the server with `dsctl seg add --file`."},
    {-EIO, "The server could not write the file behind the space.",
     "Look at the kernel log of the server and at the file system of the file."},
    {-ECONNRESET, "The server restarted, or has ended the session.",
     "For atomics and writes first find out whether they happened."},
    {-EPROTO, "The server has answered that sequence number for another request.",
     "Run the same release of DS on both hosts."},
    {-EBUSY, "The server has too many sessions or unfinished writes.",
     "Try again later, or end other clients."},
    {-EMSGSIZE, "Request or reply does not fit into a packet of the server's link.",
     "Give both hosts the same MTU, or ask for less."},
};
static_assert(std::size(table) == DS_PACKET_STATUS_COUNT);

constexpr Entry unknown{-EPROTO, "The server gave a status that DS does not use.",
                        "Run the same release of DS on both hosts."};

const Entry &find(uint32_t reason) {
    return reason < std::size(table) ? table[reason] : unknown;
}

}  // namespace

int errno_of(uint32_t reason) {
    return find(reason).code;
}

}  // namespace ds::rdm

const char *ds_rdm_strerror(uint32_t reason) {
    return ds::rdm::find(reason).sentence;
}
const char *ds_rdm_remedy(uint32_t reason) {
    return ds::rdm::find(reason).remedy;
}

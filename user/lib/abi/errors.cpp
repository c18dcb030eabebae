// SPDX-License-Identifier: Apache-2.0
// Sentences and remedies for the errno dictionary of docs/uapi.md.
#include "abi/errors.hpp"

#include <cerrno>

namespace ds {
namespace {

struct Entry {
    int code;
    bool transient;
    const char *name;
    const char *sentence;
    const char *remedy;
};

#define E(code, transient, sentence, remedy) \
    { code, transient, #code, sentence, remedy }
constexpr bool Passes = true;
constexpr bool Stays = false;

// "Passes": the same operation, tried again later, may succeed.
constexpr Entry table[] = {
    {0, Stays, "OK", "Success.", ""},
    E(EPERM, Stays, "Only an administrator may do this.",
      "Run it as root, or with CAP_NET_ADMIN for configuration and CAP_SYS_ADMIN for failpoints."),
    E(ENOENT, Stays, "Nothing has this number or name.",
      "List what exists with `dsctl space show`, `dsctl peer show` or `dsctl seg show`; of a file, "
      "check its name and its folder."),
    E(EINTR, Stays, "A signal ended the wait.", "Call again if the program is to go on."),
    E(EIO, Stays, "The transfer failed.",
      "Look at `dsctl stat show` and the kernel log on both hosts for the device's error."),
    E(ENXIO, Stays, "No memory is attached at this address.",
      "Attach a segment to this server of the space with `dsctl seg attach`."),
    E(E2BIG, Stays, "A buffer, an array or a chain is longer than this module takes.",
      "Divide it, or load ds.ko with a larger max_buf_mb for buffers or sq_size for chains; if the "
      "program is newer than ds.ko, update the module."),
    E(EBADF, Stays, "This open file never gave out that handle.",
      "Use handles only with the fabric that they came from."),
    E(EAGAIN, Passes, "There is no room or no data at the moment.",
      "Consume completions, then try again."),
    E(ENOMEM, Stays, "There is not enough memory.",
      "Raise `ulimit -l` or the memory cgroup's limit, or use less memory."),
    E(EACCES, Stays, "The object does not grant this access.",
      "Ask for fewer rights, or have the administrator grant them; /dev/ds needs membership in "
      "the group ds."),
    E(EFAULT, Stays, "A pointer does not lead to memory of the right kind.",
      "Pass memory that is mapped, and writable where the kernel writes."),
    E(EBUSY, Passes, "Something still uses it, or its queue is full.",
      "Stop its users first, or try again later; `dsctl module holders` names them."),
    E(EXDEV, Stays, "A chain of operations leaves its memory server.",
      "Give each chain addresses of one server of one space."),
    E(EEXIST, Stays, "There is one already.",
      "Use the existing one, choose another number, or delete it first."),
    E(ENODEV, Passes, "A device is missing: /dev/ds of the kernel module, or the RDMA device.",
      "If there is no /dev/ds, load ds.ko; else check `rdma link show`, operations work again when "
      "the device is back."),
    E(EINVAL, Stays, "An argument has a value that is not allowed.",
      "Compare the arguments with the ranges in ds/ds.h and docs/uapi.md."),
    E(EMFILE, Stays, "The process has too many open files.", "Raise `ulimit -n`."),
    E(ENOTTY, Stays, "This kernel module does not know the call.",
      "Update ds.ko; `dsctl version` shows the versions of both sides."),
    E(EFBIG, Stays, "The segment is longer than a server of the space.",
      "Make a space of larger servers with `dsctl space add ID --size BYTES`, or export less."),
    E(ENOSPC, Stays, "There is no space left in the pool, or no number for another object.",
      "Delete what is not needed, or make a larger pool; numbers of ds.ko come back when it is "
      "loaded anew."),
    E(EROFS, Passes, "The master of the store cannot write its metadata.",
      "Make room in the file system of dsmasterd's folder; what is stored can be read."),
    E(EBADMSG, Stays, "The data are damaged: a node of a tree, or an object in every replica.",
      "Store them anew; `dsctl tree check` and `dsctl obj check` show what is damaged."),
    E(ERANGE, Stays, "The address is outside of the space.",
      "Stay within base and last address of the space; `dsctl addr explain` shows where an "
      "address lies."),
    E(EPROTO, Stays, "The other side answered in a way that the protocol does not allow.",
      "Run the same release of DS on all hosts."),
    E(ENODATA, Stays, "The memory is lost: its host restarted or deleted the segment.",
      "Attach a new segment with `dsctl seg attach`, and write the data anew."),
    E(EOVERFLOW, Stays, "A value does not fit into its field.",
      "Use a smaller value; docs/uapi.md has the widths."),
    E(EREMOTEIO, Stays, "The remote host refused the operation.",
      "Check that the segment is still exported there and grants this access."),
    E(EMSGSIZE, Stays, "The message is longer than the room for it.",
      "Give a larger buffer, or send at most max_msg_bytes of struct ds_limits."),
    E(EOPNOTSUPP, Stays, "This kernel module does not offer the feature.",
      "Update ds.ko, or do without the flag, opcode or type."),
    E(EAFNOSUPPORT, Stays, "The address is of a kind that the device cannot use.",
      "Give an IPv4 or IPv6 address of the same kind as the RDMA device's own."),
    E(EADDRINUSE, Stays, "Another program has bound this service port.",
      "Choose another port between 0x100 and 0xffff, or stop that program."),
    E(EADDRNOTAVAIL, Stays, "No device of this host reaches that address.",
      "Check addresses and routes with `ip route get ADDRESS` and `rdma link show`."),
    E(ENETDOWN, Passes, "The network link is down.",
      "Bring the link up; the operation works again when the peer is connected."),
    E(ENETUNREACH, Passes, "There is no route to the host.", "Check `ip route`."),
    E(ECONNABORTED, Passes, "The connection was given up.",
      "Wait until `dsctl peer show` shows the peer as up."),
    E(ECONNRESET, Passes, "The connection broke.",
      "Wait until `dsctl peer show` shows the peer as up; for atomics and writes first find out "
      "whether they happened."),
    E(ENOBUFS, Stays, "Events were lost because they were read too slowly.",
      "Read the whole state again, then go on with events."),
    E(ENOTCONN, Passes, "The peer is not connected.",
      "Check the peer with `dsctl peer show`; it reconnects by itself when it is reachable."),
    E(ESHUTDOWN, Stays, "The object is being shut down, or others have fenced this client.",
      "Open it again."),
    E(EUSERS, Stays, "The pool has no number for another client.",
      "End a program that uses the pool, or make a pool of larger servers."),
    E(ENOTEMPTY, Stays, "There are keys in the tree already.",
      "Load into a tree that was just made, or put the keys one by one."),
    E(ETIMEDOUT, Passes, "The time limit passed before the end.",
      "Check the peer with `dsctl peer show`, or allow more time."),
    E(EINPROGRESS, Stays, "The operation has not ended yet.",
      "Wait for its completion in the ring."),
    E(ECONNREFUSED, Stays, "The other side refused.",
      "For a message: start the program that serves the port. For a peer: compare node number, "
      "group, domain and key on both hosts."),
    E(EHOSTDOWN, Passes, "The host does not answer.",
      "Start it, or wait until `dsctl peer show` shows the peer as up."),
    E(EHOSTUNREACH, Passes, "The host cannot be reached.",
      "Check the network between the hosts with ping and `rdma link show`."),
    E(ESTALE, Stays, "The object is closed, or its data is gone since the host restarted.",
      "Open or attach it again; data that was there must be written anew."),
    E(EDQUOT, Stays, "A limit is reached: of this open file, of this host, or of the other host.",
      "Close or delete what is not needed, or load ds.ko with a larger max_buf_mb (buffers), "
      "max_seg_mb (segments), or max_attaches on the other host."),
    E(ECANCELED, Passes,
      "It did not run: an earlier operation of its chain failed, or the file was closed.",
      "Look at the first failed operation of the chain."),
    E(EKEYREVOKED, Stays, "The owner of the memory has revoked the access.",
      "Attach the segment again with `dsctl seg attach`."),
};
#undef E

constexpr Entry unknown{-1, Stays, "UNKNOWN", "An error that DS does not use.",
                        "errno(3) explains the number."};

const Entry &find(int code) {
    for (const Entry &entry : table)
        if (code == entry.code || code == -entry.code)
            return entry;
    return unknown;
}

}  // namespace

bool is_transient(int code) {
    return find(code).transient;
}

}  // namespace ds

const char *ds_strerror(int code) {
    return ds::find(code).sentence;
}
const char *ds_remedy(int code) {
    return ds::find(code).remedy;
}
const char *ds_errname(int code) {
    return ds::find(code).name;
}

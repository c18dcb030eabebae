// SPDX-License-Identifier: Apache-2.0
// A /dev/ds inside the test program: open(), ioctl(), mmap() and poll() are
// interposed for it, every argument is checked as the contract in ds/ioctl.h
// says, and operations run on a piece of memory. A test scripts what goes
// wrong.
//
// Include it in one file of the test program only.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include <ds/ioctl.h>

namespace fake {

// How a test wants an operation to end.
struct End {
    int status;
    int outcome;
    bool happen = false;  // whether it also acts on the memory
};

// One call of DS_IOC_SUBMIT, as the device saw it.
struct Submit {
    bool async;
    uint32_t timeout_ms;
    uint32_t patience_ms;
    std::vector<ds_op> ops;
};

class Device {
public:
    static constexpr uint32_t servers = 4;
    static constexpr uint32_t shift = 24;
    static constexpr uint64_t base = 0x10000000;

    // What a test sets.
    ds_ioc_info info{};
    int open_errno = 0;
    int mmap_errno = 0;
    uint32_t ring_start = 0;        // where head and tail begin
    uint32_t queue_room = ~0u;      // operations that may be in flight
    bool hold = false;              // asynchronous operations wait for complete()
    std::function<bool(const ds_op &)> is_slow;  // with a patience these wait for it, too
    std::deque<int> submit_errors;  // what the next calls fail with; 0 to succeed
    std::function<std::optional<End>(const ds_op &)> on_op;
    std::function<int(ds_ioc_msg_send &)> on_send;
    std::function<int(ds_ioc_msg_recv &)> on_receive;

    // What a test looks at.
    std::vector<Submit> submits;
    std::vector<ds_ioc_seg_create> segments;
    std::vector<ds_ioc_msg_reply> replies;

    void reset() {
        std::lock_guard guard(lock_);
        if (!handles_.empty())
            die("handles were left open");
        info = {};
        info.out_abi = DS_ABI_VERSION;
        info.out_node = 7;
        info.out_max_ops = 64;
        info.out_max_chain = 8;
        info.out_max_op_bytes = 1 << 20;
        info.out_max_msg_bytes = 4096;
        info.out_max_buf_bytes = 1 << 30;
        open_errno = mmap_errno = 0;
        ring_start = 0;
        queue_room = ~0u;
        hold = false;
        is_slow = nullptr;
        submit_errors.clear();
        on_op = nullptr;
        on_send = nullptr;
        on_receive = nullptr;
        submits.clear();
        segments.clear();
        replies.clear();
        waiting_.clear();
        memset_space();
    }

    uint8_t *memory(uint64_t addr) { return space_ + (addr - base); }

    // Ends up to n held operations, in order; returns how many.
    size_t complete(size_t n = SIZE_MAX) {
        std::lock_guard guard(lock_);
        size_t done = 0;
        for (; done < n && !waiting_.empty(); done++) {
            post(run_one(waiting_.front()));
            waiting_.pop_front();
        }
        return done;
    }

    size_t in_flight() {
        std::lock_guard guard(lock_);
        return waiting_.size();
    }

    // ---- The interposed calls ----

    // Open files; the thread sanitizer makes system calls before it can be asked
    // about locks.
    static inline int opened = 0;

    __attribute__((no_sanitize("thread"))) bool is(int fd) {
        return __atomic_load_n(&opened, __ATOMIC_RELAXED) > 0 && known(fd);
    }
    bool known(int fd) {
        std::lock_guard guard(lock_);
        return files_.count(fd) > 0;
    }

    int open() {
        if (open_errno)
            return errno = open_errno, -1;
        std::lock_guard guard(lock_);
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        need(fd >= 0, "cannot make the device");
        if (files_.empty()) {
            memory_ = memfd_create("fake-ds", MFD_CLOEXEC);
            need(memory_ >= 0 && ftruncate(memory_, off_t{1} << 31) == 0, "no memory");
            next_offset_ = 0;
        }
        files_.insert(fd);
        __atomic_store_n(&opened, files_.size(), __ATOMIC_RELAXED);
        return fd;
    }

    void closed(int fd) {
        std::lock_guard guard(lock_);
        files_.erase(fd);
        __atomic_store_n(&opened, files_.size(), __ATOMIC_RELAXED);
        if (fd == ring_fd_) {
            munmap(ring_, ring_bytes_);
            ring_ = nullptr;
            ring_fd_ = -1;
        }
        if (files_.empty())
            ::syscall(SYS_close, memory_);
    }

    void *map(size_t length, int prot, int flags, off_t offset) {
        if (mmap_errno)
            return errno = mmap_errno, MAP_FAILED;
        if (!(flags & MAP_SHARED))
            die("mmap without MAP_SHARED");
        return sys_mmap(length, prot, flags, memory_, offset);
    }

    // The eventfd is readable while the ring holds a completion.
    void refresh() {
        std::lock_guard guard(lock_);
        uint64_t n;
        if (!ring_)
            return;
        while (::read(ring_fd_, &n, sizeof(n)) > 0) {
        }
        if (used() > 0)
            signal();
    }

    int ioctl(int fd, unsigned long request, void *arg) {
        switch (request) {
        case DS_IOC_INFO:
            return get_info(as<ds_ioc_info>(arg));
        case DS_IOC_SPACE_OPEN:
            return open_space(as<ds_ioc_space_open>(arg));
        case DS_IOC_CLOSE:
            return close(as<ds_ioc_close>(arg));
        case DS_IOC_BUF_CREATE:
            return create_buffer(as<ds_ioc_buf_create>(arg));
        case DS_IOC_BUF_PIN:
            return pin(as<ds_ioc_buf_pin>(arg));
        case DS_IOC_SEG_CREATE:
            return create_segment(as<ds_ioc_seg_create>(arg));
        case DS_IOC_RING_CREATE:
            return create_ring(fd, as<ds_ioc_ring_create>(arg));
        case DS_IOC_SUBMIT:
            return submit(as<ds_ioc_submit>(arg));
        case DS_IOC_SERVICE_BIND:
            return bind(as<ds_ioc_service_bind>(arg));
        case DS_IOC_MSG_SEND:
            return on_send(as<ds_ioc_msg_send>(arg));
        case DS_IOC_MSG_RECV:
            need(as<ds_ioc_msg_recv>(arg).flags == 0, "flags");
            return on_receive(as<ds_ioc_msg_recv>(arg));
        case DS_IOC_MSG_REPLY:
            replies.push_back(as<ds_ioc_msg_reply>(arg));
            return 0;
        }
        return -ENOTTY;
    }

private:
    [[noreturn]] static void die(const char *what) {
        fprintf(stderr, "fake /dev/ds: %s\n", what);
        abort();
    }
    static void need(bool ok, const char *what) {
        if (!ok)
            die(what);
    }
    template <class T>
    static T &as(void *arg) {
        T &t = *static_cast<T *>(arg);
        need(t.size == sizeof(T), "size is not that of the struct");
        return t;
    }
    static void *sys_mmap(size_t length, int prot, int flags, int fd, off_t offset) {
        return reinterpret_cast<void *>(
            ::syscall(SYS_mmap, nullptr, length, prot, flags, fd, offset));
    }

    void memset_space() {
        size_t bytes = size_t{servers} << shift;
        if (space_)
            madvise(space_, bytes, MADV_DONTNEED);
        else
            space_ = static_cast<uint8_t *>(sys_mmap(
                bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    }

    struct Object {
        uint32_t type;
        uint8_t *at;
        uint64_t length;
    };

    uint32_t add(uint32_t type, uint8_t *at = nullptr, uint64_t length = 0) {
        uint32_t handle = 1u << 20 | next_handle_++;
        handles_[handle] = {type, at, length};
        return handle;
    }

    int get_info(ds_ioc_info &arg) {
        need(arg.flags == 0, "flags");
        uint32_t size = arg.size;
        arg = info;
        arg.size = size;
        return 0;
    }

    int open_space(ds_ioc_space_open &arg) {
        std::lock_guard guard(lock_);
        need(arg.flags == 0 && arg.reserved == 0, "reserved");
        if (arg.space != 1)
            return -ENOENT;
        if (arg.access == 0)
            return -EINVAL;
        arg.out_handle = add(DS_HANDLE_SPACE);
        arg.out_servers = servers;
        arg.out_server_shift = shift;
        arg.out_base = base;
        arg.out_last = base + (uint64_t{servers} << shift) - 1;
        return 0;
    }

    int close(ds_ioc_close &arg) {
        std::lock_guard guard(lock_);
        need(arg.flags == 0, "flags");
        auto it = handles_.find(arg.handle);
        need(it != handles_.end() && it->second.type == arg.type, "close of a bad handle");
        if (it->second.at && it->second.type == DS_HANDLE_BUF && mapped_.erase(arg.handle))
            munmap(it->second.at, it->second.length);
        handles_.erase(it);
        return 0;
    }

    int create_buffer(ds_ioc_buf_create &arg) {
        std::lock_guard guard(lock_);
        need(arg.flags == 0 && arg.length % 4096 == 0 && arg.length, "buffer length");
        arg.out_mmap_offset = next_offset_;
        next_offset_ += arg.length;
        void *at = sys_mmap(arg.length, PROT_READ | PROT_WRITE, MAP_SHARED, memory_,
                            static_cast<off_t>(arg.out_mmap_offset));
        arg.out_handle = add(DS_HANDLE_BUF, static_cast<uint8_t *>(at), arg.length);
        mapped_.insert(arg.out_handle);
        return 0;
    }

    int pin(ds_ioc_buf_pin &arg) {
        std::lock_guard guard(lock_);
        need(arg.flags == 0 && arg.reserved == 0, "reserved");
        if (arg.addr % 4096 || arg.length % 4096 || !arg.length)
            return -EINVAL;
        arg.out_handle = add(DS_HANDLE_BUF, reinterpret_cast<uint8_t *>(arg.addr), arg.length);
        return 0;
    }

    int create_segment(ds_ioc_seg_create &arg) {
        std::lock_guard guard(lock_);
        segments.push_back(arg);
        arg.out_handle = add(DS_HANDLE_SEG);
        arg.out_segment = 42;
        return 0;
    }

    int bind(ds_ioc_service_bind &arg) {
        std::lock_guard guard(lock_);
        need(arg.flags == 0 && arg.reserved == 0, "reserved");
        if (arg.service < DS_SERVICE_USER_FIRST || arg.queue < 1 || arg.queue > 1024)
            return -EINVAL;
        arg.out_handle = add(DS_HANDLE_SERVICE);
        return 0;
    }

    // ---- Completion ring ----

    int create_ring(int fd, ds_ioc_ring_create &arg) {
        std::lock_guard guard(lock_);
        need(arg.flags == 0 && arg.reserved == 0, "reserved");
        need(arg.entries && !(arg.entries & (arg.entries - 1)), "ring entries");
        if (ring_)
            return -EEXIST;  // this device has one ring, whoever makes it
        ring_fd_ = fd;
        entries_ = arg.entries;
        ring_bytes_ = (sizeof(ds_ring) + entries_ * sizeof(ds_cqe) + 4095) / 4096 * 4096;
        arg.out_mmap_offset = next_offset_;
        arg.out_mmap_length = ring_bytes_;
        next_offset_ += ring_bytes_;
        ring_ = static_cast<ds_ring *>(sys_mmap(ring_bytes_, PROT_READ | PROT_WRITE, MAP_SHARED,
                                                memory_, static_cast<off_t>(arg.out_mmap_offset)));
        ring_->entries = entries_;
        ring_->head = ring_->tail = ring_start;
        return 0;
    }

    uint32_t used() const { return ring_->tail - __atomic_load_n(&ring_->head, __ATOMIC_ACQUIRE); }

    void signal() {
        uint64_t one = 1;
        need(::write(ring_fd_, &one, sizeof(one)) == sizeof(one), "eventfd");
    }

    void post(const ds_cqe &cqe) {
        need(used() < entries_, "the ring overflows");
        ring_->cqes[ring_->tail & (entries_ - 1)] = cqe;
        __atomic_store_n(&ring_->tail, ring_->tail + 1, __ATOMIC_RELEASE);
        signal();
    }

    // ---- Operations ----

    int submit(ds_ioc_submit &arg) {
        std::lock_guard guard(lock_);
        auto *ops = reinterpret_cast<const ds_op *>(arg.ops);
        bool async = arg.flags & DS_SUBMIT_ASYNC;
        need((arg.flags & ~DS_SUBMIT_ASYNC) == 0, "flags");
        need(arg.nr_ops > 0 && arg.nr_ops <= info.out_max_ops, "nr_ops");
        need(!async || (!arg.cqes && !arg.timeout_ms && !arg.patience_ms),
             "asynchronous with cqes or a time");
        need(!arg.patience_ms || ring_, "a patience without a ring");
        need(!(ops[arg.nr_ops - 1].flags & DS_OP_CHAIN), "the last chain has no end");
        submits.push_back({async, arg.timeout_ms, arg.patience_ms, {ops, ops + arg.nr_ops}});
        if (!submit_errors.empty()) {
            int rc = submit_errors.front();
            submit_errors.pop_front();
            if (rc < 0)
                return rc;
        }
        return async ? submit_async(arg, ops) : submit_sync(arg, ops);
    }

    int submit_sync(ds_ioc_submit &arg, const ds_op *ops) {
        auto *cqes = reinterpret_cast<ds_cqe *>(arg.cqes);
        failed_ = false;
        const bool leave = arg.patience_ms && is_slow;
        for (uint32_t i = 0; i < arg.nr_ops; i++) {
            if (leave && is_slow(ops[i])) {
                cqes[i] = {};
                cqes[i].user_data = ops[i].user_data;
                cqes[i].status = -EINPROGRESS;
                cqes[i].outcome = DS_UNKNOWN;
                waiting_.push_back(ops[i]);
            } else {
                cqes[i] = run_one(ops[i]);
            }
        }
        arg.out_accepted = arg.nr_ops;
        return 0;
    }

    int submit_async(ds_ioc_submit &arg, const ds_op *ops) {
        need(ring_, "asynchronous without a ring");
        uint32_t room =
            std::min<size_t>(entries_ - used() - waiting_.size(),
                             queue_room - std::min<size_t>(queue_room, waiting_.size()));
        uint32_t count = std::min(room, arg.nr_ops);
        while (count && ops[count - 1].flags & DS_OP_CHAIN)
            count--;
        for (uint32_t i = 0; i < count; i++)
            waiting_.push_back(ops[i]);
        arg.out_accepted = count;
        if (!hold)
            for (; !waiting_.empty(); waiting_.pop_front())
                post(run_one(waiting_.front()));
        return count ? 0 : -EAGAIN;
    }

    int check(const ds_op &op) {
        auto space = handles_.find(op.space);
        need(space != handles_.end() && space->second.type == DS_HANDLE_SPACE, "op: space");
        need(op.reserved == 0 && op.opcode < DS_OPCODES, "op: reserved");
        need((op.flags & ~(DS_OP_CHAIN | DS_OP_FENCE)) == 0, "op: flags");
        uint64_t at = op.addr - base;
        need(op.length > 0 && at >> shift == (at + op.length - 1) >> shift && at >> shift < servers,
             "op: not within one server");
        if (op.opcode >= DS_OP_CAS) {
            need(op.buf == 0 && op.buf_offset == 0 && op.length == 8 && op.addr % 8 == 0, "atomic");
            return 0;
        }
        need(op.length <= info.out_max_op_bytes, "op: too long");
        auto buf = handles_.find(op.buf);
        need(buf != handles_.end() && buf->second.type == DS_HANDLE_BUF, "op: buffer");
        need(op.buf_offset + op.length <= buf->second.length, "op: outside of the buffer");
        return 0;
    }

    ds_cqe run_one(const ds_op &op) {
        check(op);
        ds_cqe cqe{};
        cqe.user_data = op.user_data;
        cqe.node = static_cast<uint32_t>((op.addr - base) >> shift) + 1;
        std::optional<End> end;
        if (failed_)
            end = End{-ECANCELED, DS_NOT_EXECUTED};
        else if (on_op)
            end = on_op(op);
        if (!end || end->happen)
            act(op, cqe);
        if (end) {
            cqe.status = end->status;
            cqe.outcome = static_cast<uint8_t>(end->outcome);
            cqe.length = end->outcome == DS_EXECUTED ? cqe.length : 0;
        } else {
            cqe.outcome = DS_EXECUTED;
        }
        failed_ = op.flags & DS_OP_CHAIN ? failed_ || cqe.status < 0 : false;
        return cqe;
    }

    void act(const ds_op &op, ds_cqe &cqe) {
        uint8_t *remote = memory(op.addr);
        auto *word = reinterpret_cast<uint64_t *>(remote);
        uint8_t *local = op.buf ? handles_[op.buf].at + op.buf_offset : nullptr;
        cqe.length = op.length;
        switch (op.opcode) {
        case DS_OP_READ:
            memcpy(local, remote, op.length);
            break;
        case DS_OP_WRITE:
            memcpy(remote, local, op.length);
            break;
        case DS_OP_CAS:
            cqe.value = *word;
            if (*word == op.compare_add)
                *word = op.swap;
            break;
        case DS_OP_FETCH_ADD:
            cqe.value = *word;
            *word += op.compare_add;
            break;
        }
    }

    std::mutex lock_;
    std::set<int> files_;
    int memory_ = -1;
    int ring_fd_ = -1;
    uint8_t *space_ = nullptr;
    std::map<uint32_t, Object> handles_;
    std::set<uint32_t> mapped_;
    uint32_t next_handle_ = 1;
    uint64_t next_offset_ = 0;
    ds_ring *ring_ = nullptr;
    size_t ring_bytes_ = 0;
    uint32_t entries_ = 0;
    std::deque<ds_op> waiting_;
    bool failed_ = false;  // an earlier operation of the chain
};

inline Device device;

}  // namespace fake

#define NO_TSAN __attribute__((no_sanitize("thread")))

extern "C" {

NO_TSAN int open(const char *path, int flags, ...) {
    if (strcmp(path, "/dev/ds") == 0)
        return fake::device.open();
    va_list args;
    va_start(args, flags);
    int mode = flags & O_CREAT ? va_arg(args, int) : 0;
    va_end(args);
    return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

NO_TSAN int close(int fd) {
    if (fake::device.is(fd))
        fake::device.closed(fd);
    return static_cast<int>(syscall(SYS_close, fd));
}

NO_TSAN int ioctl(int fd, unsigned long request, ...) noexcept {
    va_list args;
    va_start(args, request);
    void *arg = va_arg(args, void *);
    va_end(args);
    if (!fake::device.is(fd))
        return static_cast<int>(syscall(SYS_ioctl, fd, request, arg));
    int rc = fake::device.ioctl(fd, request, arg);
    return rc < 0 ? (errno = -rc, -1) : rc;
}

NO_TSAN void *mmap(void *at, size_t length, int prot, int flags, int fd, off_t offset) noexcept {
    if (fake::device.is(fd))
        return fake::device.map(length, prot, flags, offset);
    return reinterpret_cast<void *>(syscall(SYS_mmap, at, length, prot, flags, fd, offset));
}

NO_TSAN int poll(pollfd *fds, nfds_t count, int timeout) {
    if (fake::Device::opened)
        fake::device.refresh();
    return static_cast<int>(syscall(SYS_poll, fds, count, timeout));
}

}  // extern "C"

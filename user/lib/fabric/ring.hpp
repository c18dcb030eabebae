// SPDX-License-Identifier: Apache-2.0
// ds::fabric::Ring: the consumer's side of the kernel's completion ring.
// Not thread safe; KernelFabric holds its lock around it.
#pragma once

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>

#include <ds/ioctl.h>

namespace ds::fabric {

class Ring {
public:
    Ring() = default;
    Ring(const Ring &) = delete;
    Ring &operator=(const Ring &) = delete;
    ~Ring() {
        if (ring_)
            munmap(ring_, length_);
    }

    explicit operator bool() const { return ring_; }

    /// Maps what DS_IOC_RING_CREATE made. Returns 0 or a negative errno.
    int map(int fd, const ds_ioc_ring_create &made) {
        void *at = mmap(nullptr, made.out_mmap_length, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        static_cast<off_t>(made.out_mmap_offset));
        if (at == MAP_FAILED)
            return -errno;
        ring_ = static_cast<ds_ring *>(at);
        length_ = made.out_mmap_length;
        mask_ = made.entries - 1;
        head_ = ring_->head;
        return 0;
    }

    /// Calls @p take for each completion and gives its place back to the kernel.
    template <class Take>
    void consume(Take &&take) {
        // Acquire: the completions up to the tail are seen whole.
        uint32_t tail = __atomic_load_n(&ring_->tail, __ATOMIC_ACQUIRE);
        if (head_ == tail)
            return;
        while (head_ != tail)
            take(ring_->cqes[head_++ & mask_]);
        // Release: they are read before the kernel may write there again.
        __atomic_store_n(&ring_->head, head_, __ATOMIC_RELEASE);
    }

private:
    ds_ring *ring_ = nullptr;
    size_t length_ = 0;
    uint32_t mask_ = 0;
    uint32_t head_ = 0;  // our own copy: nobody else may move it
};

}  // namespace ds::fabric

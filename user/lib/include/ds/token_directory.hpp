// SPDX-License-Identifier: Apache-2.0
// libdsuser for C++20: the token directory of this host, read from its mapping
// (ds/directory.h). Header only.
//
//     auto directory = ds::TokenDirectory::open().or_throw();
//     directory.each([&](uint32_t token, ds::TokenWord word) {
//         in_tier[word.tier()]++;
//     });
//
// To read makes no call of the kernel and takes no lock; any number of threads may. Only an
// administrator (CAP_NET_ADMIN) may open it. While it is open, ds.ko cannot be unloaded.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <ds/directory.h>
#include <ds/token.h>
#include <ds/result.hpp>

namespace ds {

/// What the directory says of an index, as it was a moment ago.
class TokenWord {
public:
    explicit constexpr TokenWord(uint64_t bits) : bits_(bits) {}

    constexpr ds_token_state state() const {
        return ds_token_state(bits_ >> DS_WORD_STATE_OFF & DS_WORD_STATE_MAX);
    }
    constexpr ds_token_type type() const {
        return ds_token_type(bits_ >> DS_WORD_TYPE_OFF & DS_WORD_TYPE_MAX);
    }
    constexpr uint32_t generation() const {
        return uint32_t(bits_ >> DS_WORD_GEN_OFF & DS_WORD_GEN_MAX);
    }
    /// Changes with each move and each write; comes round after 1024.
    constexpr uint32_t version() const { return uint32_t(bits_ / DS_WORD_VERSION); }
    constexpr uint32_t uses() const { return uint32_t(bits_ & DS_WORD_USES_MAX); }
    constexpr bool pinned() const { return bits_ & DS_WORD_PINNED; }
    constexpr bool dirty() const { return bits_ & DS_WORD_DIRTY; }

    /// There is a token, and its use may begin. What follows is of such ones only.
    constexpr bool live() const { return state() != DS_TOKEN_FREE && state() != DS_TOKEN_REVOKED; }
    constexpr bool moving() const { return state() > DS_TOKEN_REVOKED; }
    /// Where it can be read: 1 to 3.
    constexpr unsigned tier() const {
        if (!moving())
            return state();
        return field() == DS_FROM_HOME ? 3 : field() < DS_FROM_L2 ? 1 : 2;
    }
    /// Its slot in tier 1 or 2; of L2 page * 1024 + slot of the page.
    constexpr uint32_t slot() const {
        if (tier() == 2)
            return field() & ~DS_FROM_L2;
        return moving() ? field() - DS_FROM_L1 : field();
    }
    constexpr uint32_t handle(uint32_t index) const {
        return uint32_t(type()) << DS_TOKEN_TYPE_OFF | generation() << DS_TOKEN_GEN_OFF |
               index << DS_TOKEN_INDEX_OFF;
    }

private:
    constexpr uint32_t field() const {
        return uint32_t(bits_ >> DS_WORD_SLOT_OFF & DS_WORD_SLOT_MAX);
    }

    uint64_t bits_;
};

class TokenDirectory {
public:
    /// EACCES for who may not open the device, EPERM for who may but is no administrator; ENODEV if
    /// ds.ko is not loaded; EBADF for a ds.ko that has none; EPROTO for one of another version.
    static Result<TokenDirectory> open(const char *device = "/dev/ds") {
        int fd = ::open(device, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            return Error::from(errno == ENOENT || errno == ENXIO ? ENODEV : errno);
        void *at = mmap(nullptr, DS_DIRECTORY_BYTES, PROT_READ, MAP_SHARED, fd,
                        off_t(DS_DIRECTORY_OFFSET));
        int error = at == MAP_FAILED ? errno : 0;
        close(fd);  // the mapping holds the file
        if (error)
            return Error::from(error);
        TokenDirectory directory(at);
        if (directory.head().version != DS_DIRECTORY_VERSION)
            return Error::from(EPROTO, "ds.ko has a token directory of another version.");
        return directory;
    }

    /// All indices that were ever used are below; it only grows.
    uint32_t end() const {
        // Acquire: the words below are there.
        return __atomic_load_n(&head().end, __ATOMIC_ACQUIRE);
    }

    /// @p index is below some end(); what is beyond cannot be touched (SIGBUS).
    TokenWord word(uint32_t index) const {
        static_assert(__atomic_always_lock_free(sizeof(uint64_t), nullptr), "by one load");
        auto words = reinterpret_cast<const uint64_t *>(at_.get() + DS_DIRECTORY_WORDS);
        return TokenWord(__atomic_load_n(&words[index], __ATOMIC_RELAXED));
    }

    /// Calls @p seen with the handle and the word of each live token. One that is there all the
    /// time is met once.
    template <class Seen>
    void each(Seen &&seen) const {
        for (uint32_t index = 0, last = end(); index < last; index++)
            if (TokenWord found = word(index); found.live())
                seen(found.handle(index), found);
    }

private:
    struct Unmap {
        void operator()(const std::byte *at) const {
            munmap(const_cast<std::byte *>(at), DS_DIRECTORY_BYTES);
        }
    };

    explicit TokenDirectory(void *at) : at_(static_cast<const std::byte *>(at)) {}

    const ds_token_directory &head() const {
        return *reinterpret_cast<const ds_token_directory *>(at_.get());
    }

    std::unique_ptr<const std::byte, Unmap> at_;
};

}  // namespace ds

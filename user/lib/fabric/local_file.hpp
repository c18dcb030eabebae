// SPDX-License-Identifier: Apache-2.0
// ds::fabric::LocalFile: a pool in a file, mapped.
//
//     0        LocalHeader, never changed once the file has its name
//     0x1000   one word for each client number (fabric/local_clients.hpp)
//     0x20000  server 0, server 1, ... each of 2^server_shift bytes
//
// All numbers are little-endian.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "fabric/fd.hpp"

namespace ds::fabric {

/// What a file's pool is like.
struct LocalShape {
    uint32_t space;
    uint32_t servers;
    uint32_t server_shift;
    uint32_t access;
};

class LocalFile {
public:
    /// Client numbers run from 1; word 0 is not used.
    static constexpr uint32_t clients = 8192;

    /// -EEXIST: there is a file. @p mode as for open(2).
    static int create(const char *path, const LocalShape &shape, uint32_t mode);

    /// -EINVAL: not a pool; -ENODATA: cut off; -EOPNOTSUPP: of a newer version.
    static int inspect(const char *path, LocalShape &shape);

    /// Maps it, for reading only if the file's permissions want that.
    static int open(const char *path, std::unique_ptr<LocalFile> &file);

    LocalFile(const LocalFile &) = delete;
    LocalFile &operator=(const LocalFile &) = delete;
    ~LocalFile();

    const LocalShape &shape() const { return shape_; }
    bool writable() const { return writable_; }
    int fd() const { return fd_.get(); }

    /// First byte of the memory of server 0; the others follow.
    std::byte *memory() const;
    uint64_t *client_word(uint32_t client) const;

private:
    LocalFile() = default;

    static int open_and_check(const char *path, LocalFile &file);

    Fd fd_;
    LocalShape shape_{};
    bool writable_ = false;
    std::byte *map_ = nullptr;
    size_t length_ = 0;
};

}  // namespace ds::fabric

// SPDX-License-Identifier: Apache-2.0
#include "fabric/local_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include <ds/ioctl.h>

extern "C" {
#include <rdm/layout.h>
}

namespace ds::fabric {
namespace {

constexpr char magic[8] = {'D', 'S', 'L', 'O', 'C', 'A', 'L', '\n'};
constexpr uint32_t version = 1;

// Names to try for the file while it is made; others are left over from the dead.
constexpr int max_attempts = 100;

constexpr size_t words_offset = 0x1000;
constexpr size_t memory_offset = 0x20000;
static_assert(words_offset + LocalFile::clients * sizeof(uint64_t) <= memory_offset);

struct LocalHeader {
    char magic[8];
    uint32_t version;
    uint32_t space;
    uint32_t servers;
    uint32_t server_shift;
    uint32_t access;
    uint32_t reserved;
    uint64_t file_bytes;
    uint32_t reserved2;
    uint32_t crc;  // CRC32C of all before it
};
static_assert(sizeof(LocalHeader) == 48 && offsetof(LocalHeader, crc) == 44);

uint32_t checksum(const LocalHeader &header) {
    return crc32c(~0u, &header, offsetof(LocalHeader, crc));
}

uint64_t file_bytes(const LocalShape &shape) {
    return memory_offset + (uint64_t{shape.servers} << shape.server_shift);
}

int check_shape(const LocalShape &shape) {
    ds_layout layout{.servers = shape.servers, .server_shift = shape.server_shift};
    if (shape.space == 0 || shape.access == 0 || shape.access & ~DS_ACCESS_ALL)
        return -EINVAL;
    return ds_layout_check(&layout);
}

int check_header(const LocalHeader &header, uint64_t bytes, LocalShape &shape) {
    if (std::memcmp(header.magic, magic, sizeof(magic)) != 0)
        return -EINVAL;
    if (header.version > version)
        return -EOPNOTSUPP;  // how it is checked may have changed too
    if (header.version != version || header.crc != checksum(header))
        return -EINVAL;
    shape = {.space = header.space,
             .servers = header.servers,
             .server_shift = header.server_shift,
             .access = header.access};
    if (check_shape(shape) < 0 || header.file_bytes != file_bytes(shape))
        return -EINVAL;
    if (bytes < header.file_bytes)
        return -ENODATA;
    return bytes > header.file_bytes ? -EINVAL : 0;
}

int fill_file(int fd, const LocalShape &shape) {
    LocalHeader header{};
    std::memcpy(header.magic, magic, sizeof(magic));
    header.version = version;
    header.space = shape.space;
    header.servers = shape.servers;
    header.server_shift = shape.server_shift;
    header.access = shape.access;
    header.file_bytes = file_bytes(shape);
    header.crc = checksum(header);
    if (ftruncate(fd, static_cast<off_t>(header.file_bytes)) < 0)
        return -errno;
    ssize_t written = pwrite(fd, &header, sizeof(header), 0);
    if (written < 0)
        return -errno;
    return written == sizeof(header) ? 0 : -ENOSPC;
}

}  // namespace

// Made under another name, and named by link(2) when it is whole: that fails
// if there is a file.
int LocalFile::create(const char *path, const LocalShape &shape, uint32_t mode) {
    if (check_shape(shape) < 0 || mode & ~07777u)
        return -EINVAL;
    std::string name;
    Fd fd;
    for (int attempt = 0; !fd.open() && (attempt == 0 || errno == EEXIST); attempt++) {
        if (attempt == max_attempts)
            return -EEXIST;
        name = std::string(path) + "." + std::to_string(getpid()) + "." + std::to_string(attempt);
        fd = Fd(::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    }
    if (!fd.open())
        return -errno;
    int rc = fill_file(fd.get(), shape);
    if (rc == 0 && link(name.c_str(), path) < 0)
        rc = -errno;
    unlink(name.c_str());
    return rc;
}

int LocalFile::open_and_check(const char *path, LocalFile &file) {
    // O_NONBLOCK: a FIFO of this name must not make us wait.
    constexpr int flags = O_CLOEXEC | O_NONBLOCK;
    file.fd_ = Fd(::open(path, O_RDWR | flags));
    file.writable_ = file.fd_.open();
    if (!file.writable_ && (errno == EACCES || errno == EROFS))
        file.fd_ = Fd(::open(path, O_RDONLY | flags));
    if (!file.fd_.open())
        return errno == EISDIR ? -EINVAL : -errno;
    struct stat status;
    if (fstat(file.fd_.get(), &status) < 0)
        return -errno;
    LocalHeader header;
    if (!S_ISREG(status.st_mode) ||
        pread(file.fd_.get(), &header, sizeof(header), 0) != sizeof(header))
        return -EINVAL;
    return check_header(header, static_cast<uint64_t>(status.st_size), file.shape_);
}

int LocalFile::inspect(const char *path, LocalShape &shape) {
    LocalFile file;
    int rc = open_and_check(path, file);
    shape = file.shape_;
    return rc;
}

int LocalFile::open(const char *path, std::unique_ptr<LocalFile> &file) {
    std::unique_ptr<LocalFile> made(new LocalFile);
    if (int rc = open_and_check(path, *made); rc < 0)
        return rc;
    made->length_ = file_bytes(made->shape_);
    int access = made->writable_ ? PROT_READ | PROT_WRITE : PROT_READ;
    void *at = mmap(nullptr, made->length_, access, MAP_SHARED | MAP_NORESERVE, made->fd_.get(), 0);
    if (at == MAP_FAILED)
        return -errno;
    made->map_ = static_cast<std::byte *>(at);
    file = std::move(made);
    return 0;
}

LocalFile::~LocalFile() {
    if (map_)
        munmap(map_, length_);
}

std::byte *LocalFile::memory() const {
    return map_ + memory_offset;
}

uint64_t *LocalFile::client_word(uint32_t client) const {
    return reinterpret_cast<uint64_t *>(map_ + words_offset) + client;
}

}  // namespace ds::fabric

// SPDX-License-Identifier: Apache-2.0
#include "keyfile.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "file.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

// The key of a text of hexadecimal digits; empty if it is none.
std::vector<uint8_t> from_hex(const std::string &text, size_t key_bytes) {
    std::vector<uint8_t> key;

    if (text.size() != 2 * key_bytes)
        return {};
    for (size_t i = 0; i < text.size(); i += 2) {
        auto byte = parse_number("0x" + text.substr(i, 2));
        if (!byte)
            return {};
        key.push_back(static_cast<uint8_t>(*byte));
    }
    return key;
}

}  // namespace

std::vector<uint8_t> read_key(const std::string &path, size_t bytes, Output &out) {
    File file(path, O_RDONLY);
    std::string text(2 * bytes + 3, 0);
    text.resize(file.read(text.data(), text.size()));
    std::vector<uint8_t> key;

    if (text.size() == bytes) {
        key.assign(text.begin(), text.end());
    } else {
        text.erase(text.find_last_not_of(" \t\r\n") + 1);
        key = from_hex(text, bytes);
    }
    if (key.empty())
        throw Error(
            Exit::failed, "DS-KEY-001", "'" + path + "' is no such key",
            format("a key file of this kind has %zu bytes or %zu hexadecimal digits; make "
                   "one with '%s'",
                   bytes, 2 * bytes,
                   bytes == domain_key_bytes ? "dsctl node keygen FILE" : "dsctl rdm keygen FILE"));
    // Not before it is known to be one: this is no advice for a file that was named by mistake.
    if (file.mode() & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH))
        out.warn("others can read or change the key in " + path + ": run 'chmod 600 " + path + "'");
    return key;
}

void make_key(const std::string &path, size_t bytes) {
    std::vector<uint8_t> key(bytes);
    std::string text;

    if (getrandom(key.data(), bytes, 0) != static_cast<ssize_t>(bytes))
        throw from_errno("KEY", errno, "the kernel gave no random bytes");
    for (uint8_t byte : key)
        text += format("%02x", byte);
    text += '\n';
    File file(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    file.write(text.data(), text.size());
    file.close();
}

}  // namespace dsctl

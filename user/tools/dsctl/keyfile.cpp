// SPDX-License-Identifier: Apache-2.0
#include "keyfile.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include <ds/netlink.h>

#include "file.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr size_t key_bytes = DS_DOMAIN_KEY_LEN;

// The key of a text of hexadecimal digits; empty if it is none.
std::vector<uint8_t> from_hex(const std::string &text) {
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

std::vector<uint8_t> read_key(const std::string &path, Output &out) {
    File file(path, O_RDONLY);
    char data[2 * key_bytes + 3];
    size_t length = file.read(data, sizeof(data));

    if (file.mode() & (S_IRGRP | S_IROTH | S_IWGRP | S_IWOTH))
        out.warn("others can read or change the key in " + path + ": run 'chmod 600 " + path + "'");
    if (length == key_bytes)
        return std::vector<uint8_t>(data, data + length);
    std::string text(data, length);
    text.erase(text.find_last_not_of(" \t\r\n") + 1);
    std::vector<uint8_t> key = from_hex(text);
    if (key.empty())
        throw Error(Exit::failed, "DS-KEY-001", "'" + path + "' is no domain key",
                    "a key file has 32 bytes or 64 hexadecimal digits; make one with "
                    "'dsctl node keygen FILE'");
    return key;
}

void make_key(const std::string &path) {
    uint8_t key[key_bytes];
    std::string text;

    if (getrandom(key, sizeof(key), 0) != static_cast<ssize_t>(sizeof(key)))
        throw from_errno("KEY", errno, "the kernel gave no random bytes");
    for (uint8_t byte : key)
        text += format("%02x", byte);
    text += '\n';
    File file(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    file.write(text.data(), text.size());
    file.close();
}

}  // namespace dsctl

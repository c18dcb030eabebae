// SPDX-License-Identifier: Apache-2.0
// Why a pool in a file cannot be opened, in the words of dsctl and dsmasterd.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace ds::fabric {

struct LocalReason {
    std::string sentence;
    std::string remedy;  ///< "" if only the errno says one
};

/// @p rc is what opening @p path gave.
inline LocalReason local_reason(int rc, const std::string &path) {
    switch (rc) {
    case -ENOENT:
        return {"there is no file " + path,
                "make it with 'dsctl space create' and the same --fabric"};
    case -EINVAL:
        return {path + " holds no pool, or a damaged one",
                "choose another file, or make a new one with 'dsctl space create'"};
    case -ENODATA:
        return {path + " was cut off: it is shorter than its pool",
                "get a whole copy of it, or make a new one with 'dsctl space create'"};
    case -EOPNOTSUPP:
        return {path + " is of a newer version", "use the programs that made it, or newer ones"};
    case -EACCES:
        return {"cannot open " + path + ": no permission",
                "have its owner change its mode with 'chmod'"};
    case -ENOMEM:
        return {path + " is larger than a process can map",
                "raise 'ulimit -v', or make a smaller pool"};
    default:
        return {"cannot open " + path + ": " + std::strerror(-rc), ""};
    }
}

}  // namespace ds::fabric

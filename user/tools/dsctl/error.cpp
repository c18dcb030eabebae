// SPDX-License-Identifier: Apache-2.0
#include "error.hpp"

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include <ds/error.h>

namespace dsctl {

const std::vector<ExitText> &exit_table() {
    static const std::vector<ExitText> table{
        {Exit::ok, "done"},
        {Exit::failed, "the operation failed"},
        {Exit::usage, "wrong command line"},
        {Exit::unreachable, "the kernel module, a node or the master cannot be reached"},
        {Exit::not_found, "the object does not exist"},
        {Exit::exists, "the object exists already or is busy"},
        {Exit::permission, "no permission"},
        {Exit::unsupported, "the kernel module or the fabric does not support it"},
        {Exit::timeout, "the time limit was reached"},
        {Exit::unhealthy, "a check of 'dsctl doctor' failed, or 'dsctl tree check' found a defect"},
        {Exit::partial, "a part was done, the rest failed"},
        {Exit::unknown, "outcome unknown: the operation may have happened"},
        {Exit::interrupted, "interrupted"},
    };
    return table;
}

namespace {

// Exit codes of the errno dictionary (docs/uapi.md); all others are Exit::failed.
constexpr struct {
    int errnum;
    Exit exit;
} exits[] = {
    {ENXIO, Exit::unreachable},
    {ENODEV, Exit::unreachable},
    {ENOTCONN, Exit::unreachable},
    {ECONNREFUSED, Exit::unreachable},
    {ECONNRESET, Exit::unreachable},
    {ECONNABORTED, Exit::unreachable},
    {EHOSTDOWN, Exit::unreachable},
    {EHOSTUNREACH, Exit::unreachable},
    {ENETDOWN, Exit::unreachable},
    {ENETUNREACH, Exit::unreachable},
    {EADDRNOTAVAIL, Exit::unreachable},
    {EPROTO, Exit::unreachable},
    {ENOENT, Exit::not_found},
    {ESRCH, Exit::not_found},
    {EEXIST, Exit::exists},
    {EBUSY, Exit::exists},
    {EADDRINUSE, Exit::exists},
    {ENOTUNIQ, Exit::exists},
    {EALREADY, Exit::exists},
    {EPERM, Exit::permission},
    {EACCES, Exit::permission},
    {EKEYREJECTED, Exit::permission},
    {EOPNOTSUPP, Exit::unsupported},
    {ENOTTY, Exit::unsupported},
    {ENOSYS, Exit::unsupported},
    {ETIMEDOUT, Exit::timeout},
};

}  // namespace

Exit exit_of(int errnum) {
    for (const auto &row : exits)
        if (row.errnum == errnum)
            return row.exit;
    return Exit::failed;
}

std::string clause(const std::string &sentence) {
    std::string text = sentence;

    while (!text.empty() && (text.back() == '.' || text.back() == '\n'))
        text.pop_back();
    // "The peer" becomes "the peer", "A batch" "a batch", and "RLIMIT_MEMLOCK" stays.
    if (text.size() > 1 && (std::islower(static_cast<unsigned char>(text[1])) || text[1] == ' '))
        text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
}

Error usage(std::string sentence, std::string remedy) {
    return Error(Exit::usage, "DS-USE-001", std::move(sentence), std::move(remedy));
}

Error from_errno(std::string_view area, int errnum, std::string sentence, std::string remedy) {
    char code[32];

    std::snprintf(code, sizeof(code), "DS-%.*s-%03d", static_cast<int>(area.size()), area.data(),
                  errnum);
    if (remedy.empty())
        remedy = clause(ds_remedy(errnum));
    return Error(exit_of(errnum), code, std::move(sentence), std::move(remedy)).with_errno(errnum);
}

std::string errno_text(int errnum) {
    const char *name = strerrorname_np(errnum);

    return clause(strerror(errnum)) + (name ? std::string(" (") + name + ")" : "");
}

}  // namespace dsctl

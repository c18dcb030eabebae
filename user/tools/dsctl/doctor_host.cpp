// SPDX-License-Identifier: Apache-2.0
// doctor: the module, /dev/ds, limits and the kernel's log.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <fstream>

#include "doctor.hpp"
#include "error.hpp"
#include "sysfs.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

constexpr uint64_t useful_memlock = 64 << 20;

void check_version(Findings &findings) {
    auto version = read_line("/sys/module/ds/version");

    if (!exists("/sys/module/ds"))
        findings.push_back({"module", Health::failed, "ds.ko is not loaded",
                            "run 'modprobe ds', or 'insmod ds.ko' after 'modprobe -a rdma_cm "
                            "libcrc32c'; 'dmesg' says why if it fails"});
    else if (version && *version != DSCTL_VERSION)
        findings.push_back({"module", Health::warning,
                            "ds.ko is version " + *version + ", dsctl is " DSCTL_VERSION,
                            "install both from the same release"});
    else
        findings.push_back({"module", Health::ok, "ds.ko " + version.value_or("") + " is loaded"});
}

void check_device_file(Findings &findings) {
    struct stat status;

    if (stat("/dev/ds", &status) != 0) {
        findings.push_back({"/dev/ds", Health::failed, "there is no /dev/ds",
                            "load the module; if it is loaded, see that udev or devtmpfs runs"});
        return;
    }
    std::string detail = format("mode %04o, group %u", status.st_mode & 07777, status.st_gid);
    int fd = open("/dev/ds", O_RDWR | O_CLOEXEC);
    if (fd < 0)
        findings.push_back(
            {"/dev/ds", Health::failed, detail + ": " + errno_text(errno),
             "join the group of /dev/ds ('usermod -aG ds USER', log in again), or be root"});
    else if (status.st_mode & S_IRWXO)
        findings.push_back({"/dev/ds", Health::warning, detail + ": everybody may open it",
                            "run 'chmod 0660 /dev/ds' and set its group to 'ds'"});
    else
        findings.push_back({"/dev/ds", Health::ok, detail});
    if (fd >= 0)
        close(fd);
}

void check_memlock(Findings &findings) {
    rlimit limit;

    getrlimit(RLIMIT_MEMLOCK, &limit);
    if (limit.rlim_cur == RLIM_INFINITY)
        findings.push_back({"memlock", Health::ok, "unlimited"});
    else if (limit.rlim_cur >= useful_memlock)
        findings.push_back({"memlock", Health::ok, bytes_text(limit.rlim_cur)});
    else
        findings.push_back({"memlock", Health::warning,
                            "this shell may pin only " + bytes_text(limit.rlim_cur),
                            "run 'ulimit -l unlimited', or set LimitMEMLOCK= of the service"});
}

// rxe computes the check sum of each packet with it.
void check_crc32(Findings &findings) {
    std::ifstream crypto("/proc/crypto");
    std::string line;

    if (exists("/sys/module/rdma_rxe") && !entries("/sys/class/infiniband").empty()) {
        findings.push_back({"crc32", Health::ok, "soft-RoCE has it"});
        return;
    }
    while (std::getline(crypto, line))
        if (line.substr(0, 4) == "name" && line.substr(line.find_last_of(' ') + 1) == "crc32") {
            findings.push_back({"crc32", Health::ok, "there for soft-RoCE"});
            return;
        }
    findings.push_back({"crc32", Health::warning,
                        "soft-RoCE needs the kernel's crc32, which is not loaded",
                        "run 'modprobe crc32_generic' (or crc32_pclmul) before 'rdma link add'; "
                        "hardware RDMA does not need it"});
}

}  // namespace

void check_module(Findings &findings) {
    check_version(findings);
    check_device_file(findings);
}

void check_limits(Findings &findings) {
    check_memlock(findings);
    check_crc32(findings);
}

bool is_splat(const std::string &record) {
    static constexpr std::string_view signs[] = {
        "BUG:",
        "WARNING: CPU",
        "WARNING: possible",
        "WARNING: suspicious",
        "Oops",
        "kernel BUG at",
        "general protection fault",
        "KASAN:",
        "KFENCE:",
        "UBSAN:",
        "INFO: task ",
        "detected stall",
        "unreferenced object",
        "Kernel panic",
    };

    for (std::string_view sign : signs)
        if (record.find(sign) != std::string::npos)
            return true;
    return false;
}

void check_log(Findings &findings) {
    int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char record[8192];
    std::string first;
    unsigned count = 0;

    if (fd < 0) {
        findings.push_back({"kernel log", Health::skipped, "cannot be read: " + errno_text(errno)});
        return;
    }
    for (;;) {
        ssize_t length = read(fd, record, sizeof(record) - 1);
        if (length < 0 && (errno == EPIPE || errno == EINTR))
            continue;
        if (length <= 0)
            break;
        // "6,1234,5678,-;text", then lines of a dictionary.
        std::string text(record, static_cast<size_t>(length));
        text = text.substr(0, text.find('\n'));
        text = text.substr(text.find(';') + 1);
        if (is_splat(text) && count++ == 0)
            first = text;
    }
    close(fd);
    if (count)
        findings.push_back({"kernel log", Health::failed,
                            std::to_string(count) + " bug(s) or warning(s), the first: " + first,
                            "look at 'dmesg'; report it if it names ds, and restart the host"});
    else
        findings.push_back({"kernel log", Health::ok, "no bug, no warning"});
}

}  // namespace dsctl

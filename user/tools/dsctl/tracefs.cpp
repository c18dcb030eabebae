// SPDX-License-Identifier: Apache-2.0
#include "tracefs.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>

#include "error.hpp"
#include "file.hpp"
#include "sysfs.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

const std::string root = "/sys/kernel/tracing/";
const std::string instances = root + "instances/";
const std::string prefix = "ds-dsctl-";  // and the process

[[noreturn]] void fail(const std::string &what, const std::string &remedy = "") {
    int number = errno;

    throw from_errno("TOK", number, what + ": " + errno_text(number), remedy);
}

// What a recorder left that was killed: it would keep its tracepoints switched on. It may have had
// our number, as in a container; one who is at it cannot be hurt, as his pipes are open.
void remove_left_ones() {
    for (const std::string &name : entries(instances)) {
        if (!name.starts_with(prefix))
            continue;
        auto process = parse_number(name.substr(prefix.size()));
        if (!process)
            continue;
        auto pid = static_cast<pid_t>(*process);
        if (pid == getpid() || (kill(pid, 0) != 0 && errno == ESRCH))
            rmdir((instances + name).c_str());
    }
}

}  // namespace

TraceInstance::TraceInstance(const std::string &event)
    : event_(event), path_(instances + prefix + std::to_string(getpid()) + "/") {
    std::string folder = root + "events/ds/" + event + "/";

    if (access(instances.c_str(), R_OK | X_OK) != 0)
        fail("cannot look into " + instances,
             errno == ENOENT ? "mount it: mount -t tracefs tracefs /sys/kernel/tracing"
                             : "run it as root");
    if (!exists(folder))
        throw Error(Exit::unreachable, "DS-TOK-902",
                    "there is no tracepoint " + event + ": the module is not loaded, or older",
                    "run 'modprobe ds'");
    format_ = contents_of(folder + "format");
    id_ = static_cast<uint16_t>(parse_number(read_line(folder + "id").value_or("")).value_or(0));
    remove_left_ones();
    if (mkdir(path_.c_str(), 0700) != 0)
        fail("cannot make " + path_);
    try {
        write("trace_clock", "mono");
        open_pipes();
    } catch (...) {
        remove();
        throw;
    }
}

TraceInstance::~TraceInstance() {
    remove();
}

void TraceInstance::remove() {
    for (int pipe : pipes_)
        close(pipe);
    rmdir(path_.c_str());
}

void TraceInstance::open_pipes() {
    for (const std::string &cpu : entries(path_ + "per_cpu")) {
        std::string path = path_ + "per_cpu/" + cpu + "/trace_pipe_raw";
        int pipe = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (pipe < 0)
            fail("cannot open " + path);
        pipes_.push_back(pipe);
    }
}

void TraceInstance::write(const std::string &file, const std::string &text) const {
    File(path_ + file, O_WRONLY).write(text.data(), text.size());
}

void TraceInstance::stop() {
    if (exists(path_ + enable()))
        write(enable(), "0");
}

bool TraceInstance::drain(const TakeEvent &take) {
    bool some = false;

    for (int pipe : pipes_)
        some |= drain_pipe(pipe, take);
    return some;
}

bool TraceInstance::drain_pipe(int pipe, const TakeEvent &take) const {
    constexpr int pages_at_once = 1024;
    std::array<std::byte, 65536> page;  // of 4096, or what buffer_subbuf_size_kb says

    for (int pages = 0; pages < pages_at_once; pages++) {
        ssize_t got = read(pipe, page.data(), page.size());
        if (got < 0 && errno == EINTR)
            continue;
        // ENODEV: a processor that has not been there since the buffer is.
        if (got == 0 || (got < 0 && (errno == EAGAIN || errno == ENODEV)))
            return pages > 0;
        if (got < 0)
            fail("cannot read the trace");
        each_event(std::span(page).first(static_cast<size_t>(got)),
                   [&](uint64_t time, std::span<const std::byte> event) {
                       uint16_t id = 0;
                       if (event.size() < sizeof(id))
                           return;
                       std::memcpy(&id, event.data(), sizeof(id));
                       if (id == id_)
                           take(time, event);
                   });
    }
    return true;
}

size_t TraceInstance::offset_of(const std::string &field, size_t size) const {
    size_t at = format_.find(" " + field + ";\toffset:");
    unsigned int offset = 0, bytes = 0;

    if (at == std::string::npos ||
        std::sscanf(format_.c_str() + at + field.size() + 2, "\toffset:%u;\tsize:%u;", &offset,
                    &bytes) != 2 ||
        bytes != size)
        throw Error(Exit::unsupported, "DS-TOK-903",
                    "the tracepoint " + event_ + " of the module has another form",
                    "use the dsctl that came with the module");
    return offset;
}

uint64_t TraceInstance::lost() const {
    uint64_t sum = 0;

    for (const std::string &cpu : entries(path_ + "per_cpu")) {
        std::istringstream stats(contents_of(path_ + "per_cpu/" + cpu + "/stats"));
        for (std::string line; std::getline(stats, line);)
            for (const char *name : {"overrun: ", "commit overrun: ", "dropped events: "})
                if (line.starts_with(name))
                    sum += parse_number(line.substr(std::strlen(name))).value_or(0);
    }
    return sum;
}

}  // namespace dsctl

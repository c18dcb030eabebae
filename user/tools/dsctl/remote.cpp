// SPDX-License-Identifier: Apache-2.0
#include "remote.hpp"

#include <algorithm>
#include <cerrno>

#include "fabric_choice.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

ds_fabric *open_local(const std::string &path) {
    std::string device = DS_LOCAL_PREFIX + path;
    ds_fabric_options options{};
    ds_fabric *fabric = nullptr;

    options.size = sizeof(options);
    options.device = device.c_str();
    if (int rc = ds_fabric_open(&options, &fabric); rc < 0)
        throw local_error(rc, path);
    return fabric;
}

ds_fabric *open_fabric(const Settings &settings) {
    ds_fabric *fabric = nullptr;

    if (auto path = local_file(settings))
        return open_local(*path);
    int rc = ds_fabric_open(nullptr, &fabric);
    if (rc == -ENXIO || rc == -ENOENT || rc == -ENODEV)
        throw Error(
            Exit::unreachable, "DS-DEV-002",
            "there is no /dev/ds: the kernel module ds "
            "is not loaded",
            "load it with 'modprobe ds' or 'insmod ds.ko'; 'dsctl doctor' finds what it lacks");
    if (rc == -EACCES || rc == -EPERM)
        throw from_errno("DEV", -rc, "cannot open /dev/ds: no permission",
                         "join the group 'ds' with 'usermod -aG ds USER' and log in again, "
                         "or run it as root");
    if (rc < 0)
        throw from_errno("DEV", -rc, "cannot open /dev/ds: " + clause(ds_strerror(rc)));
    return fabric;
}

ds_space *open_space(ds_fabric *fabric, uint32_t number, uint32_t access) {
    ds_space *space = nullptr;
    int rc = ds_space_open(fabric, number, access, &space);

    if (rc == -ENOENT)
        throw from_errno("SPC", ENOENT, format("there is no space %u", number),
                         "look at 'dsctl space show'; make one with 'dsctl seg attach', or in a "
                         "file with 'dsctl space create'");
    if (rc == -EACCES)
        throw from_errno("SPC", EACCES, format("space %u does not grant this access", number),
                         "look at its access and user with 'dsctl space show'");
    if (rc < 0)
        throw from_errno("SPC", -rc,
                         format("cannot open space %u: ", number) + clause(ds_strerror(rc)));
    return space;
}

ds_buffer *open_buffer(ds_fabric *fabric, size_t length) {
    ds_buffer *buffer = nullptr;
    int rc = ds_buffer_alloc(fabric, length, -1, &buffer);
    ds_limits limits{};

    limits.size = sizeof(limits);
    if (rc == -E2BIG && ds_fabric_limits(fabric, &limits) == 0)
        throw from_errno("BUF", E2BIG,
                         "cannot make a buffer of " + bytes_text(length) +
                             ": the fabric allows a program " + bytes_text(limits.max_buf_bytes),
                         "use less at a time, for 'dsctl mem bench' a smaller --size or --depth; "
                         "ds.ko allows more with a larger max_buf_mb");
    if (rc < 0)
        throw from_errno(
            "BUF", -rc,
            "cannot make a buffer of " + bytes_text(length) + ": " + clause(ds_strerror(rc)));
    return buffer;
}

const char *op_name(const ds_operation &op) {
    static constexpr const char *names[] = {"read", "write", "cas", "fetch-add"};

    static_assert(std::size(names) == DS_OPCODES);
    return names[op.opcode];
}

}  // namespace

const char *outcome_name(uint32_t outcome) {
    switch (outcome) {
    case DS_EXECUTED:
        return "executed";
    case DS_NOT_EXECUTED:
        return "not-executed";
    default:
        return "unknown";
    }
}

Buffer::Buffer(ds_fabric *fabric, size_t length)
    : buffer_(open_buffer(fabric, length), ds_buffer_free) {}

std::span<std::byte> Buffer::bytes() const {
    return {static_cast<std::byte *>(ds_buffer_data(buffer_.get())),
            ds_buffer_length(buffer_.get())};
}

Remote::Remote(const Call &call, uint32_t access)
    : Remote(call, static_cast<uint32_t>(call.number("--space")), access) {}

Remote::Remote(const Call &call, uint32_t number, uint32_t access)
    : fabric_(open_fabric(call.settings), ds_fabric_close),
      space_(nullptr, ds_space_close),
      number_(number),
      timeout_ms_(call.timeout_ms(DS_TIMEOUT_DEFAULT)) {
    ds_space_info info{};

    space_.reset(open_space(fabric_.get(), number_, access));
    ds_space_set_timeout(space_.get(), timeout_ms_);
    info.size = sizeof(info);
    ds_space_get_info(space_.get(), &info);
    map_ = Map{info.servers, info.server_shift};
}

void Remote::check_range(uint64_t address, uint64_t length) const {
    map_.place(address);
    if (length > map_.last() - address + 1)
        throw from_errno(
            "MEM", ERANGE,
            format("%s at %s go past the end of space %u at %s", bytes_text(length).c_str(),
                   hex(address).c_str(), number_, hex(map_.last()).c_str()),
            "use a lower address, or a space of more or larger servers");
}

uint64_t Remote::most_buffer() const {
    ds_limits limits{};

    limits.size = sizeof(limits);
    return ds_fabric_limits(fabric_.get(), &limits) ? UINT64_MAX : limits.max_buf_bytes;
}

ds_operation Remote::read_op(uint64_t address, const Buffer &buffer, uint64_t offset,
                             uint64_t length) const {
    ds_operation op{};

    op.opcode = DS_OP_READ;
    op.space = space();
    op.buffer = buffer.get();
    op.addr = address;
    op.length = length;
    op.buffer_offset = offset;
    return op;
}

ds_operation Remote::write_op(uint64_t address, const Buffer &buffer, uint64_t offset,
                              uint64_t length, bool idempotent) const {
    ds_operation op = read_op(address, buffer, offset, length);

    op.opcode = DS_OP_WRITE;
    op.flags = idempotent ? DS_OPERATION_IDEMPOTENT : 0;
    return op;
}

ds_operation Remote::cas_op(uint64_t address, uint64_t compare, uint64_t swap) const {
    ds_operation op{};

    op.opcode = DS_OP_CAS;
    op.space = space();
    op.addr = address;
    op.length = sizeof(uint64_t);
    op.compare_add = compare;
    op.swap = swap;
    return op;
}

ds_operation Remote::add_op(uint64_t address, uint64_t add) const {
    ds_operation op = cas_op(address, add, 0);

    op.opcode = DS_OP_FETCH_ADD;
    return op;
}

void Remote::run(const std::vector<ds_operation> &ops, std::vector<ds_result> *results) const {
    results->assign(ops.size(), {});
    int rc = ds_execute(fabric(), ops.data(), ops.size(), timeout_ms_, results->data());

    if (rc == 0)
        return;
    for (size_t i = 0; i < ops.size(); i++)
        if ((*results)[i].status == rc)
            throw failure(ops[i], (*results)[i]);
    throw from_errno("MEM", -rc, "the operation failed: " + clause(ds_strerror(rc)));
}

Error Remote::failure(const ds_operation &op, const ds_result &result) const {
    int errnum = -result.status;
    std::string place = result.node ? format("node %u", result.node) : "";
    std::string what =
        format("%s of %s at %s", op_name(op), bytes_text(op.length).c_str(), hex(op.addr).c_str());
    Json context{{"operation", op_name(op)},
                 {"address", op.addr},
                 {"length", op.length},
                 {"outcome", outcome_name(result.outcome)},
                 {"attempts", result.attempts}};

    if (op.addr >= map_.base() && op.addr <= map_.last()) {
        uint32_t server = map_.place(op.addr).server;
        context["server"] = server;
        place = who(result.node, server);
    }
    if (result.node)
        context["node"] = result.node;
    std::string sentence = what + (place.empty() ? "" : " (" + place + ")") + ": ";

    Error error =
        from_errno("MEM", errnum, sentence + reason_of(op, errnum), remedy_of(op, errnum));
    error.context = context;
    // What may be done twice is simply done again.
    bool repeatable = op.opcode == DS_OP_READ || (op.flags & DS_OPERATION_IDEMPOTENT);
    if (result.outcome == DS_UNKNOWN && !repeatable) {
        error.exit = Exit::unknown;
        error.sentence =
            sentence + "the outcome is unknown, it may have happened: " + reason_of(op, errnum);
        error.remedy = "look at what is there with 'dsctl mem read " + hex(op.addr) +
                       " 8' before you do it again";
    }
    return error;
}

std::string Remote::who(uint32_t node, uint32_t server) const {
    return (node ? format("node %u, ", node) : "") +
           format("server %u of space %u", server, number_);
}

bool Remote::name_absent(Error &error) const {
    constexpr uint32_t longest_ms = 1000;
    Buffer buffer(fabric(), map_.servers * sizeof(uint64_t));
    std::vector<ds_operation> ops;
    std::vector<ds_result> results(map_.servers);
    std::string absent;

    for (uint32_t server = 0; server < map_.servers; server++)
        ops.push_back(
            read_op(map_.base(server), buffer, server * sizeof(uint64_t), sizeof(uint64_t)));
    ds_execute(fabric(), ops.data(), ops.size(), std::min(timeout_ms_, longest_ms), results.data());
    for (uint32_t server = 0; server < map_.servers; server++) {
        const ds_result &result = results[server];
        if (result.status == 0)
            continue;
        if (absent.empty()) {
            error.context["server"] = server;
            error.context["node"] = result.node;
        }
        absent += (absent.empty() ? " (" : "; ") + who(result.node, server);
    }
    if (absent.empty())
        return false;
    error.sentence += absent + ")";
    return true;
}

std::string Remote::reason_of(const ds_operation &op, int errnum) const {
    if (errnum == ERANGE && op.addr <= map_.last())
        return "the segment there ends before";
    return clause(ds_strerror(errnum));
}

std::string Remote::remedy_of(const ds_operation &op, int errnum) const {
    if (errnum == ERANGE && op.addr <= map_.last())
        return "see the lengths with 'dsctl space show'; attach a longer segment, or use less";
    if (errnum == EACCES)
        return "see what segment and space grant with 'dsctl space show'";
    return "";
}

}  // namespace dsctl

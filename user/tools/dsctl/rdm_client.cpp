// SPDX-License-Identifier: Apache-2.0
// A client of the packet service, and its errors in words.
#include <netinet/in.h>
#include <algorithm>
#include <cerrno>

#include "kernel.hpp"
#include "keyfile.hpp"
#include "rdm.hpp"
#include "units.hpp"

namespace dsctl {

namespace {

// Where the general words of an errno would mislead.
std::string reason_of(int rc, uint32_t wire) {
    switch (rc) {
    case -EOPNOTSUPP:
        return "version 1 of the packets has no such request";
    case -ECONNREFUSED:
        return wire == DS_RDM_WIRE_PEER ? "it does not serve packets"
                                        : "nobody receives packets there";
    case -ETIMEDOUT:
        return "no answer came in time";
    case -EMSGSIZE:
        return "it does not fit into a packet of the route";
    default:
        return clause(ds_strerror(rc));
    }
}

std::string remedy_of(int rc, uint32_t wire) {
    bool peer = wire == DS_RDM_WIRE_PEER;

    switch (rc) {
    case -EOPNOTSUPP:
        return "use --wire 2 or --wire rdma: version 1 can only allocate, read and write";
    case -ECONNREFUSED:
        return peer ? "load a ds.ko there that serves packets"
                    : "make the server receive packets there with 'dsctl rdm listen add'";
    case -ETIMEDOUT:
        return peer ? "look at 'dsctl peer show', or allow more time with --timeout"
                    : "on the server compare 'dsctl rdm listen show', 'dsctl rdm peer show' and "
                      "the key of the space, or allow more time with --timeout";
    case -EMSGSIZE:
        return "ask for less, or use links of a larger MTU";
    default:
        return "";
    }
}

uint32_t wire_of(const Call &call) {
    std::string wire = call.text("--wire");

    if (wire.empty())
        return call.has("--node") ? DS_RDM_WIRE_PEER : DS_RDM_WIRE_2;
    return wire == "1" ? DS_RDM_WIRE_1 : wire == "2" ? DS_RDM_WIRE_2 : DS_RDM_WIRE_PEER;
}

void check_options(const Call &call, uint32_t wire) {
    bool peer = wire == DS_RDM_WIRE_PEER;

    if (call.has("--to") && call.has("--node"))
        throw usage("--to and --node are both given");
    if (peer && !call.has("--node"))
        throw usage("--wire rdma needs --node N");
    if (!peer && !call.has("--to"))
        throw usage("which server? Give --to ADDR, or --node N");
    if (wire == DS_RDM_WIRE_1 &&
        (call.number("--tenant") || call.has("--key-file") || call.number("--space") > 255))
        throw usage("version 1 has neither tenants nor keys, and spaces up to 255 only",
                    "leave --tenant and --key-file out, or use --wire 2");
    if (wire != DS_RDM_WIRE_1 && call.has("--write-replies"))
        throw usage("--write-replies is for --wire 1: version 2 answers all writes");
}

ds_fabric *open_fabric() {
    ds_fabric_options options{};
    ds_fabric *fabric = nullptr;

    options.size = sizeof(options);
    int rc = ds_fabric_open(&options, &fabric);
    if (rc == -ENODEV || rc == -ENOENT || rc == -ENXIO)
        throw not_loaded();
    if (rc < 0)
        throw from_errno("RDM", -rc, "cannot open /dev/ds: " + clause(ds_strerror(rc)));
    return fabric;
}

ds_rdm *open_rdm(Call &call, uint32_t wire, ds_fabric *fabric) {
    ds_rdm_options options{};
    std::vector<uint8_t> key;
    ds_rdm *rdm = nullptr;

    options.size = sizeof(options);
    options.wire = wire;
    options.space = static_cast<uint32_t>(call.number("--space"));
    options.tenant = static_cast<uint32_t>(call.number("--tenant"));
    options.timeout_ms = call.timeout_ms(0);
    options.flags = call.has("--write-replies") ? DS_RDM_WRITES_ANSWERED : 0;
    if (call.has("--key-file")) {
        key = read_key(call.text("--key-file"), packet_key_bytes, call.out);
        options.key = key.data();
    }
    if (wire == DS_RDM_WIRE_PEER) {
        options.fabric = fabric;
        options.node = static_cast<uint32_t>(call.number("--node"));
    } else {
        auto [ipv4, port] = parse_endpoint(call.text("--to"), "--to");
        options.ipv4 = ipv4;
        options.port = port;
    }
    if (int rc = ds_rdm_open(&options, &rdm); rc < 0)
        throw from_errno("RDM", -rc, "cannot reach the server: " + clause(ds_strerror(rc)));
    return rdm;
}

}  // namespace

std::pair<uint32_t, uint16_t> parse_endpoint(const std::string &text, std::string_view what) {
    size_t colon = text.rfind(':');
    auto port = colon == std::string::npos ? std::optional<uint64_t>(0)
                                           : parse_number(text.substr(colon + 1));
    nl::Message found(0);

    if (text.find(':') != colon)
        throw usage("packets go by IPv4, and '" + text + "' is no address of that kind",
                    "give an IPv4 address, as 10.77.0.2 or 10.77.0.2:18529");
    if (!port || *port > UINT16_MAX || (colon != std::string::npos && *port == 0))
        throw usage(std::string(what) + " is ADDR or ADDR:PORT, not '" + text + "'");
    put_address(found, text.substr(0, colon), AF_INET);
    auto ipv4 = found.get(attr::ipv4);
    if (!ipv4 || *ipv4 == 0)
        throw usage("packets go by IPv4, and '" + text + "' is no address of a host by that");
    return {*ipv4, static_cast<uint16_t>(*port)};
}

RdmClient::RdmClient(Call &call)
    : who_(call.has("--node") ? "node " + call.text("--node") : call.text("--to")),
      wire_(wire_of(call)),
      space_(static_cast<uint32_t>(call.number("--space"))),
      fabric_(nullptr, ds_fabric_close),
      rdm_(nullptr, ds_rdm_close) {
    check_options(call, wire_);
    if (wire_ == DS_RDM_WIRE_PEER)
        fabric_.reset(open_fabric());
    rdm_.reset(open_rdm(call, wire_, fabric_.get()));
}

void RdmClient::run(std::span<ds_rdm_request> requests, uint32_t depth,
                    const std::string &what) const {
    if (ds_rdm_execute(rdm_.get(), requests.data(), requests.size(), depth) == 0)
        return;
    throw failure(*std::ranges::find_if(requests, [](const auto &r) { return r.status < 0; }),
                  what);
}

ds_rdm_request RdmClient::run(ds_rdm_request request, const std::string &what) const {
    run({&request, 1}, 0, what);
    return request;
}

Error RdmClient::failure(const ds_rdm_request &request, const std::string &what) const {
    std::string why =
        request.reason ? clause(ds_rdm_strerror(request.reason)) : reason_of(request.status, wire_);
    std::string remedy =
        request.reason ? clause(ds_rdm_remedy(request.reason)) : remedy_of(request.status, wire_);
    Error error =
        from_errno("RDM", -request.status,
                   format("%s in space %u of %s: ", what.c_str(), space_, who_.c_str()) + why,
                   remedy)
            .with("reason", request.reason);

    if (request.outcome == DS_UNKNOWN) {
        error.exit = Exit::unknown;
        error.sentence += "; it is not known whether it happened";
    }
    return error;
}

ds_rdm_counts RdmClient::counts() const {
    ds_rdm_counts counts{};

    counts.size = sizeof(counts);
    ds_rdm_counters(rdm_.get(), &counts);
    return counts;
}

ds_rdm_request rdm_request(uint32_t opcode, uint64_t address, uint64_t length, void *data) {
    ds_rdm_request request{};

    request.opcode = opcode;
    request.address = address;
    request.length = length;
    request.data = data;
    return request;
}

RdmRange::RdmRange(Call &call, const RdmClient &client, uint64_t length)
    : client_(client), address_(call.number("--at")), owned_(!call.has("--at")) {
    if (!owned_)
        return;
    address_ = client.run(rdm_request(DS_PACKET_ALLOC, 0, length), "alloc").address;
    if (client.is_wire1())
        call.out.warn("version 1 cannot free: " + bytes_text(length) + " at " + hex(address_) +
                      " stay allocated");
}

RdmRange::~RdmRange() {
    if (!owned_ || client_.is_wire1())
        return;
    try {
        client_.run(rdm_request(DS_PACKET_FREE, address_), "free");
    } catch (const Error &) {
        // What failed before is told already; else the space shows what is allocated.
    }
}

}  // namespace dsctl

// SPDX-License-Identifier: Apache-2.0
#include "rdm/plan.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace ds::rdm {
namespace {

bool moves_data(uint32_t opcode) {
    return opcode == DS_PACKET_READ || opcode == DS_PACKET_WRITE ||
           opcode == DS_PACKET_WRITE_PERSISTENT;
}

// Fields that mean nothing to a request are 0.
bool is_valid(const ds_rdm_request &r) {
    bool plain = !r.operand && !r.compare;

    if (r.reserved)
        return false;
    switch (r.opcode) {
    case DS_PACKET_READ:
    case DS_PACKET_WRITE:
    case DS_PACKET_WRITE_PERSISTENT:
        return plain && r.data && r.length && r.address + (r.length - 1) >= r.address;
    case DS_PACKET_ALLOC:
        return !r.data && r.length && !r.compare && r.operand <= DS_ACCESS_ALL;
    case DS_PACKET_FREE:
        return plain && !r.data;
    case DS_PACKET_CAS:
        return !r.data && r.length == sizeof(uint64_t);
    case DS_PACKET_FETCH_ADD:
        return !r.data && r.length == sizeof(uint64_t) && !r.compare;
    case DS_PACKET_PING:
        return plain && !r.address && (r.data || !r.length);
    default:
        return false;
    }
}

}  // namespace

Plan::Plan(std::span<ds_rdm_request> requests, const Wire &wire)
    : requests_(requests), wire_(wire), sums_(requests.size()) {
    for (ds_rdm_request &request : requests) {
        request.status = is_valid(request) ? wire.check(request) : -EINVAL;
        request.reason = DS_PACKET_OK;
        request.outcome = DS_NOT_EXECUTED;
        request.value = 0;
        request.generation = 0;
    }
}

// False at the end of the request.
bool Plan::fill(Piece &piece) const {
    const ds_rdm_request &r = requests_[request_];

    if (r.status < 0 || (offset_ && offset_ >= r.length))
        return false;
    piece = {};
    piece.request = request_;
    piece.ask.op = static_cast<uint8_t>(r.opcode);
    piece.ask.address = r.opcode == DS_PACKET_ALLOC ? r.operand : r.address;
    if (r.opcode == DS_PACKET_CAS || r.opcode == DS_PACKET_FETCH_ADD)
        piece.operands = {r.operand, r.compare};
    if (r.opcode == DS_PACKET_PING)
        piece.ask.part = static_cast<uint32_t>(r.length);
    else
        piece.ask.length = r.length;
    piece.ask.data = static_cast<const uint8_t *>(r.data);
    if (!moves_data(r.opcode))
        return true;

    piece.ask.address += offset_;
    piece.ask.length = std::min<uint64_t>(wire_.most(piece.ask.op), r.length - offset_);
    piece.ask.data += offset_;
    if (r.opcode == DS_PACKET_READ) {
        piece.into = static_cast<uint8_t *>(r.data) + offset_;
        piece.ask.data = nullptr;
        piece.missing = Missing(piece.ask.length);
    }
    return true;
}

Piece *Plan::next() {
    while (!filled_ && request_ < requests_.size()) {
        filled_ = fill(piece_);
        if (!filled_) {
            request_++;
            offset_ = 0;
        } else if (given_up_) {
            ended(piece_, given_up_, DS_PACKET_OK, DS_NOT_EXECUTED);
            filled_ = false;
        } else if (changes_given_up_ && piece_.changes()) {
            ended(piece_, changes_given_up_, changes_reason_, DS_NOT_EXECUTED);
            filled_ = false;
        }
    }
    return filled_ ? &piece_ : nullptr;
}

void Plan::taken() {
    filled_ = false;
    if (moves_data(piece_.ask.op)) {
        offset_ += piece_.ask.length;
    } else {
        request_++;
        offset_ = 0;
    }
}

void Plan::give_up(int status) {
    given_up_ = status;
    filled_ = false;
    next();
}

void Plan::give_up_changes(int status, uint32_t reason) {
    changes_given_up_ = status;
    changes_reason_ = reason;
    filled_ = false;
}

void Plan::ended(const Piece &piece, int status, uint32_t reason, uint32_t outcome) {
    ds_rdm_request &request = requests_[piece.request];
    Sum &sum = sums_[piece.request];

    sum.executed |= outcome == DS_EXECUTED;
    sum.not_executed |= outcome == DS_NOT_EXECUTED;
    sum.unknown |= outcome == DS_UNKNOWN;
    if (status < 0 && request.status == 0) {
        request.status = status;
        request.reason = reason;
    }
}

// What the reply to the last piece has for the request.
void Plan::answer(const Piece &piece, const ds_packet &reply) {
    ds_rdm_request &request = requests_[piece.request];

    switch (piece.ask.op) {
    case DS_PACKET_ALLOC:
        request.address = reply.address;
        request.value = reply.length;
        request.generation = static_cast<uint32_t>(reply.offset);
        break;
    case DS_PACKET_CAS:
    case DS_PACKET_FETCH_ADD:
        request.value = reply.length;
        break;
    default:
        break;
    }
}

int Plan::finish() {
    int first = 0;

    for (size_t i = 0; i < requests_.size(); i++) {
        const Sum &sum = sums_[i];
        bool part = sum.executed && sum.not_executed && requests_[i].opcode != DS_PACKET_READ;
        requests_[i].outcome = sum.unknown || part                        ? DS_UNKNOWN
                               : sum.executed && requests_[i].status == 0 ? DS_EXECUTED
                                                                          : DS_NOT_EXECUTED;
        if (first == 0)
            first = requests_[i].status;
    }
    return first;
}

}  // namespace ds::rdm

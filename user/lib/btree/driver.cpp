// SPDX-License-Identifier: Apache-2.0
#include "btree/driver.hpp"

#include <algorithm>
#include <cerrno>
#include <new>

#include "abi/errors.hpp"
#include "fabric/engine.hpp"
#include "fabric/handles.hpp"

namespace ds::btree {
namespace {

// Enough for a few attempts, of which the first finds out that a server is back.
constexpr uint32_t silent_timeout_ms = 100;

constexpr uint64_t ms = 1'000'000;  // ns

// Until a server that has something under way is asked again.
constexpr uint64_t held_back_pause = 1 * ms;

// The engine gives up when its next attempt would come too late: as long before the end.
constexpr uint64_t last_pause = 150 * ms;

}  // namespace

// ---- Rooms ----

Room::~Room() {
    if (owner_ && !spoiled_)
        owner_->free_.emplace_back(buffer_, offset_);
}

void Rooms::add_buffer() {
    constexpr size_t length = 64 * node_size;
    buffers_.reserve(buffers_.size() + 1);
    free_.reserve((buffers_.size() + 1) * (length / node_size));  // so that all can come back
    auto made = std::make_unique<ds_buffer>(ds_buffer{space_->engine, {}});
    if (space_->engine->fabric().create_buffer(length, -1, made->info) < 0)
        throw std::bad_alloc();
    buffers_.emplace_back(made.release());
    for (uint64_t offset = length; offset > 0; offset -= node_size)
        free_.emplace_back(buffers_.back().get(), offset - node_size);
}

Room Rooms::take() {
    if (free_.empty())
        add_buffer();
    auto [buffer, offset] = free_.back();
    free_.pop_back();
    return {this, buffer, offset};
}

// ---- Io ----

Io &Io::add(uint16_t opcode, uint64_t addr, Room *room, uint64_t from, uint64_t length) {
    ds_operation op{};
    op.opcode = opcode;
    op.space = space_;
    op.addr = addr + from;
    op.length = length;
    if (room) {
        op.buffer = room->buffer();
        op.buffer_offset = room->offset() + from;
    }
    ops_.push_back(op);
    rooms_.push_back(room);
    return *this;
}

Io &Io::read(uint64_t addr, Room &room, uint64_t from, uint64_t length) {
    return add(DS_OP_READ, addr, &room, from, length);
}

// A WRITE goes where its task alone may write, so it may be done twice.
Io &Io::write(uint64_t addr, Room &room, uint64_t from, uint64_t length) {
    add(DS_OP_WRITE, addr, &room, from, length);
    ops_.back().flags |= DS_OPERATION_IDEMPOTENT;
    return *this;
}

Io &Io::write_line(uint64_t addr, Room &room, unsigned number) {
    uint64_t skip = number ? 0 : lock_size;
    return write(addr, room, number * line_size + skip, line_size - skip);
}

Io &Io::cas(uint64_t addr, uint64_t compare, uint64_t swap) {
    add(DS_OP_CAS, addr, nullptr, 0, 8);
    ops_.back().compare_add = compare;
    ops_.back().swap = swap;
    return *this;
}

Io &Io::fetch_add(uint64_t addr, uint64_t add_value) {
    add(DS_OP_FETCH_ADD, addr, nullptr, 0, 8);
    ops_.back().compare_add = add_value;
    return *this;
}

Io &Io::then() {
    ops_.back().flags |= DS_OP_CHAIN;
    return *this;
}

int Io::status() const {
    for (const ds_result &result : results_)
        if (result.status < 0)
            return result.status;
    return 0;
}

bool Io::doubtful() const {
    return std::ranges::any_of(results_,
                               [](const ds_result &r) { return r.outcome == DS_UNKNOWN; });
}

// ---- Driver ----

Driver::Driver(ds_space *space, uint32_t timeout_ms, uint64_t patience_ns)
    : space_(space),
      timeout_ms_(timeout_ms),
      patience_(patience_ns),
      answers_(space->info.servers) {}

uint64_t Driver::now() const {
    return space_->engine->fabric().now_ns();
}

void Driver::run(size_t depth, const std::function<std::optional<Task<void>>()> &next) {
    std::list<Task<void>> tasks;
    ready_.reserve(depth);
    // If there is no memory for a step, all tasks end where they are.
    struct Forget {
        Driver *driver;
        ~Forget() { driver->forget(); }
    } forget{this};

    for (bool more = true; more || !tasks.empty();) {
        while (more && tasks.size() < depth) {
            std::optional<Task<void>> task = next();
            more = task.has_value();
            if (!more)
                break;
            tasks.push_back(std::move(*task));
            tasks.back().start();
        }
        run_ready();
        size_t before = tasks.size();
        for (auto task = tasks.begin(); task != tasks.end();) {
            if (task->done()) {
                task->take();
                task = tasks.erase(task);
            } else {
                ++task;
            }
        }
        if (tasks.size() < before && (more || tasks.empty()))
            continue;  // more may start, and share the round trip
        if (!sending_.empty())
            send();
        else if (!idle_.empty())
            ready_.push_back(idle_.front()), idle_.pop_front();
        else if (!pausing_.empty() || !rounds_.empty())
            sleep();
        wake();
    }
}

// All but what is under way, and what that uses.
void Driver::forget() noexcept {
    ready_.clear();
    sending_.clear();
    idle_.clear();
    pausing_.clear();
    turns_.clear();
    silent_.clear();
    rounds_.remove_if([](const Round &round) { return !round.transfer.is_late(); });
    for (Round &round : rounds_) {
        for (fabric::Part &part : round.transfer.parts())
            part.open = false;
        for (Io *io : round.ios)
            for (Room *room : io->rooms_)
                if (room)
                    room->spoil();
        round.ios.clear();
    }
}

void Driver::settle() noexcept {
    while (!rounds_.empty()) {
        sleep();
        wake();
    }
}

void Driver::run_ready() {
    while (!ready_.empty()) {
        std::coroutine_handle<> task = ready_.back();
        ready_.pop_back();
        task.resume();
    }
}

void Driver::send() {
    sent_.clear();
    sent_.swap(sending_);
    auto busy = std::ranges::partition(sent_, [this](Io *io) { return !is_busy(*io); });
    std::span free(sent_.begin(), busy.begin());
    auto silent = std::ranges::partition(free, [this](Io *io) { return !is_silent(*io); });
    begin({free.begin(), silent.begin()}, false);
    begin({silent.begin(), silent.end()}, false);
    for (Io *io : busy)  // each alone: their servers answer at different times
        begin({&io, 1}, true);
}

void Driver::begin(std::span<Io *const> ios, bool held_back) {
    if (ios.empty())
        return;
    rounds_.emplace_back();
    Round &round = rounds_.back();
    round.ios.assign(ios.begin(), ios.end());
    const uint32_t most = is_silent(*ios.front()) ? silent_timeout_ms : UINT32_MAX;
    round.end = now() + std::min(timeout_ms_, most) * ms;
    round.held_back = held_back;
    ops_.clear();
    for (Io *io : ios) {
        io->first_ = ops_.size();
        io->results_.assign(io->size(), {});
        ops_.insert(ops_.end(), io->ops_.begin(), io->ops_.end());
    }
    counters.round_trips++;
    for (const ds_operation &op : ops_)
        count(op);
    results_.assign(ops_.size(), {});
    if (space_->engine->plan(round.transfer, ops_, results_.data()) < 0) {
        for (Io *io : ios) {
            std::copy_n(&results_[io->first_], io->size(), io->results_.begin());
            end(*io, round.end);
        }
        rounds_.pop_back();
    } else if (!attempt(round)) {
        rounds_.pop_back();
    }
}

void Driver::count(const ds_operation &op) {
    counters.work_requests++;
    counters.bytes_in += op.opcode == DS_OP_WRITE ? 0 : op.length;
    counters.bytes_out += op.opcode == DS_OP_WRITE  ? op.length
                          : op.opcode == DS_OP_CAS  ? 16
                          : op.opcode == DS_OP_READ ? 0
                                                    : 8;
}

// Who has ended goes on, whatever becomes of the others. Returns whether there is more to come.
bool Driver::attempt(Round &round) {
    uint64_t deadline = round.end;
    if (round.held_back && is_busy(*round.ios.front())) {
        if (round.ios.front()->once_) {
            deadline = 0;
        } else if (now() < deadline) {
            round.next = now() + held_back_pause;
            return true;
        }
    }
    round.held_back = false;
    round.next = space_->engine->attempt(round.transfer, deadline, is_alone(round) ? 0 : patience_);
    std::erase_if(round.ios, [&](Io *io) {
        if (io->once_)
            round.transfer.give_up(io->first_, io->size());
        if (round.transfer.is_open(io->first_, io->size()))
            return false;
        space_->engine->report(round.transfer, io->first_, io->size(), io->results_.data());
        end(*io, round.end);
        return true;
    });
    return !round.ios.empty() || round.transfer.is_late();
}

// Could nobody go on while it is waited for?
bool Driver::is_alone(const Round &round) const {
    return rounds_.size() == 1 && round.ios.size() == 1 && !round.ios.front()->once_ &&
           ready_.empty() && pausing_.empty() && idle_.empty();
}

void Driver::end(const Io &io, uint64_t patience) {
    const bool waited = now() + last_pause >= patience;
    for (size_t i = 0; i < io.size(); i++) {
        note_silence(io.ops_[i], io.result(i).status, waited);
        if (io.result(i).outcome == DS_UNKNOWN && io.rooms_[i])
            io.rooms_[i]->spoil();
    }
    ready_.push_back(io.waiting_);
}

uint32_t Driver::server_of(uint64_t addr) const {
    return static_cast<uint32_t>((addr - space_->info.base) >> space_->info.server_shift);
}

// An operation of which nobody knows whether it happened ends at once: whether its
// server is still there is not known by that.
void Driver::note_silence(const ds_operation &op, int status, bool waited) {
    if (status == 0) {
        answers_[server_of(op.addr)]++;
        if (!silent_.empty())
            silent_.erase(server_of(op.addr));
    } else if (waited && status != -ECANCELED && is_transient(status)) {
        silent_.insert(server_of(op.addr));
    }
}

bool Driver::is_silent(const Io &io) const {
    return !silent_.empty() && std::ranges::any_of(io.ops_, [this](const ds_operation &op) {
        return silent_.contains(server_of(op.addr));
    });
}

// Is something under way to a server that this one needs?
bool Driver::is_busy(const Io &io) const {
    return std::ranges::any_of(rounds_, [&](const Round &round) {
        return round.transfer.has_late([&](const ds_op &late) {
            return std::ranges::any_of(io.ops_, [&](const ds_operation &op) {
                return server_of(op.addr) == server_of(late.addr);
            });
        });
    });
}

// Until a pause is over or a round is due.
void Driver::sleep() {
    uint64_t first = UINT64_MAX;
    if (!pausing_.empty())
        first = pausing_.begin()->first;
    for (const Round &round : rounds_)
        first = std::min(first, round.next);
    space_->engine->fabric().sleep_until(first);
}

// Each round that is due is attempted once, and then whoever is ready goes on.
void Driver::wake() {
    const uint64_t now = this->now();
    while (!pausing_.empty() && pausing_.begin()->first <= now) {
        ready_.push_back(pausing_.begin()->second);
        pausing_.erase(pausing_.begin());
    }
    for (auto round = rounds_.begin(); round != rounds_.end();) {
        if (round->next <= now && !attempt(*round))
            round = rounds_.erase(round);
        else
            ++round;
    }
}

Task<Driver::Turn> Driver::turn(uint64_t addr) {
    auto [it, free] = turns_.try_emplace(addr);
    if (!free)
        co_await Suspend(
            [queue = &it->second](std::coroutine_handle<> task) { queue->push_back(task); });
    co_return Turn(this, addr);
}

void Driver::pass_turn(uint64_t addr) {
    auto it = turns_.find(addr);
    if (it == turns_.end())
        return;
    if (it->second.empty()) {
        turns_.erase(it);
        return;
    }
    ready_.push_back(it->second.front());
    it->second.pop_front();
}

}  // namespace ds::btree

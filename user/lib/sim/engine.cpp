// SPDX-License-Identifier: Apache-2.0
#include "sim/engine.hpp"

#include <cerrno>
#include <new>
#include <string>

#include "sim/step.hpp"

namespace ds::sim {
namespace {

constexpr uint64_t write_stream = 1;
// Ticks come as in the module (DS_TICK_NS), and with uses: traces are shorter than its times.
constexpr uint64_t tick_uses = 64;
constexpr size_t ahead = 4;  // requests, in which memory has time to answer

ds_policy_mode mode_of(const std::string &policy) {
    return policy == "literal-001"    ? DS_POLICY_LITERAL_001
           : policy == "adaptive-001" ? DS_POLICY_ADAPTIVE_001
                                      : DS_POLICY_DEFAULT;
}

void set_parameters(ds_policy *policy, const RunOptions &options) {
    if (!policy->base)
        return;
    ds_policy_params params = policy->base->params;
    for (uint32_t which = 0; which < DS_TUNE_PARAMS; which++)
        if (auto value = given(options, ds_tune_params[which]))
            ds_tune_put(&params, which, *value);
    or_refuse(ds_policy_set_params(policy, &params), "the policy's parameters");
}

}  // namespace

void refuse(int rc, const char *what) {
    if (rc == -ENOMEM)
        throw std::bad_alloc();
    throw Failure(Error::from(-rc, what));
}

std::optional<u64> given(const RunOptions &options, const ds_param &param) {
    auto found = options.parameters.find(std::string_view(param.name));

    return found == options.parameters.end() ? std::nullopt : std::optional<u64>(found->second);
}

std::vector<u64> values_of(const RunOptions &options, std::span<const ds_param> table) {
    std::vector<u64> values;

    for (const ds_param &param : table)
        values.push_back(given(options, param).value_or(param.normal));
    return values;
}

Cache::Cache(Engine &owner, uint32_t objects, const RunOptions &options) : held_{{}, &owner} {
    const uint64_t most = RunOptions::object_limit().most;

    if (objects > most)
        throw Failure(
            {EBADMSG, "The token cache has no indices for " + std::to_string(objects) + " objects.",
             "Use a trace of at most " + std::to_string(most) + " objects.", false});
    or_refuse(ds_cache_init(&held_.cache, std::max(1u, objects), options.l1,
                            mode_of(options.policy), options.l2, DS_L2_ANYWHERE),
              "a token cache");
}

// Tokens of objects that live on are not leaked: they are part of the table.
Cache::~Cache() {
    ds_cache_destroy(&held_.cache);
}

Engine &Cache::owner(const ds_cache *cache) {
    return *container_of(cache, const Held, cache)->owner;
}

Engine::Engine(const Trace &trace, const RunOptions &options, EventLog *events)
    : trace_(trace),
      options_(options),
      events_(events),
      random_(options.seed),
      cache_(*this, trace.uniques, options),
      model_(options.times, options.seed),
      arrivals_(options.outstanding   ? Arrivals::closed(*options.outstanding)
                : options.trace_times ? Arrivals::at(trace.time_ns)
                                      : Arrivals::open(options.rate)),
      classes_(!options.classes.only_tokens()),
      tokens_(trace.uniques) {
    cache_->table.blocking = options.mode == Mode::blocking;
    set_parameters(&cache_->policy, options);
    if (options.parameters.contains("PREFETCH_BATCH_THRESHOLD"))
        batch_.emplace(*this, options);
    if (options.handlers)
        mailbox_.emplace(*this, options);
    tell_kinds();
    begin_objects();
}

void Engine::tell_kinds() {
    Kinds kinds = classes_ ? Kinds::by_class(options_.classes, random_, trace_.uniques)
                           : Kinds::by_type(trace_);

    result_.kinds = std::move(kinds.kinds);
    kinds_ = std::move(kinds.of);
}

// Whoever is not created by its first request has always been there.
void Engine::begin_objects() {
    std::vector<uint8_t> seen(trace_.uniques), created(trace_.uniques);
    uint32_t unseen = trace_.uniques;

    if (classes_) {
        cache_->allowed = [](const ds_cache *cache, u32 token, u32 tier) {
            const Engine &engine = Cache::owner(cache);
            const EntryClass &kind = engine.class_of(engine.objects_[ds_token_index(token)]);
            return tier == 1 ? kind.in_l1 : kind.in_l2;
        };
    }

    for (size_t place = 0; place < trace_.requests.size() && unseen > 0; place++) {
        Request request = trace_.requests[place];
        if (seen[request.id])
            continue;
        seen[request.id] = true;
        created[request.id] = request.op == Operation::create;
        unseen--;
    }
    for (uint32_t object = 0; object < trace_.uniques; object++)
        if (!created[object])
            token_of(object);
}

[[gnu::always_inline]] inline void Engine::access(const Ask &ask, uint64_t now) {
    uint32_t token = token_of(ask.object);
    u64 word = 0;

    if (cache_->table.blocking) {
        ds_token_find(&cache_->table, token, &word);
        if (ds_word_is_moving(word)) {
            found(ask.object, ds_word_tier(word));
            wait(ask, change_of(token), Left::use);
            return;
        }
    }
    if (batch_) {
        access_batched(ask, token, now);
        return;
    }
    unsigned tier = touch(token, ask.write);
    found(ask.object, tier);
    if (tier != 1 && promote(token, now) && cache_->table.blocking)
        wait(ask, change_of(token), Left::nothing);
    else
        serve(ask, tier, now);
}

[[gnu::always_inline]] inline void Engine::begin(Request request, uint32_t place, uint64_t now) {
    if (now > BandwidthServer::most_ns)
        throw Failure({EOVERFLOW, "The run takes more than 200 days of virtual time.",
                       "Use shorter latencies, a higher rate, or a shorter trace."});
    if (!request.access()) {
        if (request.op == Operation::free)
            end(request.id, now);
        else
            token_of(request.id);
        result_.virtual_ns = std::max(result_.virtual_ns, now);
        arrivals_.done(now);
        return;
    }
    bool write = options_.writes ? random_.below(100, write_stream, place) < *options_.writes
                                 : request.op == Operation::write;
    // The policy says of a use that it was at the last tick.
    bool after_quiet = tick_timer_.at - now > DS_TICK_NS;
    if (result_.accesses % tick_uses == 0 || after_quiet)
        tick(now);
    result_.accesses++;
    if (after_quiet)
        tick_after(DS_TICK_NS, now);
    if (cache_->policy.base)
        ds_policy_adapt_clock(&cache_->policy, static_cast<uint32_t>(result_.accesses));
    access({now, request.id, write}, now);
}

// What a use reads besides its token's word, if that does not lie in L1, and where it is noted that
// the token moves. Where it is now it mostly will be still.
[[gnu::always_inline]] inline void Engine::ask_for(uint32_t token, u64 word) {
    const ds_token_table &table = cache_->table;
    const uint32_t tier = ds_word_tier(word);

    __builtin_prefetch(&change_of(token), 1);
    if (tier == 3) {
        __builtin_prefetch(ds_token_home_of(&table, token));
    } else if (tier == 2) {
        const uint32_t slot = ds_word_l2_slot(word);
        const ds_l2_page *page = ds_l2_page_of(&table.l2, slot);
        __builtin_prefetch(&page->filled);
        __builtin_prefetch(&page->recent[ds_l2_index(slot)]);
        __builtin_prefetch(&page->slots[ds_l2_index(slot)]);
    }
}

// Of requests that come soon memory is asked for what they read: where that is says what was asked
// for before. Who has no token yet is taken for the first one, which does no harm. Always inline:
// GCC finds that a call of it would have no effect, and leaves it out.
[[gnu::always_inline]] inline void Engine::look_ahead(std::span<const Request> requests,
                                                      const u64 *&soon) {
    if (requests.size() <= 3 * ahead)
        return;
    if (soon && ds_word_tier(*soon) != 1)
        ask_for(tokens_[requests[ahead].id], *soon);
    soon = ds_token_word(&cache_->table, tokens_[requests[2 * ahead].id]);
    __builtin_prefetch(soon);
    __builtin_prefetch(&tokens_[requests[3 * ahead].id]);
}

RunResult Engine::run(std::atomic<uint64_t> *progress) {
    const std::span<const Request> requests = trace_.requests;
    std::array<const u64 *, ahead> soon{};  // words of tokens
    Step step(progress);

    for (uint32_t place = 0; place < requests.size(); place++) {
        look_ahead(requests.subspan(place), soon[place % ahead]);
        uint64_t now = arrivals_.next();
        for (; agenda_.due(now); now = arrivals_.next())
            happen();
        arrivals_.begin();
        begin(requests[place], place, now);
        step.next();
    }
    ended_ = true;
    while (!agenda_.empty())
        happen();
    if (batch_) {
        result_.prefetched = batch_->stats().neighbours;
        result_.prefetched_used = batch_->stats().used;
        result_.dma_busy = batch_->stats().busy;
    }
    if (mailbox_) {
        result_.expands_refused = mailbox_->stats().full + mailbox_->stats().limited;
        result_.expands_expired = mailbox_->stats().expired;
    }
    result_.cxl = {model_.cxl().operations, model_.cxl().bytes};
    result_.pcie = {model_.pcie().operations, model_.pcie().bytes};
    return std::move(result_);
}

void Engine::refuse_token(int rc) {
    refuse(rc, "a token that lives");
}

unsigned Engine::tier_of(uint32_t token) {
    u64 word = 0;

    ds_token_find(&cache_->table, token, &word);
    return ds_word_tier(word);
}

// Writes, if it is to, to a token that has been used already. Returns the tier in which it is.
unsigned Engine::reach(uint32_t token, bool write) {
    if (int rc = write ? ds_token_add_posted(&cache_->table, token, 1) : 0; rc)
        refuse_token(rc);
    return tier_of(token);
}

void Engine::wait(const Ask &ask, uint32_t change, Left left) {
    uint32_t waiter = free_waiter_;

    if (waiter == none) {
        waiter = static_cast<uint32_t>(waiters_.size());
        waiters_.emplace_back();
    } else {
        free_waiter_ = waiters_[waiter].next;
    }
    waiters_[waiter] = {ask, changes_[change].waiters, left};
    changes_[change].waiters = waiter;
    result_.waits++;
}

uint32_t Engine::make_token(uint32_t object) {
    // Of all types the one that has a field to write to.
    static const ds_token_desc desc = [] {
        ds_token_desc d{};
        d.type = DS_TOKEN_QP;
        d.qp.pd = d.qp.scq = d.qp.rcq = DS_TOKEN_NONE;
        return d;
    }();
    uint32_t &token = tokens_[object];

    or_refuse(ds_token_create(&cache_->table, &desc, &token), "a token for another object");
    uint32_t index = ds_token_index(token);
    if (index >= objects_.size()) {
        objects_.resize(index + DS_TOKEN_PAGE);
        changes_of_.resize(index + DS_TOKEN_PAGE, none);
    }
    objects_[index] = object;
    return token;
}

// An object goes, and what moves its token is given up.
void Engine::end(uint32_t object, uint64_t now) {
    uint32_t token = tokens_[object];

    if (!token)
        return;
    if (change_of(token) != none)
        cancel(change_of(token), now);
    if (mailbox_)
        mailbox_->revoked(token);
    if (batch_)
        batch_->revoked(token, now);
    if (unsigned tier = tier_of(token); tier < 3)
        log(now, EventLog::Move::free, token, tier, 3);
    tokens_[object] = 0;
    ds_token_revoke(&cache_->table, token, nullptr);
    ds_token_free(&cache_->table, token);
}

uint32_t Engine::tick(uint64_t now) {
    if (cache_->policy.base)
        tell_load(now);
    return demote_idle(now);
}

// Could anybody leave L1, or L2, because he was idle?
bool Engine::has_idlers(unsigned tier) const {
    const ds_policy &policy = cache_->policy;
    const ds_l2 &l2 = cache_->table.l2;

    return tier == 1 ? policy.base && policy.fresh != policy.forgotten : l2.used && l2.crowded;
}

// The shortest and the longest time after which one who could leave is idle; none if nobody could.
std::optional<std::pair<uint64_t, uint64_t>> Engine::idle_times() const {
    const ds_policy_001 *base = cache_->policy.base;
    uint64_t l2 = base ? base->params.demote_from_l2_idle_ns : DS_POLICY_DEMOTE_FROM_L2_IDLE_NS;

    if (!has_idlers(1) && !has_idlers(2))
        return std::nullopt;
    uint64_t l1 = has_idlers(1) ? base->params.demote_from_l1_idle_ns : l2;
    return std::minmax({l1, has_idlers(2) ? l2 : l1});
}

// Steps in which one looks at all slots whose tokens could leave.
uint64_t Engine::idle_round() const {
    uint64_t l1 = has_idlers(1) ? cache_->policy.fresh : 0;
    uint64_t l2 = has_idlers(2) ? uint64_t(options_.l2) * DS_L2_PAGE_SLOTS : 0;

    return std::max(l1, l2) / DS_TICK_LOOK + 1;
}

// Until the next tick while nobody leaves. Of one who was idle in L1 two ticks have to tell before
// the time of his last use wraps; with twice as many there is time to leave, too.
uint64_t Engine::tick_pause() const {
    uint64_t pause = idle_times()->first / 4;

    if (has_idlers(1))
        pause = std::min<uint64_t>(
            pause, (DS_POLICY_WRAP_NS - cache_->policy.base->params.demote_from_l1_idle_ns) / 4);
    return std::max<uint64_t>(DS_TICK_NS, pause);
}

// Also when nothing is used: then, if nobody leaves, as rarely as the time tells after which one is
// idle, but with as many steps as there would have been. A tick is quiet if nobody used anything
// or left. Whoever stays while it is quiet for twice the longest time, and twice as long as it
// takes to look at all slots, stays until there is a use again.
void Engine::tick_by_time(uint64_t now) {
    uint64_t steps = (now - tick_timer_.set_at) * DS_TICK_STEPS / DS_TICK_NS, moved = 0;

    if (ended_ || now != tick_timer_.at)
        return;
    for (uint64_t step = 0; idle_times(); step++) {
        if (step >= DS_TICK_STEPS && (moved || step >= std::min(idle_round(), steps)))
            break;
        moved += tick(now);
    }
    if (moved || tick_timer_.accesses != result_.accesses)
        tick_timer_.quiet_since = now;
    tick_timer_.accesses = result_.accesses;
    tick_timer_.at = UINT64_MAX;
    if (auto times = idle_times()) {
        uint64_t enough = 2 * (times->second + (idle_round() / DS_TICK_STEPS + 1) * DS_TICK_NS);
        if (now - tick_timer_.quiet_since < enough)
            tick_after(moved ? DS_TICK_NS : tick_pause(), now);
    }
}

void Engine::tick_after(uint64_t ns, uint64_t now) {
    tick_timer_.set_at = now;
    tick_timer_.at = now + ns;
    agenda_.add(tick_timer_.at, tick_event);
}

// The policies of document 001 want to know of time, and of the load.
void Engine::tell_load(uint64_t now) {
    // Sums of waits, and what a link could have carried, may be too large for 64 bits. Whatever
    // comes within no time is too much.
    auto per_mille = [](unsigned __int128 part, unsigned __int128 whole) {
        return static_cast<uint32_t>(part < whole ? part * 1000 / whole : part ? 1000 : 0);
    };
    ds_policy_params &params = cache_->policy.base->params;
    uint64_t l1 = result_.found[1] - load_then_.found[1];
    uint64_t l2 = result_.found[2] - load_then_.found[2];
    uint64_t l3 = result_.found[3] - load_then_.found[3];
    uint64_t bytes = model_.pcie().bytes;
    unsigned __int128 time = now - load_then_.at_ns;
    auto capacity = static_cast<unsigned __int128>(static_cast<double>(time) *
                                                   options_.times.pcie_bytes_per_ns);
    ds_policy_load load{
        .dma = per_mille(bytes - load_then_.pcie_bytes, capacity),
        .l1 = per_mille(l1, l1 + l2 + l3),
        .l2 = per_mille(l2, l2 + l3),
        .cpu = per_mille(host_ns_ - load_then_.host_ns, time * options_.handlers.value_or(1)),
        .moves = static_cast<uint32_t>(promotions_ - load_then_.moves),
        .waits = static_cast<uint32_t>(result_.waits - load_then_.waits),
        .blocking = options_.mode == Mode::blocking};
    uint32_t before[] = {params.promote_to_l1_threshold, params.promote_to_l2_threshold};

    if (ds_policy_tick(&cache_->policy, now, result_.accesses, &load))
        load_then_ = {now, result_.found, bytes, host_ns_, promotions_, result_.waits};
    uint32_t after[] = {params.promote_to_l1_threshold, params.promote_to_l2_threshold};
    for (unsigned tier = 1; tier <= 2; tier++) {
        if (before[tier - 1] == after[tier - 1])
            continue;
        result_.threshold_changes++;
        if (events_)
            events_->threshold(now, tier, before[tier - 1], after[tier - 1]);
    }
}

RunResult run(const Trace &trace, const RunOptions &options, EventLog *events,
              std::atomic<uint64_t> *progress) {
    options.check();
    options.check(trace);
    return Engine(trace, options, events).run(progress);
}

}  // namespace ds::sim

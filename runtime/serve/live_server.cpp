// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/live_server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/check.h"
#include "runtime/serve/prefix_hashes.h"

namespace orrery {
namespace {

std::int64_t steady_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

constexpr auto kSignOfLife = std::chrono::seconds{10};  // between calls of keep_alive()

// The random draws of a step's samples, in their order.
struct Draws {
    std::vector<DrawOptions> options;
    std::vector<std::int64_t> numbers;  // number of tokens drawn before for the request

    std::vector<std::int32_t> from(const std::vector<float>& logits) const {
        std::vector<std::int32_t> drawn;
        const std::size_t width = options.empty() ? 0 : logits.size() / options.size();
        for (std::size_t i = 0; i < options.size(); ++i) {
            const std::span<const float> row{logits.data() + i * width, width};
            drawn.push_back(draw_token(row, options[i], numbers[i]));
        }
        return drawn;
    }
};

}  // namespace

LiveServer::LiveServer(const BatchingRules& rules,
                       const SchedulerLimits& scheduler,
                       const LiveLimits& limits,
                       std::vector<DecodeStep*> instances,
                       RequestRouter& router)
    : LiveServer({{.rules = rules,
                   .limits = scheduler,
                   .instances = std::move(instances),
                   .router = &router}},
                 limits) {}

LiveServer::LiveServer(const std::vector<LivePool>& pools, const LiveLimits& limits)
    : limits_(limits), begin_ns_(steady_ns()) {
    ORRERY_CHECK(pools.size() == 1 || pools.size() == 2);
    for (const LivePool& pool : pools) {
        ORRERY_CHECK(!pool.instances.empty() && pool.router != nullptr &&
                     pool.limits.block_size == pools.front().limits.block_size);
        pools_.push_back({.first = instances_.size(), .router = pool.router, .schedulers = {}});
        for (DecodeStep* const step : pool.instances) {
            Instance& instance = instances_.emplace_back();
            instance.scheduler =
                std::make_unique<BatchScheduler>(pool.rules, pool.limits, requests_);
            instance.step = step;
            instance.pool = pools_.size() - 1;
            pools_.back().schedulers.push_back(instance.scheduler.get());
        }
    }
    for (std::size_t i = 0; i < instances_.size(); ++i) {
        instances_[i].thread = std::thread{[this, i] { work(i); }};
    }
}

LiveServer::~LiveServer() {
    stop();
}

Time LiveServer::now() const {
    return Time::picoseconds((steady_ns() - begin_ns_) * 1000);
}

Submitted LiveServer::submit(LiveRequest request, std::function<void(const TokenEvent&)> on_token) {
    ORRERY_CHECK(!request.prompt.empty() && request.output_tokens > 0);
    const auto prompt = static_cast<std::int64_t>(request.prompt.size());
    const std::scoped_lock lock{mutex_};
    const std::int64_t size = instances_.front().scheduler->limits().block_size;
    const Request asked{
        .arrival = now(),
        .prompt_tokens = prompt,
        .output_tokens = request.output_tokens,
        .adapter = request.adapter,
        .prefix_hashes = prefix_hashes(request.prompt, size, limits_.salt, request.adapter)};
    Refusal refusal = Refusal::none;
    if (refuses_ || stops_ || !status_) {
        refusal = Refusal::stopped;
    } else if (prompt > limits_.context || request.output_tokens > limits_.context - prompt ||
               !fits(asked)) {
        refusal = Refusal::too_long;
    } else if (limits_.max_queue > 0 && std::ssize(by_ticket_) >= limits_.max_queue) {
        refusal = Refusal::queue_full;
    }
    if (refusal != Refusal::none) {
        ++counters_.refused;
        return {.refusal = refusal};
    }
    RequestId id{};
    if (unused_.empty()) {
        id = static_cast<RequestId>(requests_.size());
        requests_.emplace_back();
        live_.emplace_back();
    } else {
        id = unused_.back();
        unused_.pop_back();
    }
    const auto slot = static_cast<std::size_t>(id);
    requests_[slot] = asked;
    const std::size_t chosen = choose(0, asked);
    live_[slot] = {.ticket = next_ticket_++,
                   .instance = chosen,
                   .tokens = std::move(request.prompt),
                   .draw = request.draw,
                   .on_token = std::move(on_token),
                   .record = {.arrival = asked.arrival}};
    by_ticket_[live_[slot].ticket] = id;
    counters_.prompt_tokens += prompt;
    instances_[chosen].scheduler->submit(id, first_part(asked));
    work_.notify_all();
    return {.ticket = live_[slot].ticket};
}

void LiveServer::cancel(Ticket ticket) {
    const std::scoped_lock lock{mutex_};
    const auto found = by_ticket_.find(ticket);
    if (found == by_ticket_.end()) {
        return;
    }
    const RequestId id = found->second;
    Live& live = live_[static_cast<std::size_t>(id)];
    if (live.ended) {
        return;
    }
    live.cancelled = true;
    if (rests(live)) {
        drop(id);
    }
}

bool LiveServer::rests(const Live& live) const {
    return !live.moves && !instances_[live.instance].computes &&
           !(live.holds_prompt && instances_[live.prompt_instance].computes);
}

void LiveServer::drop(RequestId id) {
    const Live& live = live_[static_cast<std::size_t>(id)];
    instances_[live.instance].scheduler->cancel(id);
    if (live.holds_prompt) {
        instances_[live.prompt_instance].scheduler->release(id);
    }
    ++counters_.cancelled;
    forget(id);
    work_.notify_all();
}

void LiveServer::forget(RequestId id) {
    Live& live = live_[static_cast<std::size_t>(id)];
    by_ticket_.erase(live.ticket);
    live = {};
    unused_.push_back(id);
    if (by_ticket_.empty()) {
        idle_.notify_all();
    }
}

std::vector<DecodeChunk> LiveServer::begin(Instance& instance, Batch& batch) {
    batch = instance.scheduler->next();
    for (const RequestId id : batch.preempted) {
        Live& live = live_[static_cast<std::size_t>(id)];
        ++live.record.preemptions;
        live.recomputes = live.moves;
        ++counters_.preemptions;
    }
    for (const RequestId id : batch.admitted) {
        RequestRecord& record = live_[static_cast<std::size_t>(id)].record;
        if (record.first_scheduled == Time::max()) {
            record.first_scheduled = now();
            record.cached_tokens = instance.scheduler->cached_tokens(id);
            counters_.cached_tokens += record.cached_tokens;
        }
    }
    std::vector<DecodeChunk> chunks;
    for (const SequenceStep& step : batch.steps) {
        const Live& live = live_[static_cast<std::size_t>(step.request)];
        const auto first = live.tokens.begin() + step.context;
        const auto blocks = instance.scheduler->blocks(step.request);
        chunks.push_back({.tokens = {first, first + step.new_tokens},
                          .context = step.context,
                          .blocks = {blocks.begin(), blocks.end()},
                          .samples = step.samples,
                          .adapter = step.adapter});
        instance.totals.computed_tokens += step.new_tokens;
    }
    if (!chunks.empty()) {
        const BlockPool& pool = instance.scheduler->pool();
        ++instance.totals.batches;
        instance.totals.most_blocks =
            std::max(instance.totals.most_blocks, pool.num_blocks() - pool.num_free());
    }
    return chunks;
}

std::vector<LiveServer::Delivery> LiveServer::complete(Instance& instance,
                                                       const Batch& batch,
                                                       const std::vector<std::int32_t>& drawn) {
    const Time at = now();
    std::vector<Delivery> deliveries;
    std::size_t sample = 0;
    std::vector<Sampled> sampled;
    instance.scheduler->complete(batch, sampled);
    auto next = sampled.begin();
    for (const SequenceStep& step : batch.steps) {
        if (!step.samples) {
            continue;
        }
        const std::int32_t token = drawn[sample++];
        ORRERY_CHECK(next != sampled.end() && next->request == step.request);
        const bool part_ends = (next++)->finished;
        Live& live = live_[static_cast<std::size_t>(step.request)];
        RequestRecord& record = live.record;
        live.tokens.push_back(token);
        ++live.drawn;
        ++counters_.output_tokens;
        if (record.output_tokens++ == 0) {
            record.first_token = at;
        }
        const bool finished =
            part_ends &&
            record.output_tokens == requests_[static_cast<std::size_t>(step.request)].output_tokens;
        if (finished) {
            record.last_token = at;
        }
        if (!live.cancelled) {
            deliveries.push_back({.to = live.on_token,
                                  .ticket = live.ticket,
                                  .token = token,
                                  .finished = finished,
                                  .record = record});
        }
        if (finished) {
            ++(live.cancelled ? counters_.cancelled : counters_.finished);
            live.ended = live.moves;
            if (!live.ended) {
                forget(step.request);
            }
        } else if (part_ends) {
            instance.done_prompts.push_back(step.request);
        }
    }
    return deliveries;
}

void LiveServer::work(std::size_t number) {
    Instance& instance = instances_[number];
    std::int64_t steps_awake = 0;
    std::unique_lock lock{mutex_};
    while (!stops_ && status_) {
        if (const Result<void> moved = move_caches(number, lock); !moved) {
            return fail_with(moved.error());
        }
        if (stops_ || !status_) {
            return;
        }
        Batch batch;
        const std::vector<DecodeChunk> chunks = begin(instance, batch);
        if (chunks.empty()) {
            wait_for_work(instance, lock);
            steps_awake = 0;
            continue;
        }
        Draws draws;
        for (const SequenceStep& step : batch.steps) {
            if (step.samples) {
                const Live& live = live_[static_cast<std::size_t>(step.request)];
                draws.options.push_back(live.draw);
                draws.numbers.push_back(live.drawn);
            }
        }
        instance.computes = true;
        const Time began = now();
        lock.unlock();
        std::vector<float> logits;
        const Result<void> done = instance.step->run(chunks, logits);
        const std::vector<std::int32_t> drawn =
            done ? draws.from(logits) : std::vector<std::int32_t>{};
        lock.lock();
        instance.totals.busy += now() - began;
        if (!done) {
            instance.computes = false;
            return fail_with(done.error());
        }
        const std::vector<Delivery> deliveries = complete(instance, batch, drawn);
        lock.unlock();
        for (const Delivery& one : deliveries) {
            one.to({.ticket = one.ticket,
                    .token = one.token,
                    .finished = one.finished,
                    .record = one.record});
        }
        lock.lock();
        // Not earlier, because the next token of a request must not be delivered before its first.
        for (const RequestId id : std::exchange(instance.done_prompts, {})) {
            hand_over(id);
        }
        instance.computes = false;
        cancel_marked();
        if (limits_.on_step) {
            limits_.on_step({number, batch, steps_awake, now() - began});
        }
        ++steps_awake;
    }
}

std::size_t LiveServer::choose(std::size_t pool, const Request& request) {
    Pool& of = pools_[pool];
    return of.first + of.router->choose(request, of.schedulers);
}

// A single output token needs no second pool.
ServedPart LiveServer::first_part(const Request& request) const {
    return pools_.size() > 1 && request.output_tokens > 1 ? ServedPart::prompt : ServedPart::whole;
}

bool LiveServer::fits(const Request& request) const {
    const ServedPart part = first_part(request);
    return pools_.front().schedulers.front()->fits(request, part) &&
           (part == ServedPart::whole ||
            pools_.back().schedulers.front()->fits(request, ServedPart::after_prompt));
}

void LiveServer::hand_over(RequestId id) {
    Live& live = live_[static_cast<std::size_t>(id)];
    live.prompt_instance = live.instance;
    live.holds_prompt = true;
    live.instance = choose(1, requests_[static_cast<std::size_t>(id)]);
    instances_[live.instance].scheduler->submit(id, ServedPart::after_prompt, 1);
    pull(live.instance);
}

void LiveServer::pull(std::size_t number) {
    std::vector<RequestId> accepted;
    instances_[number].scheduler->accept(accepted);
    for (const RequestId id : accepted) {
        Live& live = live_[static_cast<std::size_t>(id)];
        live.moves = true;
        live.move_begin = now();
        instances_[live.prompt_instance].sent.push_back(id);
    }
    if (!accepted.empty()) {
        work_.notify_all();
    }
}

Result<void> LiveServer::move_caches(std::size_t number, std::unique_lock<std::mutex>& lock) {
    Instance& instance = instances_[number];
    if (pools_.size() > 1 && instance.pool == 1) {
        pull(number);
    }
    Result<void> done;
    while (done && !stops_ && status_ && !(instance.sent.empty() && instance.received.empty())) {
        instance.computes = true;
        done = instance.sent.empty() ? receive_next(number, lock) : send_next(number, lock);
        instance.computes = false;
        cancel_marked();
    }
    return done;
}

Result<void> LiveServer::send_next(std::size_t number, std::unique_lock<std::mutex>& lock) {
    Instance& instance = instances_[number];
    const RequestId id = instance.sent.front();
    instance.sent.pop_front();
    const auto slot = static_cast<std::size_t>(id);
    const std::size_t to = live_[slot].instance;
    const auto blocks = instance.scheduler->blocks(id);
    const CacheMove move{.other = to,
                         .tokens = requests_[slot].prompt_tokens,
                         .blocks = {blocks.begin(), blocks.end()}};
    lock.unlock();
    Result<void> done = instance.step->send_cache(move);
    lock.lock();
    instance.scheduler->release(id);
    live_[slot].holds_prompt = false;
    instances_[to].received.push_back(id);
    work_.notify_all();
    return done;
}

Result<void> LiveServer::receive_next(std::size_t number, std::unique_lock<std::mutex>& lock) {
    Instance& instance = instances_[number];
    const RequestId id = instance.received.front();
    instance.received.pop_front();
    const auto slot = static_cast<std::size_t>(id);
    CacheMove move{.other = live_[slot].prompt_instance,
                   .tokens = requests_[slot].prompt_tokens,
                   .blocks = {}};
    if (!live_[slot].recomputes) {
        const auto blocks = instance.scheduler->blocks(id);
        move.blocks = {blocks.begin(), blocks.end()};
    }
    lock.unlock();
    Result<void> done = instance.step->receive_cache(move);
    lock.lock();
    live_[slot].moves = false;
    ++counters_.moves;
    counters_.moved_tokens += move.tokens;
    counters_.moving += now() - live_[slot].move_begin;
    if (live_[slot].ended) {
        forget(id);
    } else if (!live_[slot].recomputes) {
        instance.scheduler->arrived(id);
    }
    return done;
}

void LiveServer::wait_for_work(Instance& instance, std::unique_lock<std::mutex>& lock) {
    if (work_.wait_for(lock, kSignOfLife) == std::cv_status::no_timeout) {
        return;
    }
    instance.computes = true;
    lock.unlock();
    const Result<void> done = instance.step->keep_alive();
    lock.lock();
    instance.computes = false;
    if (!done) {
        fail_with(done.error());
    }
}

void LiveServer::fail_with(const Error& error) {
    status_ = unexpected<Error>(error);
    work_.notify_all();
    idle_.notify_all();
}

void LiveServer::cancel_marked() {
    for (std::size_t i = 0; i < live_.size(); ++i) {
        if (live_[i].cancelled && !live_[i].ended && rests(live_[i])) {
            drop(static_cast<RequestId>(i));
        }
    }
}

LiveCounters LiveServer::counters() const {
    const std::scoped_lock lock{mutex_};
    LiveCounters now = counters_;
    for (const Instance& instance : instances_) {
        now.waiting += instance.scheduler->num_waiting();
        now.running += instance.scheduler->num_running();
        now.blocks += instance.scheduler->pool().num_blocks();
        now.free_blocks += instance.scheduler->pool().num_free();
    }
    return now;
}

std::vector<InstanceTotals> LiveServer::totals() const {
    const std::scoped_lock lock{mutex_};
    std::vector<InstanceTotals> all;
    for (const Instance& instance : instances_) {
        all.push_back(instance.totals);
    }
    return all;
}

Result<void> LiveServer::status() const {
    const std::scoped_lock lock{mutex_};
    return status_;
}

void LiveServer::wait_until_idle() {
    std::unique_lock lock{mutex_};
    idle_.wait(lock, [&] { return by_ticket_.empty() || stops_ || !status_; });
}

void LiveServer::refuse_more() {
    const std::scoped_lock lock{mutex_};
    refuses_ = true;
}

void LiveServer::stop() {
    {
        const std::scoped_lock lock{mutex_};
        stops_ = true;
    }
    work_.notify_all();
    idle_.notify_all();
    for (Instance& instance : instances_) {
        if (instance.thread.joinable()) {
            instance.thread.join();
        }
    }
}

}  // namespace orrery

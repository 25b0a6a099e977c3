// SPDX-License-Identifier: Apache-2.0
#include "runtime/serve/live_server.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/check.h"
#include "runtime/serve/prefix_hashes.h"

namespace orrery {
namespace {

std::int64_t steady_ns() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

constexpr auto kSignOfLife = std::chrono::seconds{10};  // between calls of keep_alive()

// How the samples of a step are drawn, in their order.
struct Draws {
    std::vector<DrawOptions> options;
    std::vector<std::int64_t> numbers;  // tokens of the request that were drawn before

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
    : limits_(limits), router_(router), instances_(instances.size()), begin_ns_(steady_ns()) {
    ORRERY_CHECK(!instances.empty());
    for (std::size_t i = 0; i < instances.size(); ++i) {
        instances_[i].scheduler = std::make_unique<BatchScheduler>(rules, scheduler, requests_);
        instances_[i].step = instances[i];
        schedulers_.push_back(instances_[i].scheduler.get());
    }
    for (std::size_t i = 0; i < instances.size(); ++i) {
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
    const BatchScheduler& first = *schedulers_.front();
    const Request asked{
        .arrival = now(),
        .prompt_tokens = prompt,
        .output_tokens = request.output_tokens,
        .prefix_hashes = prefix_hashes(request.prompt, first.limits().block_size, limits_.salt)};
    Refusal refusal = Refusal::none;
    if (refuses_ || stops_ || !status_) {
        refusal = Refusal::stopped;
    } else if (prompt > limits_.context || request.output_tokens > limits_.context - prompt ||
               !first.fits(asked)) {
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
    const std::size_t chosen = router_.choose(asked, schedulers_);
    live_[slot] = {.ticket = next_ticket_++,
                   .instance = chosen,
                   .tokens = std::move(request.prompt),
                   .draw = request.draw,
                   .on_token = std::move(on_token),
                   .record = {.arrival = asked.arrival}};
    by_ticket_[live_[slot].ticket] = id;
    counters_.prompt_tokens += prompt;
    instances_[chosen].scheduler->submit(id);
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
    Instance& instance = instances_[live.instance];
    if (instance.computes) {
        live.cancelled = true;
        return;
    }
    instance.scheduler->cancel(id);
    ++counters_.cancelled;
    forget(id);
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
        ++live_[static_cast<std::size_t>(id)].record.preemptions;
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
                          .samples = step.samples});
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
        const bool finished = (next++)->finished;
        Live& live = live_[static_cast<std::size_t>(step.request)];
        RequestRecord& record = live.record;
        live.tokens.push_back(token);
        ++live.drawn;
        ++counters_.output_tokens;
        if (record.output_tokens++ == 0) {
            record.first_token = at;
        }
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
            forget(step.request);
        }
    }
    return deliveries;
}

void LiveServer::work(std::size_t number) {
    Instance& instance = instances_[number];
    std::unique_lock lock{mutex_};
    while (!stops_ && status_) {
        Batch batch;
        const std::vector<DecodeChunk> chunks = begin(instance, batch);
        if (chunks.empty()) {
            wait_for_work(instance, lock);
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
        instance.computes = false;
        if (!done) {
            return fail_with(done.error());
        }
        const std::vector<Delivery> deliveries = complete(instance, batch, drawn);
        cancel_marked(number);
        lock.unlock();
        for (const Delivery& one : deliveries) {
            one.to({.ticket = one.ticket,
                    .token = one.token,
                    .finished = one.finished,
                    .record = one.record});
        }
        lock.lock();
    }
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

void LiveServer::cancel_marked(std::size_t number) {
    for (std::size_t i = 0; i < live_.size(); ++i) {
        if (live_[i].cancelled && live_[i].instance == number) {
            instances_[number].scheduler->cancel(static_cast<RequestId>(i));
            ++counters_.cancelled;
            forget(static_cast<RequestId>(i));
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

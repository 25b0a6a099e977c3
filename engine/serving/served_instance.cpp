// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/served_instance.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/base/counter_random.h"
#include "engine/serving/layer_wise.h"
#include "engine/serving/run_clock.h"

namespace orrery {

namespace {

constexpr std::uint32_t kProposals = 0x44726166;  // key of its random stream

StepCost* cost_of(const ServingPool& pool, std::size_t number) {
    return pool.instances.empty() ? pool.cost : pool.instances.at(number).cost;
}

SchedulerLimits limits_of(const ServingPool& pool, std::size_t number) {
    SchedulerLimits limits = pool.limits;
    if (!pool.instances.empty()) {
        limits.num_blocks = pool.instances.at(number).num_blocks;
        limits.relative_time = static_cast<float>(pool.instances.at(number).relative_time);
    }
    return limits;
}

}  // namespace

ServedInstance::ServedInstance(const ServingPool& of,
                               std::size_t pool,
                               const std::vector<Request>& requests,
                               std::size_t number)
    : rules_(of.rules),
      limits_(limits_of(of, number)),
      requests_(&requests),
      scheduler_(std::make_unique<BatchScheduler>(of.rules, limits_, requests)),
      cost_(cost_of(of, number)),
      pool_(pool),
      layers_(of.layers),
      gpus_(static_cast<double>(of.gpus)),
      acceptance_(of.acceptance),
      seed_(of.seed),
      stage_free_(cost_->num_stages()),
      stages_(cost_->num_stages()),
      slower_cost_(of.slower_cost),
      slower_clock_(of.slower_clock),
      slower_(cost_->num_stages()) {
    start_up();
}

// Benchmarks send the first request alone before the others (vLLM, benchmarks/benchmark_serving.py:
// "initial single prompt test run").
void ServedInstance::start_up() {
    compiled_ = cost_->compiled_at_start(limits_,
                                         requests_->empty() ? 0 : requests_->front().prompt_tokens);
}

void ServedInstance::use(const TierView& below) {
    below_ = below;
    scheduler_->use(below);
}

std::optional<ServedInstance::Begun> ServedInstance::begin(Time now, Chosen& chosen) {
    chosen = {};
    if (down_ || is_held() || stage_free_.front() > now ||
        under_way_.size() == stage_free_.size()) {
        return std::nullopt;
    }
    Batch batch = scheduler_->next();
    chosen = {.preempted = batch.preempted, .admitted = batch.admitted, .loads = batch.loads};
    if (batch.steps.empty()) {
        return std::nullopt;
    }
    time_stages(batch);
    steps_awake_ = stage_free_.back() < now ? 0 : steps_awake_ + 1;
    stages_.front() += cost_->after_idling(steps_awake_);
    const Time compiling = cost_->compiling(batch, compiled_);
    Time end = now;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        if (factor_ != 1) {
            stages_[stage] = Time::seconds(stages_[stage].seconds() * factor_);
        }
        stages_[stage] = bounded_sum(stages_[stage], compiling);
        end = bounded_sum(std::max(end, stage_free_[stage]), stages_[stage]);
        stage_free_[stage] = end;
    }
    count(batch);
    if (row_ != nullptr) {
        meter_step(now, end);
    }
    for (const SequenceLoad& load : batch.loads) {
        open_loads_ += std::ranges::any_of(
            batch.steps, [&](const SequenceStep& step) { return step.request == load.request; });
    }
    under_way_.push_back({.batch = std::move(batch),
                          .begin = now,
                          .end = end,
                          .first_stage_end = stage_free_.front()});
    if (is_held()) {
        computed_end_ = end;
        under_way_.back().end = end = Time::max();
    }
    return Begun{.begin = now,
                 .end = end,
                 .first_stage_free = stage_free_.front(),
                 .batch = &under_way_.back().batch};
}

std::optional<ServedInstance::Begun> ServedInstance::load_ended(Time now) {
    ORRERY_CHECK(is_held());
    if (--open_loads_ > 0) {
        return std::nullopt;
    }
    UnderWay& step = under_way_.back();
    step.end = bounded_sum(step.begin,
                           layer_wise_time(computed_end_ - step.begin, now - step.begin, layers_));
    const Time later = step.end - computed_end_;
    step.first_stage_end += later;
    for (Time& free : stage_free_) {
        free += later;
    }
    totals_.busy += later;
    totals_.exposed_loads += later;
    return Begun{.begin = step.begin,
                 .end = step.end,
                 .first_stage_free = stage_free_.front(),
                 .batch = &step.batch};
}

// A step takes T, and T' at a fraction s of the clock. The part bound by computation grows by 1/s,
// so that it is (T'/T - 1) / (1/s - 1).
void ServedInstance::time_stages(const Batch& batch) {
    std::fill(stages_.begin(), stages_.end(), Time{});
    cost_->times(batch, stages_);
    if (row_ == nullptr || slower_cost_ == nullptr) {
        return;
    }
    std::fill(slower_.begin(), slower_.end(), Time{});
    slower_cost_->times(batch, slower_);
    const double longer = slower_.front() / stages_.front() - 1;
    computation_ = std::clamp(longer / (1 / slower_clock_ - 1), 0.0, 1.0);
    for (Time& stage : stages_) {
        stage = Time::seconds(stage.seconds() * (1 + computation_ * (1 / clock_ - 1)));
    }
}

void ServedInstance::meter_step(Time begin, Time end) {
    joules_ = joules(begin);
    metered_until_ = std::max(metered_until_, end);
    metered_since_ = begin;
    busy_watts_ = gpus_ * busy_watts(*row_, computation_, clock_);
}

// Between steps it draws idle power.
double ServedInstance::joules(Time now) const {
    const Time busy_end = std::min(now, metered_until_);
    const double busy_s = std::max(0.0, (busy_end - metered_since_).seconds());
    const double all_s = (now - metered_since_).seconds();
    return joules_ + busy_watts_ * busy_s + gpus_ * row_->idle_watts * (all_s - busy_s);
}

ServedStep ServedInstance::oldest_step() const {
    const UnderWay& of = under_way_.front();
    const BlockPool& blocks = scheduler_->pool();
    ServedStep step{.pool = pool_,
                    .begin = of.begin,
                    .first_stage_end = of.first_stage_end,
                    .end = of.end,
                    .waiting = scheduler_->num_waiting(),
                    .cache = 1 - static_cast<double>(blocks.num_free()) /
                                     static_cast<double>(blocks.num_blocks())};
    for (const SequenceStep& sequence : of.batch.steps) {
        const Request& request = (*requests_)[static_cast<std::size_t>(sequence.request)];
        const bool generates = sequence.new_tokens == 1 + sequence.drafted &&
                               sequence.context >= request.prompt_tokens;
        step.prompts += generates ? 0 : 1;
        step.prompt_tokens += generates ? 0 : sequence.new_tokens;
        step.generating += generates ? 1 : 0;
    }
    return step;
}

void ServedInstance::complete(std::vector<Sampled>& sampled) {
    accept_proposals(under_way_.front().batch);
    scheduler_->complete(under_way_.front().batch, sampled);
    under_way_.pop_front();
}

void ServedInstance::count(const Batch& batch) {
    const BlockPool& blocks = scheduler_->pool();
    totals_.busy += std::min(stages_.front(), Time::max() - totals_.busy);
    ++totals_.batches;
    totals_.most_blocks = std::max(totals_.most_blocks, blocks.num_blocks() - blocks.num_free());
    for (const SequenceStep& step : batch.steps) {
        totals_.computed_tokens += step.new_tokens;
    }
}

// The draw is keyed by the request and its position, so that it does not depend on other requests.
void ServedInstance::accept_proposals(Batch& batch) {
    for (SequenceStep& step : batch.steps) {
        if (step.drafted == 0) {
            continue;
        }
        CounterRandom random(seed_,
                             (static_cast<std::uint64_t>(step.request) << 32) +
                                 static_cast<std::uint64_t>(step.context),
                             kProposals);
        while (step.accepted < step.drafted && random.uniform() < acceptance_) {
            ++step.accepted;
        }
        totals_.drafted_tokens += step.drafted;
        totals_.accepted_tokens += step.accepted;
    }
}

void ServedInstance::stop() {
    ORRERY_CHECK(!down_);
    down_ = true;
    ++failures_;
    under_way_.clear();
    open_loads_ = 0;
}

std::vector<RequestId> ServedInstance::leave() {
    std::vector<RequestId> all = scheduler_->requests();
    scheduler_ = std::make_unique<BatchScheduler>(rules_, limits_, *requests_);
    scheduler_->use(below_);
    return all;
}

void ServedInstance::restart(Time now) {
    ORRERY_CHECK(down_);
    down_ = false;
    std::fill(stage_free_.begin(), stage_free_.end(), now);
    steps_awake_ = -1;
    start_up();
}

}  // namespace orrery

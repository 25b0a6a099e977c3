// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/served_instance.h"

#include <algorithm>

#include "engine/check.h"
#include "engine/counter_random.h"

namespace orrery {

namespace {

constexpr std::uint32_t kProposals = 0x44726166;  // a stream of random numbers of its own

}  // namespace

ServedInstance::ServedInstance(const ServingPool& of,
                               std::size_t pool,
                               const std::vector<Request>& requests)
    : rules_(of.rules),
      limits_(of.limits),
      requests_(&requests),
      scheduler_(std::make_unique<BatchScheduler>(of.rules, of.limits, requests)),
      cost_(of.cost),
      pool_(pool),
      acceptance_(of.acceptance),
      seed_(of.seed),
      stage_free_(of.cost->num_stages()),
      stages_(of.cost->num_stages()) {}

std::optional<ServedInstance::Begun> ServedInstance::begin(Time now,
                                                           std::vector<RequestId>& preempted) {
    preempted.clear();
    if (down_ || stage_free_.front() > now || under_way_.size() == stage_free_.size()) {
        return std::nullopt;
    }
    Batch batch = scheduler_->next();
    preempted = batch.preempted;
    if (batch.steps.empty()) {
        return std::nullopt;
    }
    std::fill(stages_.begin(), stages_.end(), Time{});
    cost_->times(batch, stages_);
    Time end = now;
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
        if (factor_ != 1) {
            stages_[stage] = Time::seconds(stages_[stage].seconds() * factor_);
        }
        end = std::max(end, stage_free_[stage]) + stages_[stage];
        stage_free_[stage] = end;
    }
    count(batch);
    under_way_.push_back({.batch = std::move(batch), .end = end});
    return Begun{.end = end,
                 .first_stage_free = stage_free_.front(),
                 .batch = &under_way_.back().batch};
}

void ServedInstance::complete(std::vector<Sampled>& sampled) {
    accept_proposals(under_way_.front().batch);
    scheduler_->complete(under_way_.front().batch, sampled);
    under_way_.pop_front();
}

void ServedInstance::count(const Batch& batch) {
    const BlockPool& blocks = scheduler_->pool();
    totals_.busy += stages_.front();
    ++totals_.batches;
    totals_.most_blocks = std::max(totals_.most_blocks, blocks.num_blocks() - blocks.num_free());
    for (const SequenceStep& step : batch.steps) {
        totals_.computed_tokens += step.new_tokens;
    }
}

// The draw is the request's and its position's, so that it does not depend on the other requests.
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
}

std::vector<RequestId> ServedInstance::leave() {
    std::vector<RequestId> all = scheduler_->requests();
    scheduler_ = std::make_unique<BatchScheduler>(rules_, limits_, *requests_);
    return all;
}

void ServedInstance::restart(Time now) {
    ORRERY_CHECK(down_);
    down_ = false;
    std::fill(stage_free_.begin(), stage_free_.end(), now);
}

}  // namespace orrery

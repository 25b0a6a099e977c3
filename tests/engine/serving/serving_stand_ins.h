// SPDX-License-Identifier: Apache-2.0
// Costs, transfers and loads that tests of served loads can calculate with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "engine/base/counter_random.h"
#include "engine/serving/serving_run.h"

namespace orrery {

// fixed + sequences * each, on every stage.
class LinearCost : public StepCost {
public:
    LinearCost(Time fixed, Time each, std::size_t stages = 1)
        : fixed_(fixed), each_(each), stages_(stages) {}
    std::size_t num_stages() const override { return stages_; }
    void times(const Batch& batch, std::vector<Time>& stages) override {
        std::fill(stages.begin(),
                  stages.end(),
                  fixed_ + each_ * static_cast<std::int64_t>(batch.steps.size()));
    }

private:
    Time fixed_;
    Time each_;
    std::size_t stages_;
};

inline std::vector<Request> poisson(std::size_t count, double per_second, std::int64_t outputs) {
    CounterRandom random(11, 0, 1);
    std::vector<Request> requests;
    double now = 0;
    for (std::size_t i = 0; i < count; ++i) {
        now += random.exponential() / per_second;
        requests.push_back({.arrival = Time::seconds(now), .output_tokens = outputs});
    }
    return requests;
}

// Arrivals of exactly this rate.
inline std::vector<Request> poisson_at(std::size_t count, double per_second) {
    std::vector<Request> requests = poisson(count, per_second, 1);
    const double factor =
        static_cast<double>(count) / per_second / requests.back().arrival.seconds();
    for (Request& request : requests) {
        request.arrival = Time::seconds(request.arrival.seconds() * factor);
    }
    return requests;
}

inline ServingPool pool_of(StepCost& cost,
                           std::int64_t max_num_seqs = 1024,
                           std::size_t instances = 1) {
    return {.num_instances = instances,
            .rules = *find_batching_rules("vllm_v1"),
            .limits = {.max_num_seqs = max_num_seqs, .num_blocks = 100'000},
            .cost = &cost};
}

// Every transfer takes as long as its tokens, however many there are.
class UnsharedTransport : public CacheTransport {
public:
    // `of_block`: of what tiers below a cache hold.
    explicit UnsharedTransport(Time of_token, Time of_block = {})
        : of_token_(of_token), of_block_(of_block) {}
    void load(Time now, const SequenceLoad& load, std::size_t) override {
        std::int64_t blocks = 0;
        for (const CacheLoad& part : load.parts) {
            blocks += part.blocks;
        }
        ends_.emplace(now + of_block_ * blocks, load.request);
        loaded_blocks += blocks;
    }
    void start(
        Time now, RequestId request, std::size_t, std::size_t, std::int64_t tokens) override {
        ends_.emplace(now + of_token_ * tokens, request);
        ++started;
    }
    Time next_end() const override { return ends_.empty() ? Time::max() : ends_.begin()->first; }
    void pop_ended(Time now, std::vector<RequestId>& ended) override {
        while (next_end() == now) {
            ended.push_back(ends_.begin()->second);
            ends_.erase(ends_.begin());
        }
    }
    void cancel(Time, RequestId request) override {
        const auto found = std::find_if(
            ends_.begin(), ends_.end(), [&](const auto& one) { return one.second == request; });
        ASSERT_NE(found, ends_.end());
        ends_.erase(found);
        ++cancelled;
    }
    int started = 0;
    int cancelled = 0;
    std::int64_t loaded_blocks = 0;

private:
    Time of_token_;
    Time of_block_;
    std::multimap<Time, RequestId> ends_;
};

}  // namespace orrery

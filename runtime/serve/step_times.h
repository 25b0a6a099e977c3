// SPDX-License-Identifier: Apache-2.0
// The cost of steps on this machine, for the simulator: a few batches are timed before a server
// begins, and a linear model is fitted in the sizes that determine a step's work.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/serving_run.h"
#include "runtime/serve/decode_step.h"

namespace orrery {

struct StepSize {
    std::int64_t chunks = 1;
    std::int64_t new_tokens = 1;  // tokens per chunk
    std::int64_t context = 0;     // context per chunk
    bool samples = true;
};

class MeasuredStepCost final : public StepCost {
public:
    // The time is a sum over eight sizes: the step, its tokens, tiles of tokens in products,
    // samples, chunks, tiles of attention, tokens of context, and tokens of context beyond the
    // CPU's caches.
    static constexpr std::size_t kSizes = 8;
    using Sizes = std::array<double, kSizes>;
    // The first steps after an instance had nothing to compute take longer: threads and processes
    // wake up, and the CPU's caches and clock have changed.
    static constexpr std::size_t kWakingSteps = 8;
    struct Fit {
        Sizes seconds{};         // per unit of each size
        double held_tokens = 0;  // tokens of context that fit into the caches
        double slower = 1;       // factor of a server's steps on these sums
        std::array<double, kWakingSteps> waking_s{};
    };

    // Measures and fits. Overwrites the cache. `context` is the maximum length of a sequence in
    // tokens. Chunks use the model's adapters in turn.
    static Result<MeasuredStepCost> measure(DecodeStep& step,
                                            const SchedulerLimits& limits,
                                            std::int64_t context,
                                            std::int64_t adapters = 0);
    explicit MeasuredStepCost(const Fit& fit) : fit_(fit) {}

    void times(const Batch& batch, std::vector<Time>& stages) override;
    Time after_idling(std::int64_t steps) const override;
    double seconds_of(const Batch& batch) const;
    const Fit& fit() const { return fit_; }

private:
    Fit fit_;
};

MeasuredStepCost::Sizes sizes_of(const Batch& batch, double held_tokens);
// The nonnegative factors whose sums are closest to the seconds of these batches, and the best
// number of held tokens among powers of two. Errors are relative.
MeasuredStepCost::Fit fit_step_times(std::span<const Batch> batches,
                                     std::span<const double> seconds);

}  // namespace orrery

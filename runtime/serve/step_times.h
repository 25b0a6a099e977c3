// SPDX-License-Identifier: Apache-2.0
// What steps of this machine cost: times of a few batches, measured before a server begins, and a
// line through them in the sizes that a step's work grows with. The simulator serves with these
// costs what the server is about to serve.
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
    std::int64_t new_tokens = 1;  // of each
    std::int64_t context = 0;     // of each
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
    // wake up, and caches and clock of the CPU are no longer as computation had left them.
    static constexpr std::size_t kWakingSteps = 8;
    struct Fit {
        Sizes seconds{};         // of each size
        double held_tokens = 0;  // of context, by the caches
        double slower = 1;       // a server's steps than these sums
        std::array<double, kWakingSteps> waking_s{};
    };

    // Overwrites the cache. `context`: tokens of a sequence at most. `adapters` of the model are
    // taken in turn.
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
// The factors, none negative, whose sums come closest to the seconds of these batches, and the
// number of held tokens among powers of two with which they come closest. Errors count relatively.
MeasuredStepCost::Fit fit_step_times(std::span<const Batch> batches,
                                     std::span<const double> seconds);

}  // namespace orrery

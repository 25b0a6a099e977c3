// SPDX-License-Identifier: Apache-2.0
// What steps of this machine cost: times of a few batches, measured before a server begins, and a
// line through them in the sizes that a step's work grows with. The simulator serves with these
// costs what the server is about to serve.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/result.h"
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
    // Sizes that the time is a sum of: a step, its tokens, products' tiles of tokens, samples,
    // chunks, attention's tiles, tokens of context.
    static constexpr std::size_t kSizes = 7;
    using Sizes = std::array<double, kSizes>;

    // Overwrites the cache. `context`: tokens of a sequence at most.
    static Result<MeasuredStepCost> measure(DecodeStep& step,
                                            const SchedulerLimits& limits,
                                            std::int64_t context);
    explicit MeasuredStepCost(const Sizes& seconds) : seconds_(seconds) {}

    void times(const Batch& batch, std::vector<Time>& stages) override;
    const Sizes& seconds_of_sizes() const { return seconds_; }

private:
    Sizes seconds_;
};

MeasuredStepCost::Sizes sizes_of(const Batch& batch);
// The factors, none negative, whose sums come closest to the seconds; errors count relatively.
MeasuredStepCost::Sizes fit_step_times(std::span<const MeasuredStepCost::Sizes> sizes,
                                       std::span<const double> seconds);

}  // namespace orrery

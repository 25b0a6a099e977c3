// SPDX-License-Identifier: Apache-2.0
#include "models/schedule/dual_pipe.h"

#include <algorithm>
#include <array>
#include <deque>

#include "engine/base/check.h"

namespace orrery {
namespace {

// The steps of a rank, in the eight phases of deepseek-ai/DualPipe. `near` is the direction whose
// first stage is closer to the rank, or chunk 0.
class DualOrder {
public:
    explicit DualOrder(std::int32_t near) : near_(near) {}

    // `half` is the number of ranks on one side, and `place` the rank's index among them, counted
    // from the end of the pipeline. The middle phase has 2 x `pairs` fused pairs, of both kinds.
    std::vector<DualStep> make(std::int32_t half, std::int32_t place, std::int32_t pairs) {
        const std::int32_t rest = half - place - 1;
        for (std::int32_t i = 0; i < 2 * rest; ++i) {
            forward(0);
        }
        for (std::int32_t i = 0; i <= place; ++i) {
            forward(0);
            forward(1);
        }
        for (std::int32_t i = 0; i < rest; ++i) {
            backward(1, true);
            weight();
            forward(1);
        }
        for (std::int32_t i = 0; i < pairs; ++i) {
            if (i == 0 && rest == 0) {  // the backward pass is of this very forward pass
                forward(0);
                backward(1, false);
            } else {
                pair(0, 1);
            }
            pair(1, 0);
        }
        for (std::int32_t i = 0; i < rest; ++i) {
            backward(1, false);
            pair(1, 0);
        }
        bool input_only = false;
        for (std::int32_t i = 0; i <= place; ++i) {
            const bool middle = i == (place + 1) / 2;
            input_only |= middle && place % 2 == 1;
            backward(1, input_only);
            input_only |= middle && place % 2 == 0;
            backward(0, input_only);
        }
        for (std::int32_t i = 0; i < rest; ++i) {
            weight();
            backward(0, true);
        }
        for (std::int32_t i = 0; i <= place; ++i) {
            weight();
        }
        ORRERY_CHECK(without_weights_.empty());
        return std::move(steps_);
    }

private:
    std::int32_t direction(std::int32_t which) const { return which == 0 ? near_ : 1 - near_; }
    DualPass next(std::array<std::int32_t, 2>& counts, std::int32_t which) {
        const std::int32_t d = direction(which);
        return {d, counts[static_cast<std::size_t>(d)]++};
    }
    void forward(std::int32_t which) {
        steps_.push_back({.kind = DualStepKind::forward, .forward = next(forwards_, which)});
    }
    void backward(std::int32_t which, bool input_only) {
        const DualPass pass = next(backwards_, which);
        steps_.push_back(
            {.kind = input_only ? DualStepKind::backward_input : DualStepKind::backward,
             .backward = pass});
        if (input_only) {
            without_weights_.push_back(pass);
        }
    }
    void weight() {
        ORRERY_CHECK(!without_weights_.empty());
        steps_.push_back({.kind = DualStepKind::weight, .backward = without_weights_.front()});
        without_weights_.pop_front();
    }
    void pair(std::int32_t forward_of, std::int32_t backward_of) {
        const DualPass forward = next(forwards_, forward_of);
        steps_.push_back({.kind = DualStepKind::pair,
                          .forward = forward,
                          .backward = next(backwards_, backward_of)});
    }

    std::int32_t near_;
    std::vector<DualStep> steps_;
    std::array<std::int32_t, 2> forwards_{};
    std::array<std::int32_t, 2> backwards_{};
    std::deque<DualPass> without_weights_;
};

StageOrder passes_of(const std::vector<DualStep>& steps, bool halves, std::int32_t micro_batches) {
    StageOrder order;
    const auto add = [&](Pass pass, const DualPass& of) {
        const std::int32_t first = halves && of.direction == 1 ? micro_batches / 2 : 0;
        order.push_back(
            {.pass = pass, .chunk = of.direction, .micro_batch = first + of.micro_batch});
    };
    for (const DualStep& step : steps) {
        switch (step.kind) {
            case DualStepKind::forward:
                add(Pass::forward, step.forward);
                break;
            case DualStepKind::backward:
                add(Pass::backward, step.backward);
                break;
            case DualStepKind::backward_input:
                add(Pass::backward_input, step.backward);
                break;
            case DualStepKind::weight:
                add(Pass::backward_weight, step.backward);
                break;
            case DualStepKind::pair:
                add(Pass::backward, step.backward);
                add(Pass::forward, step.forward);
                break;
        }
    }
    return order;
}

}  // namespace

std::vector<DualStep> dual_pipe_steps(std::int32_t stages,
                                      std::int32_t micro_batches,
                                      std::int32_t rank) {
    ORRERY_CHECK(stages % 2 == 0 && micro_batches % 2 == 0 && micro_batches >= 2 * stages);
    ORRERY_CHECK(rank >= 0 && rank < stages);
    const std::int32_t place = std::min(rank, stages - 1 - rank);
    return DualOrder{rank < stages / 2 ? 0 : 1}.make(
        stages / 2, place, micro_batches / 2 - stages + place + 1);
}

std::vector<DualStep> dual_pipe_v_steps(std::int32_t ranks,
                                        std::int32_t micro_batches,
                                        std::int32_t rank) {
    ORRERY_CHECK(rank >= 0 && rank < ranks && micro_batches >= 2 * ranks);
    return DualOrder{0}.make(ranks, rank, micro_batches - 2 * ranks + rank + 1);
}

StageOrder dual_pipe(const ScheduleShape& shape, std::int32_t stage) {
    return passes_of(
        dual_pipe_steps(shape.stages, shape.micro_batches, stage), true, shape.micro_batches);
}

StageOrder dual_pipe_v(const ScheduleShape& shape, std::int32_t stage) {
    return passes_of(
        dual_pipe_v_steps(shape.stages, shape.micro_batches, stage), false, shape.micro_batches);
}

}  // namespace orrery

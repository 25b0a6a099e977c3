// SPDX-License-Identifier: Apache-2.0
#include "models/schedule/dual_pipe.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <tuple>

#include "engine/check.h"

namespace orrery {
namespace {

// What a rank does, in the eight phases of deepseek-ai/DualPipe. `near` is the direction whose
// first stage is closer to the rank, or chunk 0.
class DualOrder {
public:
    explicit DualOrder(std::int32_t near) : near_(near) {}

    // `half`: ranks on one side; `place`: of these, counted from the end of the pipeline; `pairs`:
    // twice as many fused pairs of both kinds run in the middle.
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
            if (i == 0 && rest == 0) {  // the backward pass needs this very forward pass
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

// Runs the orders of all ranks. `stage_of` gives the stage of a rank in a direction, and a stage's
// passes of a line follow one another: a line is a direction (DualPipe), or all (DualPipeV).
class DualRunner {
public:
    DualRunner(std::vector<std::vector<DualStep>> orders, std::int32_t stages, bool v)
        : orders_(std::move(orders)), stages_(stages), v_(v) {}

    DualPipeRun run(const DualPassTimes& times) {
        const std::size_t ranks = orders_.size();
        std::vector<std::size_t> done(ranks, 0);
        std::vector<std::int64_t> free(ranks, 0);
        std::vector<std::int64_t> busy(ranks, 0);
        for (bool moved = true; moved;) {
            moved = false;
            for (std::size_t r = 0; r < ranks; ++r) {
                while (done[r] < orders_[r].size()) {
                    const DualStep& step = orders_[r][done[r]];
                    const std::optional<std::int64_t> ready =
                        ready_at(static_cast<std::int32_t>(r), step);
                    if (!ready) {
                        break;
                    }
                    const std::int64_t duration = duration_of(step, times);
                    free[r] = std::max(free[r], *ready) + duration;
                    busy[r] += duration;
                    finish(static_cast<std::int32_t>(r), step, free[r]);
                    ++done[r];
                    moved = true;
                }
            }
        }
        DualPipeRun result;
        for (std::size_t r = 0; r < ranks; ++r) {
            ORRERY_CHECK(done[r] == orders_[r].size());
            result.makespan = std::max(result.makespan, free[r]);
        }
        for (std::size_t r = 0; r < ranks; ++r) {
            result.idle.push_back(result.makespan - busy[r]);
        }
        return result;
    }

private:
    using Key = std::tuple<bool, std::int32_t, std::int32_t, std::int32_t>;

    static std::int64_t duration_of(const DualStep& step, const DualPassTimes& times) {
        switch (step.kind) {
            case DualStepKind::forward:
                return times.forward;
            case DualStepKind::backward:
                return times.backward;
            case DualStepKind::backward_input:
                return times.backward - times.weight;
            case DualStepKind::weight:
                return times.weight;
            case DualStepKind::pair:
                return times.pair;
        }
        return 0;
    }
    std::int32_t stage_of(std::int32_t rank, std::int32_t direction) const {
        return direction == 0 ? rank : stages_ - 1 - rank;
    }
    Key key(bool forward, std::int32_t stage, const DualPass& pass) const {
        return {forward, v_ ? 0 : pass.direction, stage, pass.micro_batch};
    }
    std::optional<std::int64_t> end_of(const Key& key) const {
        const auto found = ends_.find(key);
        return found == ends_.end() ? std::nullopt : std::optional{found->second};
    }
    std::optional<std::int64_t> ready_at(std::int32_t rank, const DualStep& step) const {
        std::int64_t ready = 0;
        const auto after = [&](const Key& key) {
            const std::optional<std::int64_t> end = end_of(key);
            ready = std::max(ready, end.value_or(0));
            return end.has_value();
        };
        const bool forward = step.kind == DualStepKind::forward || step.kind == DualStepKind::pair;
        if (forward) {
            const std::int32_t stage = stage_of(rank, step.forward.direction);
            if (stage > 0 && !after(key(true, stage - 1, step.forward))) {
                return std::nullopt;
            }
        }
        if (step.kind != DualStepKind::forward && step.kind != DualStepKind::weight) {
            const std::int32_t stage = stage_of(rank, step.backward.direction);
            const bool last = stage == stages_ - 1;
            if (!after(last ? key(true, stage, step.backward)
                            : key(false, stage + 1, step.backward))) {
                return std::nullopt;
            }
        }
        return ready;
    }
    void finish(std::int32_t rank, const DualStep& step, std::int64_t end) {
        if (step.kind == DualStepKind::forward || step.kind == DualStepKind::pair) {
            ends_[key(true, stage_of(rank, step.forward.direction), step.forward)] = end;
        }
        if (step.kind != DualStepKind::forward && step.kind != DualStepKind::weight) {
            ends_[key(false, stage_of(rank, step.backward.direction), step.backward)] = end;
        }
    }

    std::vector<std::vector<DualStep>> orders_;
    std::int32_t stages_;
    bool v_;
    std::map<Key, std::int64_t> ends_;
};

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

DualPipeRun dual_pipe_run(std::int32_t stages,
                          std::int32_t micro_batches,
                          const DualPassTimes& times) {
    std::vector<std::vector<DualStep>> orders;
    for (std::int32_t rank = 0; rank < stages; ++rank) {
        orders.push_back(dual_pipe_steps(stages, micro_batches, rank));
    }
    return DualRunner{std::move(orders), stages, false}.run(times);
}

DualPipeRun dual_pipe_v_run(std::int32_t ranks,
                            std::int32_t micro_batches,
                            const DualPassTimes& times) {
    std::vector<std::vector<DualStep>> orders;
    for (std::int32_t rank = 0; rank < ranks; ++rank) {
        orders.push_back(dual_pipe_v_steps(ranks, micro_batches, rank));
    }
    return DualRunner{std::move(orders), 2 * ranks, true}.run(times);
}

std::int64_t dual_pipe_bubble(std::int32_t stages, const DualPassTimes& times) {
    return (stages / 2 - 1) * (times.pair + times.backward - 3 * times.weight);
}

}  // namespace orrery

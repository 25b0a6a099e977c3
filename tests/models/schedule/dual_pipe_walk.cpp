// SPDX-License-Identifier: Apache-2.0
#include "tests/models/schedule/dual_pipe_walk.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "engine/base/check.h"

namespace orrery {
namespace {

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

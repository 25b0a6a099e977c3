// SPDX-License-Identifier: Apache-2.0
// The step time of many plans for one model and cluster on a network without contention, to the
// picosecond that `orrery simulate` gives, thousands of times as fast: what plans have in common
// (chunks, transfers, the end of the step) is lowered and priced once, and each plan's step is
// folded (engine/folded_step.h). Plans that do not fold are refused: parameters that are gathered
// layer by layer (ZeRO 3), exchanges that run on beside the next pass, groups that are placed
// differently.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/lowering.h"
#include "scenarios/search/chunk_timing.h"

namespace orrery {

class PlanTimer {
public:
    // `launch_cost` of a plan without and with CUDA graphs, and HostWorkKind::restart.
    struct Launch {
        Time each;
        Time of_graph;
        Time restart;
    };
    // All must outlive the timer.
    PlanTimer(const Transformer& model,
              const NetworkModel& network,
              KernelTimer kernels,
              Launch launch);
    ~PlanTimer();

    // Or why the plan is refused.
    tl::expected<Time, std::string_view> step_of(const ParallelPlan& plan);

private:
    using Key = std::vector<std::int64_t>;
    struct StepEnd;
    class StageBuilder;

    StagePrices& prices_of(const ParallelPlan& plan, const LayoutAssignment& layouts);
    // Null if it is refused.
    const ChunkTiming* chunk_of(const ParallelPlan& plan,
                                const LayoutAssignment& layouts,
                                const ChunkShape& shape,
                                StagePrices& prices);
    const StepEnd* end_of(const ParallelPlan& plan,
                          const LayoutAssignment& layouts,
                          const std::vector<const ChunkTiming*>& chunks,
                          StagePrices& prices);

    const Transformer& model_;
    const NetworkModel& network_;
    KernelTimer kernels_;
    Launch launch_;
    PassTiming restart_;  // of the host, behind an exchange that it waits for
    std::map<Key, std::unique_ptr<StagePrices>> prices_;
    std::map<Key, tl::expected<ChunkTiming, std::string_view>> chunks_;
    std::map<std::pair<Key, std::vector<const ChunkTiming*>>, std::unique_ptr<StepEnd>> ends_;
    std::string_view why_;  // the plan at hand is refused
};

}  // namespace orrery

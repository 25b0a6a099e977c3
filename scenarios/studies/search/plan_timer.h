// SPDX-License-Identifier: Apache-2.0
// The step times of many plans for one model and cluster on a network without contention. They
// equal those of `orrery simulate` to the picosecond and are computed thousands of times as fast.
// Common parts of plans (chunks, transfers, the end of the step) are lowered and priced once. Each
// step is folded (engine/folded/folded_step.h), and plans with equal folded steps (for example ZeRO
// 1 and 2) are simulated once. Plans that do not fold are refused: parameters that are gathered
// layer by layer (ZeRO 3) or beside the next step, exchanges that overlap the next pass, groups
// with different placements.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "scenarios/studies/search/lowered_chunk.h"

namespace orrery {

class PlanTimer {
public:
    // The host time of one op under a plan (StepEfficiency::launch_cost).
    using LaunchCost = std::function<Time(const ParallelPlan&)>;
    // All arguments must outlive the timer. `restart` is the time of HostWorkKind::restart.
    PlanTimer(const Transformer& model,
              const NetworkModel& network,
              KernelTimer kernels,
              LaunchCost launch,
              Time restart);

    // The step time, or the reason why the plan is refused.
    tl::expected<Time, std::string_view> step_of(const ParallelPlan& plan);

private:
    // Layers; embedding and head; first layer, if it matters.
    using ShapeKey = std::tuple<std::int64_t, int, std::int64_t>;
    using LoweredKey = std::pair<ParallelPlan, ShapeKey>;
    // Order of the passes, host time of an op, contents of the stages.
    using StepKey = std::tuple<ParallelPlan, Time, std::vector<std::int64_t>>;
    using Step = tl::expected<Time, std::string_view>;
    class StageBuilder;
    // Gradient norm, the barrier, and the optimizer after it.
    struct StepEnd {
        const PassTiming* norm = nullptr;
        std::optional<FixedTransfer> barrier{};  // empty: a single rank
        Time tail{};
        std::uint32_t tail_launches = 0;
    };
    struct TimedChunk {
        LoweredChunk* lowered = nullptr;
        tl::expected<ChunkTiming, std::string_view> timing{};
    };
    // Plans that differ only in the order of their passes.
    struct Family {
        StagePrices* prices = nullptr;
        std::map<ShapeKey, std::unique_ptr<TimedChunk>> chunks{};
        std::map<std::vector<TimedChunk*>, std::unique_ptr<StepEnd>> ends{};  // by stage's chunks
    };
    // A plan's parts.
    struct Parts {
        std::vector<TimedChunk*> chunks;     // stage by stage
        std::vector<const StepEnd*> ends{};  // by stage
    };

    Family& family_of(const ParallelPlan& plan, const LayoutAssignment& layouts);
    TimedChunk& chunk_of(Family& family,
                         const ParallelPlan& plan,
                         const LayoutAssignment& layouts,
                         const ChunkShape& shape);
    ShapeKey shape_key(const ChunkShape& shape) const;
    LoweredChunk& lowered(const ParallelPlan& plan, const ChunkShape& shape);
    // Null if it is refused.
    const StepEnd* end_of(Family& family,
                          const ParallelPlan& plan,
                          const LayoutAssignment& layouts,
                          const std::vector<TimedChunk*>& chunks);
    std::unique_ptr<StepEnd> make_end(const ParallelPlan& plan,
                                      const LayoutAssignment& layouts,
                                      const std::vector<TimedChunk*>& chunks,
                                      StagePrices& prices);
    // The parts, or the reason why there are none.
    tl::expected<Parts, std::string_view> parts_of(Family& family,
                                                   const ParallelPlan& plan,
                                                   const LayoutAssignment& layouts);
    StepKey step_key(const ParallelPlan& plan,
                     const LayoutAssignment& layouts,
                     const Parts& parts,
                     StagePrices& prices) const;
    Step simulate(const ParallelPlan& plan,
                  const LayoutAssignment& layouts,
                  const Parts& parts,
                  StagePrices& prices);

    const Transformer& model_;
    const NetworkModel& network_;
    KernelTimer kernels_;
    LaunchCost launch_;
    PassTiming restart_;  // of the host, after an exchange that it waits for
    TimingPool pool_;
    std::map<Mesh, std::unique_ptr<StagePrices>> prices_;
    std::map<LoweredKey, std::unique_ptr<LoweredChunk>> lowered_;
    std::map<ParallelPlan, Family> families_;
    std::map<StepKey, Step> steps_;
};

}  // namespace orrery

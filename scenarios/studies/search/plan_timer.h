// SPDX-License-Identifier: Apache-2.0
// The step time of many plans for one model and cluster on a network without contention, to the
// picosecond that `orrery simulate` gives, thousands of times as fast: what plans have in common
// (chunks, transfers, the end of the step) is lowered and priced once, each step is folded
// (engine/folded/folded_step.h), and of plans whose folded steps are the same (whether they shard
// only optimizer state or gradients too, say) one is simulated. Plans that do not fold are refused:
// parameters that are gathered layer by layer (ZeRO 3) or beside the next step, exchanges that run
// on beside the next pass, groups that are placed differently.
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
    // Host time of one op under a plan (StepEfficiency::launch_cost).
    using LaunchCost = std::function<Time(const ParallelPlan&)>;
    // All must outlive the timer. `restart`: of HostWorkKind::restart.
    PlanTimer(const Transformer& model,
              const NetworkModel& network,
              KernelTimer kernels,
              LaunchCost launch,
              Time restart);

    // Or why the plan is refused.
    tl::expected<Time, std::string_view> step_of(const ParallelPlan& plan);

private:
    // Layers, embedding and head, first layer if that matters.
    using ShapeKey = std::tuple<std::int64_t, int, std::int64_t>;
    using LoweredKey = std::pair<ParallelPlan, ShapeKey>;
    // Order of the passes, host time of an op, what the stages consist of.
    using StepKey = std::tuple<ParallelPlan, Time, std::vector<std::int64_t>>;
    using Step = tl::expected<Time, std::string_view>;
    class StageBuilder;
    // Gradient norm, the barrier, and the optimizer behind it.
    struct StepEnd {
        const PassTiming* norm = nullptr;
        std::optional<FixedTransfer> barrier{};  // nothing: a rank alone
        Time tail{};
        std::uint32_t tail_launches = 0;
    };
    struct TimedChunk {
        LoweredChunk* lowered = nullptr;
        tl::expected<ChunkTiming, std::string_view> timing{};
    };
    // Plans that differ in nothing but the order of their passes.
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
    // Or why there are none.
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
    PassTiming restart_;  // of the host, behind an exchange that it waits for
    TimingPool pool_;
    std::map<Mesh, std::unique_ptr<StagePrices>> prices_;
    std::map<LoweredKey, std::unique_ptr<LoweredChunk>> lowered_;
    std::map<ParallelPlan, Family> families_;
    std::map<StepKey, Step> steps_;
};

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The passes of a model chunk, lowered separately by the functions that lower whole programs, once
// for all plans whose passes have the same ops. Such plans differ in schedule, in the sizes of the
// pipeline and of the data axes, and in the sharding and transfers of gradients and optimizer
// state. The different parts (reductions, gathers and the waits for them) are lowered after that
// for each plan. The order of the ranks is a difference, too: it determines the places of groups,
// which only prices depend on.
#pragma once

#include <functional>
#include <string_view>
#include <tl/expected.hpp>

#include "engine/world/simulation.h"
#include "models/lowering/gradient_sync.h"
#include "models/lowering/optimizer_lowering.h"
#include "models/plan/layout_assignment.h"
#include "models/segments/segment_builder.h"
#include "scenarios/studies/search/chunk_timing.h"

namespace orrery {

// The times of a program's kernels alone on the device.
using KernelTimer = std::function<DeviceTimings(const Program&)>;

// The plan with fixed values for all fields that its passes' ops do not depend on. Not for sharded
// parameters (LayoutAssignment::weights).
ParallelPlan plan_of_passes(const ParallelPlan& plan);

class LoweredChunk {
public:
    // `plan` is a result of plan_of_passes(). The model must outlive the chunk. `few`, if not null,
    // has the same plan and shape but kFewLayers layers; its layers are repeated
    // (models/blocks/repeated_layers.h).
    LoweredChunk(const Transformer& model,
                 const ParallelPlan& plan,
                 const ChunkShape& shape,
                 const KernelTimer& kernels,
                 LoweredChunk* few = nullptr);
    LoweredChunk(const LoweredChunk&) = delete;

    // The timing of a plan with this plan_of_passes(), or the reason why it does not fit into a
    // folded step.
    tl::expected<ChunkTiming, std::string_view> time(const ParallelPlan& plan,
                                                     const LayoutAssignment& layouts,
                                                     StagePrices& prices,
                                                     TimingPool& pool);

    Chunk& chunk() { return *chunk_; }

private:
    // Slots; none if absent.
    struct Slots {
        std::uint32_t parameters;
        std::uint32_t receive_forward;
        std::uint32_t forward;
        std::uint32_t send_forward;
        std::uint32_t receive_backward;
        std::uint32_t backward;
        std::uint32_t weight;
        std::uint32_t send_backward;
        std::uint32_t gradients;
        std::uint32_t tied;
    };
    // Segments of messages, if the chunk has them.
    struct Messages {
        std::optional<SegmentId> receive_forward;
        std::optional<SegmentId> send_forward;
        std::optional<SegmentId> receive_backward;
        std::optional<SegmentId> send_backward;
    };
    struct PricedPasses {
        std::string_view refused;  // the reason, or empty
        PlacedPass passes[3];      // by ChunkPass
    };

    void begin_program();
    void lower_layers(const ParallelPlan& plan, const ChunkShape& shape);
    void lower_messages();
    SegmentId lower_message(StreamId stream, bool send, int delta, const Value& value);
    void follow_rank_order(const LayoutAssignment& layouts);
    void add_slots(const ParallelPlan& plan, const LayoutAssignment& layouts);
    std::uint32_t add(SegmentId segment);
    std::uint32_t add(std::optional<SegmentId> segment);
    const PricedPasses& price_passes(StagePrices& prices, TimingPool& pool);
    std::string_view price_pass(SegmentId segment,
                                StagePrices& prices,
                                TimingPool& pool,
                                PlacedPass& out) const;
    bool take_waits(const PricedPasses& priced, ChunkTiming& out) const;
    bool take_pass_waits(ChunkPass which,
                         std::uint32_t slot,
                         std::uint32_t receive,
                         const PricedPasses& priced,
                         ChunkTiming& out) const;
    std::optional<ChunkPlace> place_of(const SlotWait& wait, const PricedPasses& priced) const;
    std::optional<ChunkPass> pass_of(std::uint32_t slot) const;
    bool take_data(std::uint32_t slot,
                   const PricedPasses& priced,
                   StagePrices& prices,
                   std::vector<ChunkDataOp>& out) const;

    const Transformer& model_;
    LayoutAssignment layouts_;
    Program program_;
    ProgramTables tables_;
    std::unique_ptr<Chunk> chunk_;
    std::uint32_t gradients_pipeline_digit_ = 0;  // of the layouts of the parameters' gradients
    Messages messages_;
    Bytes message_bytes_;
    DeviceTimings device_;
    std::map<const StagePrices*, PricedPasses> priced_;
    // The role and the slots of the present plan.
    Role role_;
    Slots slots_{};
};

}  // namespace orrery

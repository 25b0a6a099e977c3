// SPDX-License-Identifier: Apache-2.0
// The passes of a model chunk, lowered on their own from the very functions that lower whole
// programs, once for all plans whose passes have the same ops: such plans differ in schedule, in
// the sizes of the pipeline and of the data axes, in how gradients and optimizer state are sharded
// and when they move. What they do differently (reductions, gathers and the waits for them) is
// lowered behind that for each of them. The order of the ranks is one of those differences: it says
// where groups lie, and the prices know.
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

// What an op takes alone, and the device.
using KernelTimer = std::function<DeviceTimings(const Program&)>;

// The plan with all that its passes' ops do not depend on at one value. Not if parameters are
// sharded (LayoutAssignment::weights).
ParallelPlan plan_of_passes(const ParallelPlan& plan);

class LoweredChunk {
public:
    // `plan` is a plan_of_passes(). The model must outlive the chunk. `few`, if not null: of the
    // same plan and shape, but for having kFewLayers layers, which are repeated
    // (models/blocks/repeated_layers.h).
    LoweredChunk(const Transformer& model,
                 const ParallelPlan& plan,
                 const ChunkShape& shape,
                 const KernelTimer& kernels,
                 LoweredChunk* few = nullptr);
    LoweredChunk(const LoweredChunk&) = delete;

    // The timing of a plan with this plan_of_passes(), or why it does not fit into a folded step.
    tl::expected<ChunkTiming, std::string_view> time(const ParallelPlan& plan,
                                                     const LayoutAssignment& layouts,
                                                     StagePrices& prices,
                                                     TimingPool& pool);

    Chunk& chunk() { return *chunk_; }

private:
    // Slots, or none.
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
    // Segments of messages, where the chunk has them.
    struct Messages {
        std::optional<SegmentId> receive_forward;
        std::optional<SegmentId> send_forward;
        std::optional<SegmentId> receive_backward;
        std::optional<SegmentId> send_backward;
    };
    struct PricedPasses {
        std::string_view refused;  // why, or empty
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
    // The role and the slots of the plan at hand.
    Role role_;
    Slots slots_{};
};

}  // namespace orrery

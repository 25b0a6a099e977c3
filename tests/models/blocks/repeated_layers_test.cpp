// SPDX-License-Identifier: Apache-2.0
// A chunk that is repeated from few layers against the same chunk lowered layer by layer: the same
// ops, and the same waits between its slots.
#include "models/blocks/repeated_layers.h"

#include <gtest/gtest.h>

#include <span>

#include "models/lowering/gradient_sync.h"
#include "models/plan/layout_assignment.h"
#include "models/plan/rank_mesh.h"
#include "models/segments/slot_waits.h"
#include "tests/models/drawn_plans.h"

namespace orrery {
namespace {

constexpr std::int64_t kManyLayers = 11;

struct ChunkProgram {
    explicit ChunkProgram(const LayoutAssignment& layouts) : tables(program) {
        program.parties.front().mesh = layouts.mesh;
        program.parties.front().role_digit = layouts.pipeline_digit;
    }

    Program program;
    ProgramTables tables;
    std::unique_ptr<Chunk> chunk;
};

// The passes over one micro-batch, and what is gathered before and reduced behind them.
Role role_of(ChunkProgram& of, const ParallelPlan& plan, const LayoutAssignment& layouts) {
    const Chunk& chunk = *of.chunk;
    const SyncSegments sync = lower_sync(of.tables, plan, layouts, *of.chunk);
    Role role;
    const auto add = [&](std::optional<SegmentId> segment) {
        if (segment) {
            role.slots.push_back({.segment = *segment, .micro_batch = 0, .waits = {}});
        }
    };
    add(sync.parameters);
    add(chunk.forward);
    add(chunk.backward);
    add(chunk.splits_backward ? std::optional{chunk.backward_weight} : std::nullopt);
    add(sync.gradients);
    derive_slot_waits(of.program, role);
    return role;
}

bool same_call(const Program& a, const Op& x, const Program& b, const Op& y) {
    if (x.kind() != y.kind()) {
        return false;
    }
    switch (x.kind()) {
        case OpKind::kernel:
            return a.kernel(x) == b.kernel(y);
        case OpKind::collective:
            return a.collective(x) == b.collective(y);
        case OpKind::send_recv:
            return a.send_recv(x) == b.send_recv(y);
        default:
            return false;
    }
}

void expect_same_ops(const Program& a, const Segment& x, const Program& b, const Segment& y) {
    ASSERT_EQ(x.ops.size(), y.ops.size());
    for (std::size_t o = 0; o < x.ops.size(); ++o) {
        const Op& p = x.ops[o];
        const Op& q = y.ops[o];
        ASSERT_TRUE(same_call(a, p, b, q)) << o;
        ASSERT_EQ(p.stream, q.stream) << o;
        ASSERT_EQ(p.launches, q.launches) << o;
        const auto waits = std::span{a.waits}.subspan(p.first_wait, p.num_waits);
        const auto others = std::span{b.waits}.subspan(q.first_wait, q.num_waits);
        ASSERT_TRUE(std::ranges::equal(waits, others)) << o;
    }
}

void expect_same_slots(const Program& a, const Role& x, const Program& b, const Role& y) {
    ASSERT_EQ(x.slots.size(), y.slots.size());
    for (std::size_t s = 0; s < x.slots.size(); ++s) {
        expect_same_ops(a, a.segment_of(x.slots[s]), b, b.segment_of(y.slots[s]));
        const std::vector<SlotWait>& waits = x.slots[s].waits;
        const std::vector<SlotWait>& others = y.slots[s].waits;
        ASSERT_EQ(waits.size(), others.size()) << s;
        for (std::size_t w = 0; w < waits.size(); ++w) {
            ASSERT_EQ(waits[w].op, others[w].op) << s;
            ASSERT_EQ(waits[w].slot, others[w].slot) << s;
            ASSERT_EQ(waits[w].slot_op, others[w].slot_op) << s;
        }
    }
}

// False if the chunk's layers differ.
bool compare(const Transformer& model, const ParallelPlan& plan, bool embedding, bool head) {
    const LayoutAssignment layouts = assign_layouts(plan, ranks_of_key_value_head(model, plan));
    ChunkShape shape{.num_layers = kFewLayers, .has_embedding = embedding, .has_head = head};
    ChunkProgram few{layouts};
    few.chunk = lower_chunk(few.tables, model, plan, layouts, shape, {});
    shape.num_layers = kManyLayers;
    ChunkProgram many{layouts};
    many.chunk = lower_chunk(many.tables, model, plan, layouts, shape, {});
    ChunkProgram repeated{layouts};
    repeated.chunk = repeat_layers(repeated.tables, model, layouts, shape, few.program, *few.chunk);
    if (repeated.chunk == nullptr) {
        return false;
    }
    const Role role = role_of(many, plan, layouts);
    expect_same_slots(many.program, role, repeated.program, role_of(repeated, plan, layouts));
    return true;
}

TEST(RepeatedLayers, HaveTheOpsAndTheWaitsOfLoweredLayers) {
    int alike = 0;
    int repeated = 0;
    for (std::uint64_t seed = 0; seed < 150; ++seed) {
        DrawnPlan drawn = PlanDrawer{seed}.draw();
        drawn.model.num_layers = kManyLayers;
        if (!layers_are_alike(drawn.model, drawn.plan) ||
            !drawn.plan.stage_tensor_model_parallel_sizes.empty()) {
            continue;
        }
        for (const auto& [embedding, head] :
             {std::pair{false, false}, {true, false}, {false, true}, {true, true}}) {
            ++alike;
            repeated += compare(drawn.model, drawn.plan, embedding, head) ? 1 : 0;
            ASSERT_FALSE(::testing::Test::HasFailure()) << drawn.text();
        }
    }
    EXPECT_GT(alike, 150);
    EXPECT_EQ(repeated, alike);
}

TEST(RepeatedLayers, LayersOfDifferentKindsAreNotAlike) {
    DrawnPlan drawn = PlanDrawer{1}.draw();
    Transformer model = drawn.model;
    model.sliding_window = 16;
    EXPECT_FALSE(layers_are_alike(model, drawn.plan));
    ParallelPlan plan = drawn.plan;
    plan.recompute_granularity = Recompute::full;
    plan.recompute_method = RecomputeMethod::block;
    EXPECT_FALSE(layers_are_alike(drawn.model, plan));
}

}  // namespace
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/tape.h"

#include <gtest/gtest.h>

#include "kernels/residual/residual.h"
#include "models/lowering/lowering.h"
#include "tests/models/long_context_models.h"

namespace orrery {
namespace {

std::vector<std::string> calls;

// Notes when it runs.
class NotedNode : public Node {
public:
    explicit NotedNode(std::string name) : name_(std::move(name)) {}
    void forward(ForwardPass& pass) override {
        calls.push_back(name_ + (pass.b.recomputing ? " again" : " forward"));
    }
    void backward(BackwardPass& pass) override {
        calls.push_back(name_ + (pass.deferred == nullptr ? " backward" : " backward, deferred"));
    }

private:
    std::string name_;
};

class TapeTest : public testing::Test {
protected:
    TapeTest() { calls.clear(); }

    Transformer model_ = gpt(1, 64, 4, 32, 128);
    ParallelPlan plan_;
    LayoutAssignment layouts_ = assign_layouts(plan_);
    Program program_;
    ProgramTables tables_{program_};
    BlockBuilder b_{tables_, model_, plan_, layouts_, "segment"};
};

// Four calls come before the region's first op. A graph's ops, and those of C++, need none.
TEST_F(TapeTest, ACheckpointKeepsTheHostForFourCalls) {
    const auto launches = [&](bool eager, bool in_graph) {
        plan_.eager_framework = eager;
        BlockBuilder b{tables_, model_, plan_, layouts_, "segment"};
        b.ops.capture(in_graph);
        enter_checkpoint(b);
        for (const char* name : {"first", "second"}) {
            b.ops.host({.duration = Time{}},
                       {.name = name, .reads = {}, .writes = {}, .accumulates = {}});
        }
        const std::vector<Op>& ops = program_.segments[index(b.ops.finish())].ops;
        return std::pair{int{ops[0].launches}, int{ops[1].launches}};
    };
    EXPECT_EQ(launches(true, false), (std::pair{5, 1}));
    EXPECT_EQ(launches(true, true), (std::pair{1, 0}));
    EXPECT_EQ(launches(false, false), (std::pair{1, 1}));
}

// The layer's output and its gradient are still there when attention's backward pass, with most in
// use, comes to its end (torch/utils/checkpoint.py, CheckpointFunction.backward: outputs, args).
TEST(Tape, AReentrantCheckpointHoldsTwoTensorsMore) {
    const Transformer model = small_llama();
    ParallelPlan plan{.recompute_granularity = Recompute::full,
                      .attention_backward_buffers = true,
                      .mlp_tile_tokens = 256,
                      .loss_tile_tokens = 256};
    const std::int64_t without = activation_peak(verified(model, plan));
    plan.reentrant_checkpoint = true;
    const Program program = verified(model, plan);
    EXPECT_EQ(activation_peak(program) - without, 2 * model.seq_length * model.hidden_size * 2);
    EXPECT_EQ(ops_called(program, "checkpoint returns").size(), 2U);
}

TEST_F(TapeTest, RunsNodesInOrderAndBackInReverse) {
    Tape tape{Lifetime::micro_batch};
    tape.add<NotedNode>("a");
    tape.add<NotedNode>("b");
    ResidualStream stream;
    tape.forward(b_, stream);
    Deferred later;
    tape.backward(b_, {}, &later);
    EXPECT_EQ(calls,
              (std::vector<std::string>{
                  "a forward", "b forward", "b backward, deferred", "a backward, deferred"}));
}

TEST_F(TapeTest, RunsNodesAgainBeforeTheirReader) {
    Tape tape{Lifetime::micro_batch};
    auto& a = tape.add<NotedNode>("a");
    auto& b = tape.add<NotedNode>("b");
    auto& c = tape.add<NotedNode>("c");
    tape.run_again_before(c, {&a, &b});
    tape.run_again_before(b, {&a});
    tape.backward(b_, {}, nullptr);
    EXPECT_EQ(calls,
              (std::vector<std::string>{
                  "a again", "b again", "c backward", "a again", "b backward", "a backward"}));
    EXPECT_FALSE(b_.recomputing);
}

TEST_F(TapeTest, KeepsWhatCameInAndHowLongItsNodesSave) {
    Tape tape{Lifetime::slot};
    EXPECT_EQ(tape.add<NotedNode>("a").saved(), Lifetime::slot);
    ResidualStream stream{.residual = b_.value("input", 64, layouts_.residual, Lifetime::slot),
                          .pending = {},
                          .mask = {}};
    const TensorId input = stream.residual.tensor;
    tape.forward(b_, stream);
    EXPECT_EQ(tape.input().residual.tensor, input);
    EXPECT_EQ(stream.residual.tensor, input);
    tape.run_again(b_, stream, true);
    EXPECT_EQ(calls, (std::vector<std::string>{"a forward", "a again"}));
}

}  // namespace
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "models/segments/pass_parts.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "models/memory/memory.h"
#include "tests/models/lowered_experts.h"

namespace orrery {
namespace {

ParallelPlan overlapped() {
    ParallelPlan plan = four_ranks();
    plan.overlap_moe_expert_parallel_comm = true;
    return plan;
}

// Two computations and two exchanges a layer and pass, and what is behind the last exchange.
TEST(PassParts, AreComputationsAndExchanges) {
    const Transformer model = small_experts();
    const Program program = verified(model, overlapped());
    std::int64_t parts = 0;
    for (const Slot& slot : program.roles[0].slots) {
        parts += slot.pass == Pass::forward && slot.micro_batch == 0 ? 1 : 0;
    }
    EXPECT_EQ(parts, 4 * model.num_layers + 1);
}

// F0, then the parts of B0 and F1 in turn, …, then the last backward pass.
TEST(PassParts, OfTwoMicroBatchesTakeTurns) {
    const Program program = verified(small_experts(), overlapped());
    std::vector<std::pair<Pass, std::int32_t>> order;
    for (const Slot& slot : program.roles[0].slots) {
        if (slot.pass == Pass::forward || slot.pass == Pass::backward) {
            order.emplace_back(slot.pass, slot.micro_batch);
        }
    }
    ASSERT_EQ(order.size(), 72U);
    for (std::size_t i = 0; i < 9; ++i) {
        EXPECT_EQ(order[i], std::pair(Pass::forward, 0));
    }
    // The dispatch of a forward pass comes behind the backward pass's next products.
    constexpr std::string_view kTurns = "BBFBFBFFBBFBFBFFBF";
    for (std::size_t i = 9; i < 63; ++i) {
        const auto pair = static_cast<std::int32_t>((i - 9) / 18);
        EXPECT_EQ(order[i],
                  kTurns[(i - 9) % 18] == 'B' ? std::pair(Pass::backward, pair)
                                              : std::pair(Pass::forward, pair + 1));
    }
}

// A host that needs no numbers of rows launches each exchange behind its own computation.
TEST(PassParts, AreHeldOnlyWhereTheHostReads) {
    const auto order_of = [](bool reads) {
        PassParts pass;
        for (std::uint32_t turn = 0; turn < 2; ++turn) {
            pass.parts.push_back({.turn = turn});
            pass.parts.push_back({.turn = turn, .exchanges = true, .holds_host = reads});
        }
        std::string order;
        for (const PartOfPass& part : launch_order({&pass, &pass})) {
            order += std::string(part.pass == 0 ? "b" : "f") + std::to_string(part.part);
        }
        return order;
    };
    EXPECT_EQ(order_of(false), "b0b1f0f1b2b3f2f3");
    EXPECT_EQ(order_of(true), "b0b1f0b2f1b3f2f3");
}

// The gather of the map of tokens belongs to the dispatch, so that the other pass's products are
// launched before it.
TEST(PassParts, HaveAGatherInTheDispatchThatNeedsIt) {
    ParallelPlan plan = overlapped();
    plan.moe_token_dispatcher_type = TokenDispatcher::hybridep;
    const Program program = verified(small_experts(), plan);
    std::int64_t gathers = 0;
    for (const Slot& slot : program.roles[0].slots) {
        const std::vector<Op>& ops = program.segment_of(slot).ops;
        for (std::size_t o = 0; o < ops.size(); ++o) {
            if (program.names[ops[o].name] == "map of tokens gather") {
                EXPECT_EQ(o, 0U);
                EXPECT_EQ(program.names[ops.back().name], "dispatch");
                ++gathers;
            }
        }
    }
    EXPECT_EQ(gathers, count_ops(program, "dispatch"));
    EXPECT_GT(gathers, 0);
}

TEST(PassParts, AreCallsOfTheirOwn) {
    const auto calls = [](const Program& program, const Slot& slot) {
        std::int64_t sum = 0;
        for (const Op& op : program.segment_of(slot).ops) {
            sum += op.launches;
        }
        return sum;
    };
    const auto of_first_pass = [&](const Program& program) {
        std::int64_t sum = 0;
        for (const Slot& slot : program.roles[0].slots) {
            const bool first = slot.pass == Pass::forward && slot.micro_batch == 0;
            sum += first ? calls(program, slot) : 0;
        }
        return sum;
    };
    const Transformer model = small_experts();
    const std::int64_t parts = 4 * model.num_layers + 1;
    EXPECT_EQ(of_first_pass(verified(model, overlapped())),
              of_first_pass(verified(model, four_ranks())) + kCallsOfPart * parts);
    // A graph of the step, or a host of C++, calls no parts.
    EXPECT_EQ(of_first_pass(verified(model, overlapped().launched_from_cpp())),
              of_first_pass(verified(model, four_ranks().launched_from_cpp())));
}

TEST(PassParts, DoTheSameWork) {
    const Transformer model = small_experts();
    const Program plain = verified(model, four_ranks());
    ParallelPlan plan = overlapped();
    for (const bool delays : {false, true}) {
        plan.delay_wgrad_compute = delays;
        const Program cut = verified(model, plan);
        EXPECT_EQ(executed_flop(cut, KernelKind::gemm), executed_flop(plain, KernelKind::gemm));
        EXPECT_EQ(count_ops(cut, "dispatch"), count_ops(plain, "dispatch"));
        EXPECT_EQ(count_ops(cut, "qkv wgrad"), count_ops(plain, "qkv wgrad"));
    }
}

// Megatron-Core's run() calls mlp.backward_dw() before moe_dispatch.backward(), on another stream.
TEST(PassParts, LaunchDelayedGradientsBeforeTheExchangeThatHidesThem) {
    ParallelPlan plan = overlapped();
    plan.delay_wgrad_compute = true;
    const Program program = verified(small_experts(), plan);
    const Role& role = program.roles[0];
    const auto name_of = [&](std::uint32_t slot, std::uint32_t op) {
        const Op& found = program.segment_of(role.slots[slot]).ops[op];
        return std::string{program.names[found.name]};
    };
    std::int64_t launched = 0;
    std::int64_t exchanges = 0;
    for (std::uint32_t s = 0; s < role.slots.size(); ++s) {
        const Slot& slot = role.slots[s];
        for (std::uint32_t o = 0; o < program.segment_of(slot).ops.size(); ++o) {
            launched += name_of(s, o) == "expert fc1 wgrad" ? 1 : 0;
            if (name_of(s, o) != "dispatch backward") {
                continue;
            }
            EXPECT_EQ(launched, ++exchanges);
            for (const SlotWait& wait : slot.waits) {
                EXPECT_TRUE(wait.op != o || !name_of(wait.slot, wait.slot_op).ends_with("wgrad"));
            }
        }
    }
    EXPECT_GT(exchanges, 0);
}

// Megatron-Core replaces backward_dw() of a captured part by a graph of its own (module.py).
TEST(PassParts, AGraphLaunchesDelayedGradientsOfACapturedPart) {
    ParallelPlan plan = overlapped();
    plan.delay_wgrad_compute = true;
    plan.moe_token_dispatcher_type = TokenDispatcher::hybridep;
    const auto calls_of = [](const ParallelPlan& of, std::string_view product) {
        const Program program = verified(small_experts(), of);
        std::set<int> calls;
        for (const Slot& slot : program.roles[0].slots) {
            for (const Op& op : program.segment_of(slot).ops) {
                if (program.names[op.name] == product) {
                    calls.insert(op.launches);
                }
            }
        }
        return calls;
    };
    EXPECT_EQ(calls_of(plan, "qkv wgrad"), std::set<int>{1});
    const std::set<int> experts = calls_of(plan, "expert fc1 wgrad");
    plan.cuda_graph_scope = static_cast<std::uint32_t>(CudaGraphPart::attn) |
                            static_cast<std::uint32_t>(CudaGraphPart::moe_router) |
                            static_cast<std::uint32_t>(CudaGraphPart::moe_preprocess);
    EXPECT_EQ(calls_of(plan, "qkv wgrad"), std::set<int>{0});  // the router's launches the graph
    EXPECT_EQ(calls_of(plan, "expert fc1 wgrad"), experts);
}

// Otherwise the backward pass would have more parts than the forward pass, and their turns would
// not be those of a layer.
TEST(PassParts, LaunchNothingBetweenTheExchangesOfRowsAndOfTheirWeights) {
    ParallelPlan plan = overlapped();
    plan.delay_wgrad_compute = true;
    const Program program = verified(small_experts(), plan);
    std::int64_t exchanges = 0;
    for (const Slot& slot : program.roles[0].slots) {
        bool weights = false;
        for (const Op& op : program.segment_of(slot).ops) {
            const std::string& name = program.names[op.name];
            weights |= name == "dispatch of weights backward";
            exchanges += name == "dispatch backward" ? 1 : 0;
            EXPECT_TRUE(weights || name != "dispatch backward");
        }
    }
    EXPECT_GT(exchanges, 0);
}

// One more forward pass is in flight.
TEST(PassParts, KeepOneMicroBatchMore) {
    const Transformer model = small_experts();
    const auto kept = [&](const ParallelPlan& plan) {
        return role_memory(verified(model, plan), to_id<RoleId>(0), Bytes{})
            .at_peak[TensorKind::activations]
            .count();
    };
    EXPECT_GT(kept(overlapped()), kept(four_ranks()));
}

}  // namespace
}  // namespace orrery

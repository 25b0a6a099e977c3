// SPDX-License-Identifier: Apache-2.0
// Layers with experts as lowered: what is computed, what moves, what is kept, on which ranks.
#include "models/blocks/expert_nodes.h"

#include <gtest/gtest.h>

#include "engine/program/verifier.h"
#include "models/lowering/lowering.h"
#include "models/memory/memory.h"
#include "models/plan/flops.h"
#include "tests/models/expert_models.h"
#include "tests/models/lowered_experts.h"
#include "tests/models/program_sums.h"

namespace orrery {
namespace expert_nodes_test {

Program lowered(const Transformer& model, const ParallelPlan& plan) {
    Program program = lower(model, plan);
    const Errors errors = verify(program);
    EXPECT_TRUE(errors.empty()) << errors[0].where << ": " << errors[0].what;
    return program;
}

double gemm_flop(const Transformer& model, const ParallelPlan& plan) {
    return executed_flop(lowered(model, plan), KernelKind::gemm);
}

// The linear layers of all ranks and the routers, three times.
double expected_flop(const Transformer& model, std::int64_t sequences) {
    ModelFlops flops = model_flops(model, sequences);
    double attention = 0;
    for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
        attention += 3.0 * 2.0 *
                     static_cast<double>(visible_attention_pairs(model, layer) *
                                         (model.query_size() + model.context_size()));
    }
    double routers = 0;
    for (std::int64_t layer = 0; layer < model.num_layers; ++layer) {
        routers += model.layer_has_experts(layer)
                       ? 6.0 * static_cast<double>(model.seq_length * model.hidden_size *
                                                   model.num_experts)
                       : 0;
    }
    return flops.causal_attention.count() + static_cast<double>(sequences) * (routers - attention);
}

ParallelPlan plan_of(
    std::int64_t tp, std::int64_t cp, std::int64_t dp, std::int64_t etp, std::int64_t ep) {
    return {.tensor_model_parallel_size = tp,
            .context_parallel_size = cp,
            .data_parallel_size = dp,
            .sequence_parallel = tp > 1,
            .global_batch_size = 2 * dp,
            .expert_model_parallel_size = ep,
            .expert_tensor_parallel_size = etp};
}

TEST(ExpertNodes, ExecuteTheModelsProductsHoweverTheRanksAreFolded) {
    Transformer shared = small_experts();
    shared.moe_shared_expert_intermediate_size = 32;
    shared.first_k_dense_replace = 1;
    Transformer latent = deepseek(shared, 4, 1);
    latent.q_lora_rank = 64;
    latent.kv_lora_rank = 64;
    latent.qk_head_dim = 16;
    latent.qk_pos_emb_head_dim = 16;
    latent.v_head_dim = 16;
    for (const Transformer& model : {small_experts(), shared, latent}) {
        for (const ParallelPlan& plan : {plan_of(1, 1, 1, 1, 1),
                                         plan_of(1, 1, 4, 1, 4),
                                         plan_of(2, 1, 4, 1, 4),
                                         plan_of(2, 1, 4, 2, 2),
                                         plan_of(4, 1, 2, 2, 2)}) {
            for (const auto how : {TokenDispatcher::alltoall, TokenDispatcher::allgather}) {
                ParallelPlan one = plan;
                one.moe_token_dispatcher_type = how;
                const double expected = expected_flop(model, one.global_batch_size);
                EXPECT_NEAR(gemm_flop(model, one) / expected, 1, 1e-12)
                    << plan.tensor_model_parallel_size << " " << plan.expert_model_parallel_size;
            }
        }
    }
}

// Dispatch and combine, and their transposes: rows of hidden elements in bf16, and a weight a row.
TEST(ExpertNodes, EveryTokenTravelsToItsExpertsAndBack) {
    const Transformer model = small_experts();
    const Program program = lowered(model, plan_of(1, 1, 4, 1, 4));
    const TrafficTable table = traffic(program, program.roles[0]);
    const std::int64_t rows = model.seq_length * model.moe_router_topk;
    const std::int64_t layers_and_batches = model.num_layers * 2;
    const TrafficSum expected{.count = 6 * layers_and_batches,
                              .bytes = layers_and_batches * (4 * rows * 128 * 2 + 2 * rows * 4)};
    EXPECT_EQ(table.at({"all_to_all", "dp"}), expected);
}

TEST(ExpertNodes, TheAllGatherDispatcherMovesEveryTokenToAllRanks) {
    const Transformer model = small_experts();
    ParallelPlan plan = plan_of(1, 1, 4, 1, 4);
    plan.moe_token_dispatcher_type = TokenDispatcher::allgather;
    const Program program = lowered(model, plan);
    const TrafficTable table = traffic(program, program.roles[0]);
    EXPECT_FALSE(table.contains({"all_to_all", "dp"}));
    const std::int64_t tokens = 4 * model.seq_length;
    const std::int64_t layers_and_batches = model.num_layers * 2;
    std::int64_t gathered = 0;
    for (const auto& [key, sum] : table) {
        gathered += key.first == "all_gather" ? sum.bytes : 0;
    }
    // Tokens forward, gradients of their sums backward, and the weights of their experts.
    EXPECT_EQ(gathered, layers_and_batches * tokens * (2 * 128 * 2 + 2 * 4));
}

// Gradients of experts are summed over the ranks that have the same ones, the others over all.
TEST(ExpertNodes, GradientsOfExpertsAreReducedOverTheirOwnDataParallelRanks) {
    const Transformer model = small_experts();
    ParallelPlan plan = plan_of(1, 1, 8, 1, 4);
    const Program program = lowered(model, plan);
    const TrafficTable table = traffic(program, program.roles[0]);
    const std::int64_t expert = model.num_layers * 8 / 4 * 3 * 128 * 64;
    const std::int64_t all = num_parameters(model);
    EXPECT_EQ(table.at({"all_reduce", "edp"}).bytes, 4 * expert);
    EXPECT_EQ(table.at({"all_reduce", "dp"}).bytes, 4 * (all - 4 * expert));
    // ZeRO 1 divides each by its own ranks.
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    const RoleMemory memory = role_memory(lowered(model, plan), to_id<RoleId>(0), Bytes{});
    EXPECT_EQ(memory.at_peak[TensorKind::weights].count(), 2 * (all - 4 * expert + expert));
    EXPECT_NEAR(
        static_cast<double>(memory.at_peak[TensorKind::optimizer].count()),
        12.0 * (static_cast<double>(all - 4 * expert) / 8 + static_cast<double>(expert) / 2),
        12.0 * 512);  // shards are padded
}

TEST(ExpertNodes, Zero3GathersExpertsOverTheirOwnRanks) {
    ParallelPlan plan = plan_of(1, 1, 8, 1, 4);
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
    const Program program = lowered(small_experts(), plan);
    const TrafficTable table = traffic(program, program.roles[0]);
    EXPECT_TRUE(table.contains({"all_gather", "edp"}));
    EXPECT_TRUE(table.contains({"reduce_scatter", "edp"}));
    EXPECT_TRUE(table.contains({"all_gather", "dp"}));
}

// 800,321,024 dense parameters at 6 bytes and 1,799,356,416 of experts at 12: bf16 weights,
// gradients and moments on 8 GPUs, the optimizer of what 4 ranks share divided by them.
TEST(ExpertNodes, StateOfMoonlightOnEightGpus) {
    ParallelPlan plan = plan_of(2, 1, 4, 1, 8);
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    plan.gradient_dtype = Dtype::bf16;
    plan.moments_dtype = Dtype::bf16;
    const Program program = lowered(moonlight_16b(), plan);
    std::int64_t state = 0;
    for (const Tensor& tensor : program.tensors) {
        const bool counts = tensor.kind == TensorKind::weights ||
                            tensor.kind == TensorKind::gradients ||
                            tensor.kind == TensorKind::optimizer;
        state += counts && tensor.lifetime == Lifetime::persistent ? tensor.bytes.count() : 0;
    }
    EXPECT_EQ(state, 26'394'203'136);
}

// Input, first product, activation and weights of the rows that a rank's experts have.
TEST(ExpertNodes, KeepRowsForTheBackwardPass) {
    Transformer model = small_experts();
    const ParallelPlan plan = plan_of(1, 1, 4, 1, 4);
    const auto kept = [&](const Transformer& m) {
        return role_memory(lowered(m, plan), to_id<RoleId>(0), Bytes{}).at_peak.total().count();
    };
    const Program program = lowered(model, plan);
    const std::int64_t rows = model.seq_length * model.moe_router_topk;
    std::map<std::string, std::int64_t> bytes;
    for (const Tensor& tensor : program.tensors) {
        if (tensor.lifetime == Lifetime::micro_batch) {
            bytes[tensor.name] = tensor.bytes.count();
        }
    }
    EXPECT_EQ(bytes.at("rows by expert"), rows * 128 * 2);
    EXPECT_EQ(bytes.at("expert fc1"), rows * 2 * 64 * 2);
    EXPECT_EQ(bytes.at("activation"), rows * 64 * 2);
    EXPECT_EQ(bytes.at("dispatch of weights"), rows * 4);
    EXPECT_FALSE(bytes.contains("expert fc2"));
    const std::int64_t before = kept(model);
    model.moe_router_topk = 4;
    EXPECT_GT(kept(model), before);
}

TEST(ExpertNodes, RecomputationKeepsLess) {
    const Transformer model = small_experts();
    ParallelPlan plan = plan_of(1, 1, 4, 1, 4);
    plan.recompute_granularity = Recompute::selective;
    std::vector<std::int64_t> kept;
    for (const auto module :
         {RecomputeModule::core_attn, RecomputeModule::moe_act, RecomputeModule::moe}) {
        plan.recompute_modules = static_cast<std::uint32_t>(module);
        const Program program = lowered(model, plan);
        const MemoryByKind memory = role_memory(program, to_id<RoleId>(0), Bytes{}).at_peak;
        std::int64_t lives = 0;
        for (const Tensor& tensor : program.tensors) {
            lives += tensor.lifetime == Lifetime::micro_batch ? tensor.bytes.count() : 0;
        }
        EXPECT_GT(memory.total().count(), 0);
        kept.push_back(lives);
    }
    EXPECT_LT(kept[1], kept[0]);
    EXPECT_LT(kept[2], kept[1]);
}

// A busier rank has more rows: more bytes and more work.
TEST(ExpertNodes, UnevenLoadsMoveMore) {
    const Transformer model = small_experts();
    ParallelPlan plan = plan_of(1, 1, 4, 1, 4);
    const double balanced = gemm_flop(model, plan);
    const std::int64_t bytes =
        traffic(lowered(model, plan), lower(model, plan).roles[0]).at({"all_to_all", "dp"}).bytes;
    plan.moe_router_load = RouterLoad::zipf;
    EXPECT_GT(gemm_flop(model, plan), balanced);
    const Program uneven = lowered(model, plan);
    EXPECT_GT(traffic(uneven, uneven.roles[0]).at({"all_to_all", "dp"}).bytes, bytes);
}

TEST(ExpertNodes, TheSharedExpertWorksBesideTheExchangeOnRequest) {
    Transformer model = small_experts();
    model.moe_shared_expert_intermediate_size = 32;
    ParallelPlan plan = plan_of(1, 1, 4, 1, 4);
    const auto position = [](const Program& program, std::string_view name) {
        std::size_t at = 0;
        for (const Op& op : program.segments[0].ops) {
            if (program.names[op.name] == name) {
                return at;
            }
            ++at;
        }
        return at;
    };
    const Program behind = lowered(model, plan);
    EXPECT_LT(position(behind, "shared fc1"), position(behind, "dispatch"));
    plan.moe_shared_expert_overlap = true;
    const Program beside = lowered(model, plan);
    EXPECT_GT(position(beside, "shared fc1"), position(beside, "dispatch"));
    EXPECT_LT(position(beside, "shared fc1"), position(beside, "expert fc1"));
}

// Host launches of rank 0's first forward pass.
std::int64_t launches_of_forward(const Program& program) {
    std::int64_t launches = 0;
    for (const Op& op : program.segments[0].ops) {
        launches += op.launches;
    }
    return launches;
}

constexpr std::uint32_t kUpToTheExchange =
    static_cast<std::uint32_t>(CudaGraphPart::attn) |
    static_cast<std::uint32_t>(CudaGraphPart::moe_router) |
    static_cast<std::uint32_t>(CudaGraphPart::moe_preprocess);

TEST(ExpertNodes, AGraphOfALayersPartsIsLaunchedOnce) {
    const Transformer model = small_experts();
    ParallelPlan plan = plan_of(1, 1, 4, 1, 4);
    plan.moe_token_dispatcher_type = TokenDispatcher::hybridep;
    const Program called = lowered(model, plan);
    plan.cuda_graph_scope = kUpToTheExchange;
    const Program captured = lowered(model, plan);
    ASSERT_EQ(captured.segments[0].ops.size(), called.segments[0].ops.size());
    std::int64_t inside = 0;
    std::int64_t graphs = 0;
    for (std::size_t o = 0; o < captured.segments[0].ops.size(); ++o) {
        const Op& before = called.segments[0].ops[o];
        const Op& op = captured.segments[0].ops[o];
        const std::string& name = captured.names[op.name];
        graphs += op.launches == 1 && name.starts_with("norm 1") ? 1 : 0;
        if (name.starts_with("expert fc") || name == "dispatch" || name == "combine") {
            EXPECT_EQ(op.launches, before.launches) << name;
        }
        if (name.starts_with("router") || name.starts_with("qkv")) {
            EXPECT_EQ(op.launches, 0) << name;
            inside += before.launches;
        }
    }
    EXPECT_EQ(graphs, model.num_layers);
    EXPECT_GT(inside, 0);
    // Of the backward pass, too.
    EXPECT_LT(launches_of_forward(captured), launches_of_forward(called) - inside + graphs);
}

// Only where a framework calls each op. Eight experts are nearer to a call than to none.
TEST(ExpertNodes, AProductOfExpertsIsACallMoreForEveryTwelveExperts) {
    const ParallelPlan plan = plan_of(1, 1, 4, 1, 4);
    const auto expect_calls = [](std::int64_t experts, const ParallelPlan& of, int calls) {
        Transformer model = small_experts();
        model.num_experts = 4 * experts;
        const Program program = lowered(model, of);
        std::int64_t products = 0;
        for (const Segment& segment : program.segments) {
            for (const Op& op : segment.ops) {
                const std::string& name = program.names[op.name];
                if (op.kind() == OpKind::kernel && name.starts_with("expert fc")) {
                    EXPECT_EQ(op.launches, calls) << name;
                    ++products;
                }
            }
        }
        EXPECT_EQ(products, 6 * model.num_layers);
    };
    expect_calls(16, plan.launched_from_cpp(), 1);
    expect_calls(4, plan, 1);
    expect_calls(8, plan, 2);
    expect_calls(16, plan, 2);
    expect_calls(32, plan, 4);
}

// Transformer Engine calls cuBLAS for each expert, unless one kernel does all.
TEST(ExpertNodes, AProductWithBlockScalesIsACallMoreForEveryFourExperts) {
    Transformer model = small_experts();
    model.num_experts = 64;
    ParallelPlan plan = plan_of(1, 1, 4, 1, 4);
    plan.precision = Dtype::fp8;
    plan.fp8_recipe = Fp8Recipe::mxfp8;
    const auto expect_calls = [&](int calls) {
        const Program program = lowered(model, plan);
        std::int64_t products = 0;
        for (const Segment& segment : program.segments) {
            for (const Op& op : segment.ops) {
                const std::string& name = program.names[op.name];
                if (name.starts_with("expert fc") && !name.ends_with("cast")) {
                    EXPECT_EQ(op.launches, calls) << name;
                    ++products;
                }
            }
        }
        EXPECT_EQ(products, 6 * model.num_layers);
    };
    expect_calls(1 + 16 / 4);
    plan.moe_fused_activation = true;
    expect_calls(1 + 16 / 12);
    plan.moe_fused_activation = false;
    plan.fp8_recipe = Fp8Recipe::delayed;
    expect_calls(1 + 16 / 12);
}

TEST(ExpertNodes, AFusedRouterHasFewKernels) {
    const Transformer model = small_experts();
    ParallelPlan plan = plan_of(1, 1, 4, 1, 4);
    const std::int64_t before = launches_of_forward(lowered(model, plan));
    plan.moe_router_fusion = true;
    // The choice is part of the scores' kernel, and of eleven kernels of the loss six are left.
    EXPECT_EQ(launches_of_forward(lowered(model, plan)), before - 13 * model.num_layers);
}

// Forward and backward pass over one micro-batch.
std::int64_t launches_of_passes(const Transformer& model, const ParallelPlan& plan) {
    const Program program = lowered(model, plan);
    std::int64_t launches = 0;
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            launches += program.names[op.name].starts_with("router") ? op.launches : 0;
        }
    }
    return launches;
}

// Counted in Megatron-Core's router.py and moe_utils.py.
TEST(ExpertNodes, ARoutersOperatorsFollowFromHowItChooses) {
    Transformer model = small_experts();
    ParallelPlan plan = plan_of(1, 1, 4, 1, 4);
    const auto operators = [&] { return launches_of_passes(model, plan) / model.num_layers; };
    const std::int64_t softmax = operators();
    model.moe_router_score_function = RouterScoreFunction::sigmoid;
    EXPECT_EQ(operators(), softmax + 2 * (3 + 7));
    model.moe_router_num_groups = 4;
    model.moe_router_group_topk = 2;
    EXPECT_EQ(operators(), softmax + 20 + 9);
    model.moe_router_bias_update_rate = 0.001;
    EXPECT_EQ(operators(), softmax + 29 + 4);
    // One kernel makes scores and choice; loads are still added up for the bias.
    plan.moe_router_fusion = true;
    EXPECT_EQ(operators(), softmax - 13 - 3 - 4 + 2);
}

TEST(ExpertNodes, BiasesOfTheSecondProductMoveEachRowSeveralTimes) {
    Transformer model = small_experts();
    const ParallelPlan plan = plan_of(1, 1, 4, 1, 4);
    EXPECT_EQ(count_ops(lowered(model, plan), "expert bias"), 0);
    model.add_bias_linear = true;
    ParallelPlan fused = plan;
    fused.moe_fused_bias = true;
    EXPECT_EQ(count_ops(lowered(model, fused), "expert bias"), 0);
    EXPECT_EQ(count_ops(lowered(model, fused), "expert fc2 bias gradient"), 2 * model.num_layers);
    const Program program = lowered(model, plan);
    EXPECT_EQ(count_ops(program, "expert bias"), 2 * model.num_layers);
    EXPECT_EQ(count_ops(program, "expert bias rows"), 2 * model.num_layers);
    EXPECT_EQ(count_ops(program, "expert bias backward"), 2 * model.num_layers);
    EXPECT_EQ(count_ops(program, "expert bias gradient"), 2 * model.num_layers);
}

}  // namespace expert_nodes_test
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Experts trained on the CPU: gradients are derivatives of the loss, ranks that share experts train
// what one rank trains, and to the same bits whichever of them has an expert.
#include "models/plan/validate_plan.h"
#include "runtime/trainable.h"
#include "tests/runtime/rank_training.h"

namespace orrery {
namespace {

Transformer tiny_experts() {
    Transformer model = tiny_llama();
    model.num_experts = 8;
    model.moe_router_topk = 2;
    model.moe_ffn_hidden_size = 12;
    return model;
}

ParallelPlan expert_plan(std::int64_t ep, std::int64_t dp) {
    ParallelPlan plan = plan_of(1, dp, ShardingStrategy::no_shard).launched_from_cpp();
    plan.expert_model_parallel_size = ep;
    return plan;
}

Training checked(const Transformer& model,
                 const ParallelPlan& plan,
                 double clip_norm = 0,
                 const HostOptions& host = {}) {
    const std::int64_t ranks = plan.model_parallel_size() * plan.data_parallel_size;
    const Errors errors = check(model, plan, ranks);
    EXPECT_TRUE(errors.empty()) << errors.front().to_string();
    const Errors refused = check_trainable(model, plan, ranks);
    EXPECT_TRUE(refused.empty()) << refused.front().to_string();
    return train(model, plan, kSteps, {}, clip_norm, host);
}

// With one micro-batch a step the order of all sums is the same.
void expect_same_bits(const Training& one, const Training& other) {
    EXPECT_EQ(one.losses, other.losses);
    EXPECT_EQ(one.weights, other.weights);
    for (std::size_t s = 0; s < one.norms.size(); ++s) {
        EXPECT_NEAR(one.norms[s], other.norms[s], 1e-5 * one.norms[s]);
    }
}

// d loss / d element of some elements of each parameter, by central differences. Where a step
// changes the choice of experts the loss jumps, and two steps give two slopes: such elements say
// nothing, and must be few.
void check_gradients(const Transformer& model) {
    TinyRun run{model, expert_plan(1, 1)};
    run.set(DeviceScalar::epsilon, 1e-6);
    ASSERT_TRUE(run.executor().run_step());
    const auto slope = [&](const std::string& name, std::int64_t at, float step) {
        const TensorView weight = run.view(name);
        const float before = load(weight, at);
        const auto loss_at = [&](float value) {
            store(weight, at, value);
            EXPECT_TRUE(run.executor().run_forward());
            return run.loss();
        };
        const double difference = loss_at(before + step) - loss_at(before - step);
        store(weight, at, before);
        return difference / (2 * static_cast<double>(step));
    };
    std::map<std::string, std::vector<float>> gradients;  // a forward pass clears them
    for (const std::string& name : run.parameters()) {
        gradients[name] = run.values(name + " gradient");
    }
    int compared = 0;
    int jumps = 0;
    for (const auto& [name, gradient] : gradients) {
        double largest = 1e-3;
        for (const float g : gradient) {
            largest = std::max(largest, std::abs(static_cast<double>(g)));
        }
        for (std::size_t i = 0; i < gradient.size(); i += 1 + gradient.size() / 30) {
            const auto at = static_cast<std::int64_t>(i);
            const double one = slope(name, at, 4e-3f);
            const double other = slope(name, at, 6e-3f);
            if (std::abs(one - other) > 0.05 * largest) {
                ++jumps;
                continue;
            }
            ++compared;
            EXPECT_NEAR(one, static_cast<double>(gradient[i]), 0.03 * largest) << name << " " << i;
        }
    }
    EXPECT_LT(jumps, model.moe_router_topk < model.num_experts ? compared / 8 : 1);
}

TEST(ExpertTraining, GradientsAreDerivativesOfTheLoss) {
    Transformer model = tiny_experts();
    check_gradients(model);
    model.num_experts = model.moe_router_topk = 4;  // no choice: no jumps
    check_gradients(model);
    model.moe_router_score_function = RouterScoreFunction::sigmoid;
    model.moe_shared_expert_intermediate_size = 8;
    model.activation = Activation::gelu;
    model.first_k_dense_replace = 1;
    check_gradients(model);
}

// The balancing loss is no part of the loss that is reported: the router's gradient with it less
// that without is its own.
TEST(ExpertTraining, BalancingPullsTheRouterTowardsEqualLoads) {
    Transformer model = tiny_experts();
    model.num_layers = 1;
    const auto gradient = [&](double coefficient) {
        Transformer balanced = model;
        balanced.moe_aux_loss_coeff = coefficient;
        TinyRun run{balanced, expert_plan(1, 1)};
        run.set(DeviceScalar::epsilon, 1e-6);
        run.set(DeviceScalar::balance, coefficient);
        EXPECT_TRUE(run.executor().run_step());
        return run.values("layers.0.mlp.router.weight gradient");
    };
    const std::vector<float> none = gradient(0);
    const std::vector<float> some = gradient(0.5);
    const std::vector<float> twice = gradient(1);
    double sum = 0;
    for (std::size_t i = 0; i < none.size(); ++i) {
        const double once = static_cast<double>(some[i] - none[i]);
        sum += std::abs(once);
        EXPECT_NEAR(static_cast<double>(twice[i] - none[i]), 2 * once, 1e-5);
    }
    EXPECT_GT(sum, 1e-3);
}

TEST(ExpertTraining, RanksThatShareExpertsTrainToTheSameBits) {
    for (const auto score : {RouterScoreFunction::softmax, RouterScoreFunction::sigmoid}) {
        Transformer model = tiny_experts();
        model.moe_router_score_function = score;
        model.moe_aux_loss_coeff = 0.1;
        const Training one = checked(model, expert_plan(1, 8));
        for (const std::int64_t ep : {2, 4, 8}) {
            SCOPED_TRACE(testing::Message() << "ep " << ep);
            expect_same_bits(one, checked(model, expert_plan(ep, 8)));
        }
    }
}

TEST(ExpertTraining, CapacityAndBiasesAreTheSameWhicheverRankHasAnExpert) {
    Transformer model = tiny_experts();
    model.moe_router_bias_update_rate = 0.05;
    model.moe_router_num_groups = 4;
    model.moe_router_group_topk = 2;
    ParallelPlan plan = expert_plan(1, 8);
    plan.moe_expert_capacity_factor = 1;
    const Training one = checked(model, plan);
    EXPECT_NE(one.losses, checked(model, expert_plan(1, 8)).losses);
    const std::vector<float>& bias = one.weights.at("layers.0.mlp.router.expert_bias");
    EXPECT_NE(bias, std::vector<float>(8));
    for (const std::int64_t ep : {2, 8}) {
        SCOPED_TRACE(testing::Message() << "ep " << ep);
        plan.expert_model_parallel_size = ep;
        expect_same_bits(one, checked(model, plan));
    }
}

// Rows that go from server to server by two steps, or by the servers' first ranks, are the same
// rows in the same places, however many ranks a server has.
TEST(ExpertTraining, RowsGoByServersToTheSameBits) {
    ParallelPlan plan = expert_plan(8, 8);
    const Training plain = checked(tiny_experts(), plan);
    for (const auto by : {TokenDispatcher::two_dimensional, TokenDispatcher::hierarchical}) {
        plan.moe_token_dispatcher_type = by;
        for (const std::uint32_t ranks : {8u, 4u, 2u}) {
            SCOPED_TRACE(testing::Message() << ranks << " ranks of a server");
            EXPECT_EQ(plain, checked(tiny_experts(), plan, 0, {.ranks_of_node = ranks}));
        }
    }
}

// A model with a dense layer and shared experts: one rank, and plans of eight.
class ExpertLayouts : public testing::Test {
protected:
    static Transformer model() {
        Transformer model = tiny_experts();
        model.moe_shared_expert_intermediate_size = 8;
        model.num_layers = 4;
        model.first_k_dense_replace = 1;
        return model;
    }
    template <class Change>
    void compare(const char* what, Change change) const {
        SCOPED_TRACE(what);
        ParallelPlan plan = expert_plan(2, 4);
        change(plan);
        expect_near(one_, checked(model(), plan));
    }

private:
    const Training one_ = checked(model(), expert_plan(1, 1));
};

TEST_F(ExpertLayouts, TrainWhatOneRankTrains) {
    compare("data", [](ParallelPlan&) {});
    compare("optim", [](ParallelPlan& p) {
        p.data_parallel_sharding_strategy = ShardingStrategy::optim;
        p.overlap_grad_reduce = p.overlap_param_gather = true;
    });
    compare("optim_grads", [](ParallelPlan& p) {
        p.data_parallel_sharding_strategy = ShardingStrategy::optim_grads;
    });
    compare("optim_grads_params", [](ParallelPlan& p) {
        p.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
        p.overlap_param_gather = true;
    });
    compare("optim_grads_params, each expert on one rank", [](ParallelPlan& p) {
        p.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
        p.expert_model_parallel_size = 4;
    });
    compare("optim_grads_params, copies of shards", [](ParallelPlan& p) {
        p.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
        p.hsdp_shard_size = 2;
        p.expert_model_parallel_size = 1;
    });
    compare("tensor", [](ParallelPlan& p) {
        p.tensor_model_parallel_size = 2;
        p.expert_tensor_parallel_size = 1;
        p.expert_model_parallel_size = 4;
        p.sequence_parallel = true;
        p.data_parallel_size = 2;
    });
    compare("context", [](ParallelPlan& p) {
        p.context_parallel_size = 2;
        p.data_parallel_size = 2;
        p.expert_model_parallel_size = 4;
    });
    compare("full recomputation",
            [](ParallelPlan& p) { p.recompute_granularity = Recompute::full; });
    compare("shared expert beside the exchange",
            [](ParallelPlan& p) { p.moe_shared_expert_overlap = true; });
    compare("gradients apart", [](ParallelPlan& p) { p.gradient_accumulation_fusion = false; });
    compare("gradients of experts apart",
            [](ParallelPlan& p) { p.moe_gradient_accumulation_fusion = false; });
}

TEST_F(ExpertLayouts, PipelinesTrainWhatOneRankTrains) {
    compare("pipeline", [](ParallelPlan& p) {
        p.pipeline_model_parallel_size = 2;
        p.virtual_pipeline_model_parallel_size = 2;
        p.schedule = ScheduleKind::interleaved_1f1b;
        p.data_parallel_size = 2;
    });
    compare("a pipeline that drains twice", [](ParallelPlan& p) {
        p.pipeline_model_parallel_size = 2;
        p.pipeline_flushes = 2;
        p.data_parallel_size = 2;
    });
    compare("zero bubble", [](ParallelPlan& p) {
        p.pipeline_model_parallel_size = 2;
        p.schedule = ScheduleKind::zero_bubble;
        p.data_parallel_size = 2;
    });
    compare("there and back", [](ParallelPlan& p) {
        p.pipeline_model_parallel_size = 2;
        p.virtual_pipeline_model_parallel_size = 2;
        p.schedule = ScheduleKind::dual_pipe_v;
        p.data_parallel_size = 2;
        p.overlap_p2p = true;
    });
}

TEST(ExpertTraining, ExpertsThatCutARingTrainWhatOneRankTrains) {
    const Transformer model = tiny_experts();
    const Training one = checked(model, expert_plan(1, 1));
    ParallelPlan plan = expert_plan(2, 1);
    plan.context_parallel_size = 4;
    expect_near(one, checked(model, plan));
}

TEST(ExpertTraining, SplitExpertsTrainWhatOneRankTrains) {
    Transformer model = tiny_experts();
    model.num_layers = 3;
    model.first_k_dense_replace = 1;
    const Training one = checked(model, expert_plan(1, 1));
    const auto compare = [&](const char* what, auto change) {
        SCOPED_TRACE(what);
        ParallelPlan plan = expert_plan(2, 4);
        change(plan);
        expect_near(one, checked(model, plan));
    };
    compare("split experts", [](ParallelPlan& p) {
        p.tensor_model_parallel_size = 2;
        p.sequence_parallel = true;
        p.data_parallel_size = 2;
    });
    compare("split experts of data-parallel ranks", [](ParallelPlan& p) {
        p.expert_tensor_parallel_size = 2;
        p.data_parallel_sharding_strategy = ShardingStrategy::optim_grads;
    });
    compare("split experts that no rank sends rows to", [](ParallelPlan& p) {
        p.expert_tensor_parallel_size = 4;
        p.expert_model_parallel_size = 1;
    });
    compare("split experts and sharded weights", [](ParallelPlan& p) {
        p.expert_tensor_parallel_size = 2;
        p.expert_model_parallel_size = 1;
        p.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
    });
}

TEST(ExpertTraining, RecomputedExpertsHaveTheSameBits) {
    Transformer model = tiny_experts();
    model.moe_router_bias_update_rate = 0.05;
    ParallelPlan plan = expert_plan(2, 2);
    const Training kept = checked(model, plan);
    plan.recompute_granularity = Recompute::selective;
    for (const auto module : {RecomputeModule::moe, RecomputeModule::moe_act}) {
        plan.recompute_modules = static_cast<std::uint32_t>(module);
        EXPECT_EQ(kept, checked(model, plan));
    }
}

TEST(ExpertTraining, InBf16TooRanksTrainToTheSameBits) {
    ParallelPlan plan = expert_plan(1, 4);
    plan.global_batch_size = 4;
    plan.precision = Dtype::bf16;
    const Training one = checked(tiny_experts(), plan);
    plan.expert_model_parallel_size = 4;
    expect_same_bits(one, checked(tiny_experts(), plan));
}

TEST(ExpertTraining, RefusesWhatItCannotDoByKey) {
    const auto key = [](auto change) {
        Transformer model = tiny_experts();
        ParallelPlan plan = expert_plan(2, 2);
        change(model, plan);
        const Errors errors = check_trainable(model, plan, 2);
        return errors.size() == 1 ? errors[0].where : std::to_string(errors.size()) + " errors";
    };
    EXPECT_EQ(key([](Transformer&, ParallelPlan&) {}), "0 errors");
    EXPECT_EQ(key([](Transformer& m, ParallelPlan&) { m.add_bias_linear = true; }),
              "model.add_bias_linear");
    EXPECT_EQ(key([](Transformer&, ParallelPlan& p) { p.expert_tensor_parallel_size = 2; }),
              "0 errors");
    EXPECT_EQ(key([](Transformer&, ParallelPlan& p) {
                  p.moe_token_dispatcher_type = TokenDispatcher::allgather;
              }),
              "plan.moe_token_dispatcher_type");
    EXPECT_EQ(key([](Transformer&, ParallelPlan& p) { p.moe_dispatch_dtype = Dtype::fp8; }),
              "plan.moe_dispatch_dtype");
    const Result<void> gpu = check_gpu_job(tiny_experts(), tiny_plan());
    ASSERT_FALSE(gpu);
    EXPECT_EQ(gpu.error().where, "model.num_experts");
    EXPECT_TRUE(check_gpu_job(tiny_llama(), tiny_plan()));
}

}  // namespace
}  // namespace orrery

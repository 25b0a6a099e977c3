// SPDX-License-Identifier: Apache-2.0
// The device code of the CUDA kernels, emulated, in layouts of several ranks and with dropout: each
// op does what the CPU's kernel does, and the ranks learn what CPU ranks learn.
#include <mutex>

#include "tests/runtime/cuda/compared_device.h"
#include "tests/runtime/rank_training.h"

namespace orrery {
namespace parallel_launches_test {

std::map<KernelKind, int> expect_same_training(const Transformer& model, const ParallelPlan& plan) {
    constexpr std::int64_t kEmulatedSteps = 1;
    std::mutex lock;
    std::vector<std::shared_ptr<ComparedDevice>> devices;
    const auto kernels = [&]() -> CpuExecutor::KernelRunner {
        const std::scoped_lock guard{lock};
        auto device = std::make_shared<ComparedDevice>(plan.precision);
        devices.push_back(device);
        return [device](const BoundOp& op) { (*device)(op); };
    };
    const Training on_cpu = train(model, plan, kEmulatedSteps);
    const Training emulated = train(model, plan, kEmulatedSteps, kernels);
    for (std::size_t s = 0; s < on_cpu.losses.size(); ++s) {
        EXPECT_NEAR(
            emulated.losses[s], on_cpu.losses[s], plan.precision == Dtype::bf16 ? 2e-2 : 1e-4);
    }
    return devices.front()->ops;
}

ParallelPlan ring_plan(std::int64_t ranks, Dtype precision) {
    ParallelPlan plan = plan_of(1, 1, ShardingStrategy::no_shard);
    plan.global_batch_size = 2;
    plan.context_parallel_size = ranks;
    plan.context_parallel_comm = ContextParallelComm::ring;
    plan.precision = precision;
    return plan;
}

TEST(ParallelLaunches, ARingTrainsAsOnTheCpu) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        for (Transformer model : {tiny_gpt(), tiny_llama()}) {
            model.num_layers = 1;
            const auto ops = expect_same_training(model, ring_plan(2, precision));
            EXPECT_EQ(ops.count(KernelKind::transpose), 1u);
        }
    }
}

// Head size 64 in bf16 takes the tensor-core kernels; a block is longer than their tiles of keys.
TEST(ParallelLaunches, ARingTrainsOnTensorCoresWithDropout) {
    Transformer model = tiny_llama();
    model.hidden_size = 128;
    model.ffn_hidden_size = 32;
    model.kv_channels = 64;
    model.num_layers = 1;
    model.seq_length = 144;
    for (const double dropout : {0.0, 0.2}) {
        model.dropout = dropout;
        expect_same_training(model, ring_plan(2, Dtype::bf16));
    }
}

TEST(ParallelLaunches, RanksThatShareAKeyValueHeadTrainAsOnTheCpu) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        for (const std::int64_t context : {1, 2}) {
            Transformer model = tiny_llama();
            model.num_layers = 1;
            ParallelPlan plan = ring_plan(context, precision);
            plan.tensor_model_parallel_size = 2;
            EXPECT_EQ(expect_same_training(model, plan).count(KernelKind::transpose), 1u);
        }
    }
}

TEST(ParallelLaunches, TheUnfusedLossAndGatedActivationAreTheCpus) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        for (const Activation activation : {Activation::swiglu, Activation::geglu}) {
            Transformer model = tiny_llama();
            model.activation = activation;
            model.num_query_groups = 2;
            model.num_layers = 1;
            ParallelPlan plan = ring_plan(1, precision);
            plan.tensor_model_parallel_size = 2;
            const Training fused = train(model, plan, 1);
            plan.fused_activation = false;
            plan.fused_cross_entropy = false;
            expect_same_training(model, plan);
            const Training unfused = train(model, plan, 1);
            const double allowed = precision == Dtype::bf16 ? 3e-2 : 1e-5;
            EXPECT_NEAR(unfused.losses[0], fused.losses[0], allowed);
            EXPECT_NEAR(unfused.norms[0], fused.norms[0], 10 * allowed);
        }
    }
}

TEST(ParallelLaunches, DropoutOfTheEmbeddingTheAttentionAndTheBranchesIsTheCpus) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        for (Transformer model : {tiny_gpt(), tiny_llama()}) {
            model.dropout = 0.2;
            model.num_layers = 1;
            ParallelPlan plan = ring_plan(1, precision);
            plan.tensor_model_parallel_size = model.num_query_groups;
            plan.sequence_parallel = model.num_query_groups > 1;
            plan.data_parallel_size = 2;
            const auto ops = expect_same_training(model, plan);
            EXPECT_EQ(ops.count(KernelKind::dropout), 1u);
        }
    }
}

// All columns of a parameter, some columns of each of its parts, and shards of these.
TEST(ParallelLaunches, StochasticRoundingOfShardsIsTheCpus) {
    for (const Optimizer optimizer : {Optimizer::adam, Optimizer::lamb}) {
        for (const Dtype main : {Dtype::fp32, Dtype::bf16}) {
            ParallelPlan plan = plan_of(1, 3, ShardingStrategy::optim);
            plan.tensor_model_parallel_size = 2;
            plan.global_batch_size = 6;
            plan.optimizer = optimizer;
            plan.precision = Dtype::bf16;
            plan.main_params_dtype = main;
            plan.bf16_stochastic_round = true;
            Transformer model = tiny_llama();
            model.num_layers = 1;
            expect_same_training(model, plan);
        }
    }
}

// Tensors in shards, and tensors whose norms another rank counts.
TEST(ParallelLaunches, LambOfShardsIsTheCpus) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        ParallelPlan plan = plan_of(1, 3, ShardingStrategy::optim);
        plan.tensor_model_parallel_size = 2;
        plan.global_batch_size = 6;
        plan.optimizer = Optimizer::lamb;
        plan.precision = precision;
        Transformer model = tiny_gpt();
        model.num_layers = 1;
        const auto ops = expect_same_training(model, plan);
        EXPECT_EQ(ops.count(KernelKind::lamb), 1u);
    }
}

}  // namespace parallel_launches_test
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Whole training steps in which every kernel but the matrix products is the device code of the CUDA
// kernels, emulated. Each op is also run by the CPU kernels on the same operands, and compared.
#include "runtime/cuda/kernel_launches.h"

#include <map>

#include "tests/runtime/cuda/compared_device.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

std::vector<double> train(TinyRun& run, int steps) {
    std::vector<double> losses;
    run.set(DeviceScalar::learning_rate, 1e-2);
    run.set(DeviceScalar::beta1, 0.9);
    run.set(DeviceScalar::beta2, 0.95);
    run.set(DeviceScalar::epsilon, 1e-8);
    run.set(DeviceScalar::weight_decay, 0.1);
    run.set(DeviceScalar::clip_norm, 1.0);
    for (int step = 1; step <= steps; ++step) {
        run.set(DeviceScalar::step, step);
        EXPECT_TRUE(run.executor().run_step());
        losses.push_back(run.loss());
    }
    return losses;
}

std::map<KernelKind, int> expect_same_training(const Transformer& model, const ParallelPlan& plan) {
    constexpr int kSteps = 2;
    TinyRun on_cpu{model, plan};
    TinyRun emulated{model, plan};
    auto device = std::make_shared<ComparedDevice>(plan.precision);
    emulated.executor().run_kernels_with([device](const BoundOp& op) { (*device)(op); });
    const std::vector<double> expected = train(on_cpu, kSteps);
    const std::vector<double> losses = train(emulated, kSteps);
    for (std::size_t i = 0; i < losses.size(); ++i) {
        EXPECT_NEAR(losses[i], expected[i], plan.precision == Dtype::bf16 ? 2e-2 : 1e-4);
    }
    return device->ops;
}

TEST(KernelLaunches, TrainAGptAsTheCpuKernelsDo) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        ParallelPlan plan = tiny_plan();
        plan.precision = precision;
        const auto ops = expect_same_training(tiny_gpt(), plan);
        for (const KernelKind kind : {KernelKind::attention_backward,
                                      KernelKind::layernorm_backward,
                                      KernelKind::gelu_backward,
                                      KernelKind::embedding_backward,
                                      KernelKind::cross_entropy_backward,
                                      KernelKind::gradient_norm,
                                      KernelKind::gradient_scale,
                                      KernelKind::adamw}) {
            EXPECT_EQ(ops.count(kind), 1u) << name(kind);
        }
    }
}

TEST(KernelLaunches, TrainALlamaAsTheCpuKernelsDo) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        ParallelPlan plan = tiny_plan();
        plan.precision = precision;
        const auto ops = expect_same_training(tiny_llama(), plan);
        for (const KernelKind kind :
             {KernelKind::rope, KernelKind::rmsnorm_backward, KernelKind::swiglu_backward}) {
            EXPECT_EQ(ops.count(kind), 1u) << name(kind);
        }
    }
}

TEST(KernelLaunches, TrainWithUnfusedKernelsAndParallelBlocks) {
    ParallelPlan plan = tiny_plan();
    plan.fused_norm = false;
    plan.gradient_accumulation_fusion = false;
    Transformer model = tiny_gpt();
    model.activation = Activation::squared_relu;
    model.parallel_block = true;
    expect_same_training(model, plan);
}

TEST(KernelLaunches, TrainByLambAsTheCpuKernelsDo) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        ParallelPlan plan = tiny_plan();
        plan.precision = precision;
        plan.optimizer = Optimizer::lamb;
        const auto ops = expect_same_training(tiny_gpt(), plan);
        EXPECT_EQ(ops.count(KernelKind::lamb_update), 1u);
        EXPECT_EQ(ops.count(KernelKind::lamb), 1u);
    }
}

TEST(KernelLaunches, TrainUnfusedAttentionAsTheCpuKernelsDo) {
    for (const Dtype precision : {Dtype::fp32, Dtype::bf16}) {
        for (const double dropout : {0.0, 0.2}) {
            ParallelPlan plan = tiny_plan();
            plan.precision = precision;
            plan.attention_kernel = AttentionKernel::unfused;
            Transformer model = tiny_llama();
            model.dropout = dropout;
            const auto ops = expect_same_training(model, plan);
            EXPECT_EQ(ops.count(KernelKind::softmax_forward), 1u);
            EXPECT_EQ(ops.count(KernelKind::softmax_backward), 1u);
        }
    }
}

// Head size 64 in bf16 takes the tensor-core kernels.
TEST(KernelLaunches, TrainOnTensorCores) {
    Transformer model = tiny_llama();
    model.hidden_size = 64;
    model.ffn_hidden_size = 64;
    model.kv_channels = 64;
    model.num_layers = 1;
    model.seq_length = 40;
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::bf16;
    plan.global_batch_size = 2;
    expect_same_training(model, plan);
}

}  // namespace
}  // namespace orrery

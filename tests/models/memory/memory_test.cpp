// SPDX-License-Identifier: Apache-2.0
// Memory against closed forms: state by ZeRO stage (Rajbhandari et al., SC 2020), activations of a
// layer (Korthikanti et al. 2022, equations 1 to 6), micro-batches in flight by schedule.
#include "models/memory/memory.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/program/device_scalars.h"
#include "models/lowering/lowering.h"
#include "tests/models/known_models.h"

namespace orrery {
namespace memory_test {

constexpr std::int64_t kHidden = 128;
constexpr std::int64_t kHeads = 8;
constexpr std::int64_t kSeq = 64;
constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kSbh = kSeq * kBatch * kHidden;
constexpr std::int64_t kScores = kHeads * kSeq * kSeq * kBatch;  // a s^2 b
// Mean and deviation of each row of two norms, fp32, which Korthikanti's count leaves out.
constexpr std::int64_t kNorms = 2 * 2 * 4 * kSeq * kBatch;

Transformer small_model(std::int64_t layers) {
    Transformer model = gpt(layers, kHidden, kHeads, kSeq, 512);
    model.dropout = 0.1;
    return model;
}

RoleMemory memory_of(const Transformer& model, const ParallelPlan& plan, std::size_t role = 0) {
    return role_memory(lower(model, plan), to_id<RoleId>(role), Bytes{});
}

std::int64_t peak(const RoleMemory& memory, TensorKind kind) {
    return memory.at_peak[kind].count();
}

TEST(Memory, StateTakesEighteenBytesAParameterWithoutSharding) {
    const Transformer model = small_model(4);
    const std::int64_t n = num_parameters(model);
    const RoleMemory m = memory_of(model, {.global_batch_size = 2});
    EXPECT_EQ(peak(m, TensorKind::weights), 2 * n);
    EXPECT_EQ(peak(m, TensorKind::gradients), 4 * n);
    EXPECT_EQ(peak(m, TensorKind::optimizer), 12 * n);
}

// DeepSpeed's PipelineEngine keeps the output of each micro-batch in flight.
TEST(Memory, OutputsThatAStageKeepsAreOneForEachMicroBatchInFlight) {
    ParallelPlan plan{.pipeline_model_parallel_size = 4,
                      .micro_batch_size = kBatch,
                      .global_batch_size = 8 * kBatch,
                      .recompute_granularity = Recompute::full};
    const auto in_use = [&](std::size_t stage, bool frees) {
        plan.deallocate_pipeline_outputs = frees;
        return memory_of(small_model(8), plan, stage).in_use.count();
    };
    const std::int64_t kept = in_use(0, false) - in_use(0, true);
    EXPECT_GE(kept, 3 * 2 * kSbh);
    EXPECT_LE(kept, 4 * 2 * kSbh);
    EXPECT_EQ(in_use(3, false), in_use(3, true));
}

// A part of each output waits for its backward pass, which gathers it: one is whole at a time.
TEST(Memory, PartsOfOutputsAreKeptWhereRanksShareThem) {
    ParallelPlan plan{.tensor_model_parallel_size = 2,
                      .pipeline_model_parallel_size = 4,
                      .micro_batch_size = kBatch,
                      .global_batch_size = 8 * kBatch,
                      .recompute_granularity = Recompute::full,
                      .deallocate_pipeline_outputs = false};
    const auto in_use = [&](bool parts, std::size_t stage) {
        plan.partition_pipeline_outputs = parts;
        return memory_of(small_model(8), plan, stage).in_use.count();
    };
    EXPECT_EQ(in_use(false, 0) - in_use(true, 0), 3 * 2 * kSbh / 2);
    EXPECT_EQ(in_use(false, 3), in_use(true, 3));
}

// DeepSpeed's PipelineEngine has two buffers of the last stage's fp32 logits, and those of a
// micro-batch exist before they take a buffer. A copy that the loss makes lies in one of them.
TEST(Memory, LogitsThatThePipelineKeepsAreOfItsLastStage) {
    ParallelPlan plan{.pipeline_model_parallel_size = 4,
                      .micro_batch_size = kBatch,
                      .global_batch_size = 8 * kBatch,
                      .recompute_granularity = Recompute::full};
    const auto in_use = [&](std::size_t stage, std::int64_t kept, std::int64_t copies, bool fused) {
        plan.fused_cross_entropy = fused;
        plan.kept_logits = kept;
        plan.loss_copies = copies;
        return memory_of(small_model(8), plan, stage).in_use.count();
    };
    constexpr std::int64_t kLogits = kSeq * kBatch * 512;
    EXPECT_EQ(in_use(3, 2, 0, false) - in_use(3, 0, 0, false), 2 * 4 * kLogits);
    EXPECT_EQ(in_use(3, 2, 1, false), in_use(3, 2, 0, false));
    EXPECT_EQ(in_use(3, 2, 0, true) - in_use(3, 0, 0, true), 2 * 2 * kLogits);
    EXPECT_EQ(in_use(0, 2, 0, false), in_use(0, 0, 0, false));
}

TEST(Memory, WeightsThatAreTheirOwnMasterCopiesTakeFourBytesLess) {
    const Transformer model = small_model(4);
    const std::int64_t n = num_parameters(model);
    for (const Optimizer optimizer : {Optimizer::adam, Optimizer::lamb}) {
        const RoleMemory m = memory_of(
            model,
            {.global_batch_size = 2, .optimizer = optimizer, .main_params_dtype = Dtype::bf16});
        EXPECT_EQ(peak(m, TensorKind::weights), 2 * n);
        EXPECT_EQ(peak(m, TensorKind::optimizer), 8 * n);
    }
}

TEST(Memory, Zero1ShardsTheOptimizerAndZero3Everything) {
    const Transformer model = small_model(4);
    const std::int64_t n = num_parameters(model);
    ParallelPlan plan{.data_parallel_size = 4,
                      .data_parallel_sharding_strategy = ShardingStrategy::optim,
                      .global_batch_size = 4};
    const RoleMemory one = memory_of(model, plan);
    EXPECT_EQ(peak(one, TensorKind::weights), 2 * n);
    EXPECT_EQ(peak(one, TensorKind::gradients), 4 * n);
    EXPECT_EQ(peak(one, TensorKind::optimizer), 12 * n / 4);
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
    const RoleMemory three = memory_of(model, plan);
    EXPECT_EQ(peak(three, TensorKind::weights), 2 * n / 4);
    EXPECT_EQ(peak(three, TensorKind::optimizer), 12 * n / 4);
    // What persists, and the whole gradients of the units that are worked on.
    const std::int64_t unit = std::max(layer_parameters(model), embedding_parameters(model));
    EXPECT_GE(peak(three, TensorKind::gradients), 4 * n / 4);
    EXPECT_LE(peak(three, TensorKind::gradients), 4 * n / 4 + 2 * 4 * unit);
    EXPECT_LT(three.peak, one.peak);
}

// Of one more layer.
std::int64_t layer_activations(const ParallelPlan& plan, double dropout = 0.1) {
    const auto with = [&](std::int64_t layers) {
        Transformer model = small_model(layers);
        model.dropout = dropout;
        return peak(memory_of(model, plan), TensorKind::activations);
    };
    return with(9) - with(8);
}

TEST(Memory, LayerKeepsWhatKorthikantiCounts) {
    ParallelPlan plan{.micro_batch_size = kBatch,
                      .global_batch_size = kBatch,
                      .attention_kernel = AttentionKernel::unfused};
    EXPECT_EQ(layer_activations(plan), 34 * kSbh + 5 * kScores + kNorms);  // (1)
    plan.recompute_granularity = Recompute::selective;
    EXPECT_EQ(layer_activations(plan), 34 * kSbh + kNorms);
    plan.recompute_granularity = Recompute::full;
    EXPECT_EQ(layer_activations(plan), 2 * kSbh);
    plan.recompute_granularity = Recompute::none;
    plan.tensor_model_parallel_size = 4;
    EXPECT_EQ(layer_activations(plan), (10 + 24 / 4) * kSbh + 5 * kScores / 4 + kNorms);  // (2)
    plan.sequence_parallel = true;
    EXPECT_EQ(layer_activations(plan), 34 * kSbh / 4 + 5 * kScores / 4 + kNorms / 4);  // (4)
    plan.recompute_granularity = Recompute::selective;
    EXPECT_EQ(layer_activations(plan), 34 * kSbh / 4 + kNorms / 4);  // (6)
    plan.recompute_granularity = Recompute::full;
    EXPECT_EQ(layer_activations(plan), 2 * kSbh / 4);
}

// Flash attention keeps one fp32 number a query and head; two masks fall away without dropout.
TEST(Memory, FlashAttentionKeepsItsLogSumExpOnly) {
    const ParallelPlan plan{.micro_batch_size = kBatch, .global_batch_size = kBatch};
    EXPECT_EQ(layer_activations(plan), 34 * kSbh + 4 * kHeads * kSeq * kBatch + kNorms);
    EXPECT_EQ(layer_activations(plan, 0), 32 * kSbh + 4 * kHeads * kSeq * kBatch + kNorms);
}

// Ranks that share a key-value head keep all of it for attention, but only their part of what makes
// it.
TEST(Memory, RanksThatShareAKeyValueHeadKeepItsActivationsWholeAndItsWeightsInParts) {
    ParallelPlan plan{.tensor_model_parallel_size = 4, .micro_batch_size = 2};
    plan.global_batch_size = 2;
    const auto of_a_layer = [&](std::int64_t groups, TensorKind kind) {
        const auto with = [&](std::int64_t layers) {
            Transformer model = small_model(layers);
            model.num_query_groups = groups;
            return peak(memory_of(model, plan), kind);
        };
        return with(9) - with(8);
    };
    for (const Recompute recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        plan.recompute_granularity = recompute;
        const std::int64_t a_head_each = of_a_layer(4, TensorKind::activations);
        EXPECT_EQ(of_a_layer(2, TensorKind::activations), a_head_each);
        EXPECT_EQ(of_a_layer(1, TensorKind::activations), a_head_each);
    }
    // Two times the columns of a head, with their biases, in bf16, over four ranks.
    constexpr std::int64_t kOfHead = 2 * (kHidden / kHeads) * (kHidden + 1) * 2 / 4;
    const std::int64_t weights = of_a_layer(4, TensorKind::weights);
    EXPECT_EQ(of_a_layer(2, TensorKind::weights), weights - 2 * kOfHead);
    EXPECT_EQ(of_a_layer(1, TensorKind::weights), weights - 3 * kOfHead);
}

// Micro-batches (of a chunk) in flight on a stage at most, by what they add to a step of one.
std::int64_t in_flight(ScheduleKind schedule,
                       std::int64_t chunks,
                       std::size_t stage,
                       std::int64_t micro_batches) {
    ParallelPlan plan{.pipeline_model_parallel_size = 4,
                      .virtual_pipeline_model_parallel_size = chunks,
                      .micro_batch_size = kBatch,
                      .global_batch_size = kBatch,
                      .recompute_granularity = Recompute::selective,
                      .schedule = schedule,
                      .attention_kernel = AttentionKernel::unfused,
                      .overlap_p2p = true};  // no message waits for another's turn
    const Transformer model = small_model(4 * chunks);
    const std::int64_t one = peak(memory_of(model, plan, stage), TensorKind::activations);
    plan.global_batch_size = kBatch * micro_batches;
    const std::int64_t many = peak(memory_of(model, plan, stage), TensorKind::activations);
    // The last stage keeps the labels of all micro-batches, so that a step can run once more.
    const std::int64_t labels = stage == 3 ? (micro_batches - 1) * kSeq * kBatch * 4 : 0;
    const std::int64_t more = many - one - labels;
    EXPECT_EQ(more % (34 * kSbh + kNorms), 0);
    return chunks + more / (34 * kSbh + kNorms);  // a step of one holds it on every chunk
}

TEST(Memory, StagesOf1F1BHoldAsManyMicroBatchesAsStagesFollow) {
    for (const std::size_t stage : {1u, 2u}) {
        const auto follow = static_cast<std::int64_t>(4 - stage);
        EXPECT_EQ(in_flight(ScheduleKind::one_f_one_b, 1, stage, 16), follow);
        EXPECT_EQ(in_flight(ScheduleKind::gpipe, 1, stage, 16), 16);
    }
    EXPECT_EQ(in_flight(ScheduleKind::one_f_one_b, 1, 3, 16), 1);
}

TEST(Memory, InterleavedStagesHoldTheirWarmUpAndOneMore) {
    for (const std::size_t stage : {1u, 2u}) {
        const auto warm_up = static_cast<std::int64_t>(2 * (4 - stage - 1) + (2 - 1) * 4);
        EXPECT_EQ(in_flight(ScheduleKind::interleaved_1f1b, 2, stage, 16), warm_up + 1);
        EXPECT_EQ(in_flight(ScheduleKind::breadth_first, 2, stage, 16), 2 * 16);
    }
}

// ZeRO-Offload: of the optimizer's state nothing is on the device; the host has it, the gradients
// that it steps with and the weights that it makes.
TEST(Memory, AnOffloadedOptimizerIsOnTheHost) {
    Transformer model = gpt2_124m();
    ParallelPlan plan;
    plan.data_parallel_size = 4;
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    plan.global_batch_size = 4;
    const Program on_device = lower(model, plan);
    EXPECT_EQ(host_bytes(on_device, RoleId{0}), Bytes{});
    plan.optimizer_cpu_offload = true;
    const Program on_host = lower(model, plan);
    const MemoryByKind before = role_memory(on_device, RoleId{0}, Bytes{}).at_peak;
    const MemoryByKind after = role_memory(on_host, RoleId{0}, Bytes{}).at_peak;
    EXPECT_EQ(after[TensorKind::optimizer], Bytes{});
    // Moments and master copy, the gradient and the weight: 12 + 4 + 2 bytes a parameter.
    const Bytes state = before[TensorKind::optimizer];
    EXPECT_EQ(host_bytes(on_host, RoleId{0}).count(), state.count() / 12 * 18);
    EXPECT_EQ(on_host.copies.size(), 2U);
    EXPECT_EQ(on_host.copies[0].bytes.count(), state.count() / 3);
    EXPECT_EQ(on_host.copies[1].bytes.count(), state.count() / 6);
}

TEST(Memory, NamesTheMomentAndTheLargestBuffers) {
    const Transformer model = small_model(4);
    const Program program = lower(model, {.global_batch_size = 2});
    const RoleMemory m = role_memory(program, to_id<RoleId>(0), Bytes{1000});
    // The libraries', the device scalars, and what the host reads: loss and norm of the gradients.
    EXPECT_EQ(peak(m, TensorKind::workspace), 1000 + 4 * kNumDeviceScalars + 4 + 4);
    EXPECT_EQ(m.in_use, m.at_peak.total());
    EXPECT_GE(m.peak, m.in_use);
    EXPECT_LT(m.slot, program.roles[0].slots.size());
    ASSERT_FALSE(m.largest.empty());
    for (std::size_t i = 1; i < m.largest.size(); ++i) {
        EXPECT_GE(m.largest[i - 1].bytes, m.largest[i].bytes);
    }
    EXPECT_EQ(m.largest[0].kind, TensorKind::optimizer);
}

TEST(Memory, BuffersOfTheSameNameInSeveralLayersAreOneLine) {
    Transformer model = small_model(4);
    model.seq_length = 1024;  // activations are the largest buffers
    const Program program = lower(model, {.global_batch_size = 2});
    const RoleMemory m = role_memory(program, to_id<RoleId>(0), Bytes{});
    std::int64_t most = 0;
    for (const LargeBuffer& buffer : m.largest) {
        EXPECT_EQ(std::ranges::count(m.largest, buffer.name, &LargeBuffer::name), 1) << buffer.name;
        most = std::max(most, buffer.copies);
    }
    EXPECT_GE(most, 4);
}

// Two bytes more for each parameter of a matrix, of which the pass that needs most would have one
// matrix anyway. The plan has one micro-batch more, because the first finds no gradients.
TEST(Memory, GradientsOfAPassThatAreKeptTakeTwoBytesAParameter) {
    const Transformer model = small_model(4);
    ParallelPlan plan{
        .micro_batch_size = 1, .global_batch_size = 4, .gradient_accumulation_fusion = false};
    const std::int64_t freed = peak(memory_of(model, plan), TensorKind::gradients);
    plan.clear_lp_grads = false;
    const std::int64_t kept = peak(memory_of(model, plan), TensorKind::gradients);
    const std::int64_t matrices = 4 * 12 * kHidden * kHidden + 512 * kHidden;
    EXPECT_LE(kept - freed, 2 * matrices);
    EXPECT_GE(kept - freed, 2 * matrices - 2 * 2 * 512 * kHidden);
}

// DeepSpeed's allreduce_bucket: a copy of all fp32 gradients in bf16, while the last pass's 16-bit
// gradients still live.
TEST(Memory, AReductionInAShorterTypeTakesACopyBesideTheGradients) {
    const Transformer model = small_model(4);
    const std::int64_t n = num_parameters(model);
    ParallelPlan plan{.data_parallel_size = 2,
                      .data_parallel_sharding_strategy = ShardingStrategy::optim,
                      .micro_batch_size = 1,
                      .global_batch_size = 4,
                      .recompute_granularity = Recompute::full,
                      .gradient_accumulation_fusion = false,
                      .clear_lp_grads = false};
    EXPECT_EQ(peak(memory_of(model, plan), TensorKind::communication), 0);
    plan.grad_reduce_dtype = Dtype::bf16;
    const RoleMemory m = memory_of(model, plan);
    EXPECT_EQ(peak(m, TensorKind::communication), 2 * n);
    const std::int64_t matrices = 4 * 12 * kHidden * kHidden + 512 * kHidden;
    EXPECT_EQ(peak(m, TensorKind::gradients), 4 * n + 2 * matrices);
}

// As PyTorch's autograd does: the logits are gone when the first layer runs backward.
TEST(Memory, LogitsAreReleasedBeforeTheLayersRunBackward) {
    Transformer model = small_model(2);
    const ParallelPlan plan{.global_batch_size = 2, .recompute_granularity = Recompute::full};
    const auto activations = [&](std::int64_t vocabulary) {
        model.vocab_size = vocabulary;
        return peak(memory_of(model, plan), TensorKind::activations);
    };
    EXPECT_EQ(activations(128), activations(256));
}

TEST(Memory, FilesOfARoleHaveALargestTensor) {
    const Transformer model = small_model(4);
    ParallelPlan plan{.data_parallel_size = 2,
                      .data_parallel_sharding_strategy = ShardingStrategy::optim,
                      .global_batch_size = 2};
    plan.optimizer_cpu_offload = true;
    const Program in_memory = lower(model, plan);
    EXPECT_EQ(file_bytes(in_memory, RoleId{0}), Bytes{});
    EXPECT_EQ(largest_in(in_memory, RoleId{0}, MemoryTier::nvme).bytes, Bytes{});
    const LargeBuffer whole = largest_in(in_memory, RoleId{0}, MemoryTier::dram);
    EXPECT_EQ(whole.name, "stage 0 optimizer state");
    plan.optimizer_offload_tier = OffloadTier::file;
    const Program in_file = lower(model, plan);
    EXPECT_EQ(file_bytes(in_file, RoleId{0}), whole.bytes);
    EXPECT_LT(largest_in(in_file, RoleId{0}, MemoryTier::nvme).bytes, whole.bytes);
}

}  // namespace memory_test
}  // namespace orrery

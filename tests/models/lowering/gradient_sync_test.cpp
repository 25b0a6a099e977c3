// SPDX-License-Identifier: Apache-2.0
// Bytes that gradients and parameters travel once a step, or once a micro-batch under ZeRO 3
// (Rajbhandari et al., SC 2020, section 7), and those between pipeline stages.
#include "models/lowering/gradient_sync.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/lowering/lowering.h"
#include "models/plan/validate_plan.h"
#include "tests/models/known_models.h"
#include "tests/models/program_sums.h"

namespace orrery {
namespace {

constexpr std::int64_t kMicroBatches = 3;

Transformer small_model() {
    Transformer model = gpt(4, 128, 8, 64, 512);
    model.tied_embeddings = false;
    return model;
}

ParallelPlan data_parallel_plan(ShardingStrategy strategy) {
    return {.data_parallel_size = 4,
            .data_parallel_sharding_strategy = strategy,
            .global_batch_size = 4 * kMicroBatches};
}

TrafficTable traffic_of(const Transformer& model, const ParallelPlan& plan, std::size_t role = 0) {
    const Program program = lower(model, plan);
    return traffic(program, program.roles[role]);
}

TEST(GradientSync, ReducesEveryGradientOnceAStep) {
    const Transformer model = small_model();
    const std::int64_t parameters = num_parameters(model);
    for (const bool overlap : {false, true}) {
        ParallelPlan plan = data_parallel_plan(ShardingStrategy::no_shard);
        plan.overlap_grad_reduce = overlap;
        plan.ddp_bucket_size = 100'000;
        const TrafficSum t = traffic_of(model, plan).at({"all_reduce", "dp"});
        EXPECT_EQ(t.bytes, 4 * parameters);
        // A bucket closes when it is full, and the last one may stay empty.
        EXPECT_EQ(t.count > 1, overlap);
        EXPECT_LE(t.count, parameters / 100'000 + 1);
        plan.gradient_dtype = Dtype::bf16;
        EXPECT_EQ(traffic_of(model, plan).at({"all_reduce", "dp"}).bytes, 2 * parameters);
    }
}

// DeepSpeed's communication_data_type: casts around each bucket, and half the bytes.
TEST(GradientSync, ReducesInAShorterTypeBetweenCasts) {
    const Transformer model = small_model();
    const std::int64_t parameters = num_parameters(model);
    ParallelPlan plan = data_parallel_plan(ShardingStrategy::no_shard);
    plan.grad_reduce_dtype = Dtype::bf16;
    const Program program = lower(model, plan);
    EXPECT_EQ(traffic(program, program.roles[0]).at({"all_reduce", "dp"}).bytes, 2 * parameters);
    const auto casts = std::ranges::count_if(program.segments, [&](const Segment& segment) {
        return std::ranges::count_if(segment.ops, [&](const Op& op) {
                   return program.names[op.name] == "gradient cast";
               }) == 2;
    });
    EXPECT_EQ(casts, 1);
    // The copy in the shorter type lies beside the gradients.
    std::int64_t copied = 0;
    for (const Tensor& tensor : program.tensors) {
        copied += tensor.name == "gradients in the reduction's type" ? tensor.bytes.count() : 0;
    }
    EXPECT_EQ(copied, 2 * parameters);

    plan.gradient_dtype = Dtype::bf16;
    EXPECT_EQ(traffic_of(model, plan).at({"all_reduce", "dp"}).bytes, 2 * parameters);
    plan.gradient_dtype = Dtype::fp32;
    plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
    EXPECT_EQ(check(model, plan, 4).front().where, "plan.grad_reduce_dtype");
}

TEST(GradientSync, ScattersGradientsAndGathersParametersUnderZero1And2) {
    const Transformer model = small_model();
    const std::int64_t parameters = num_parameters(model);
    for (const ShardingStrategy strategy :
         {ShardingStrategy::optim, ShardingStrategy::optim_grads}) {
        const TrafficTable table = traffic_of(model, data_parallel_plan(strategy));
        EXPECT_EQ(table.at({"reduce_scatter", "dp"}), (TrafficSum{1, 4 * parameters}));
        EXPECT_EQ(table.at({"all_gather", "dp"}), (TrafficSum{1, 2 * parameters}));
        EXPECT_EQ(table.at({"all_reduce", "dp"}), (TrafficSum{1, 4}));  // the gradient norm
    }
}

// InternEvo: at most a broadcast a rank, and no more than there are parameters.
TEST(GradientSync, OwnersOfWholeParametersBroadcastThem) {
    const Transformer model = small_model();
    const std::int64_t parameters = num_parameters(model);
    std::int64_t before = 0;
    for (const std::int64_t ranks : {2, 4, 16, 4096}) {
        ParallelPlan plan = data_parallel_plan(ShardingStrategy::optim);
        plan.data_parallel_size = ranks;
        plan.global_batch_size = ranks * kMicroBatches;
        plan.zero_whole_parameters = true;
        const TrafficTable t = traffic_of(model, plan);
        EXPECT_EQ(t.count({"all_gather", "dp"}), 0u);
        const TrafficSum sent = t.at({"broadcast", "dp"});
        EXPECT_EQ(sent.bytes, 2 * parameters);
        EXPECT_LE(sent.count, ranks);
        EXPECT_LE(sent.count, 70);  // tensors of the model
        EXPECT_GT(sent.count, before);
        before = sent.count;
    }
}

// InternEvo: every gradient is copied into a bucket and back. Only the last bucket's way back waits
// for a reduction.
TEST(GradientSync, BucketsAreCopiedInAndOut) {
    const Transformer model = small_model();
    ParallelPlan plan = data_parallel_plan(ShardingStrategy::optim);
    plan.gradient_dtype = Dtype::bf16;
    plan.reduce_scatter = false;
    plan.overlap_grad_reduce = true;
    plan.ddp_bucket_size = num_parameters(model) / 3;
    plan.gradient_bucket_copies = true;
    for (const std::int64_t ranks : {1, 4}) {
        plan.data_parallel_size = ranks;
        plan.global_batch_size = ranks * kMicroBatches;
        const Program program = lower(model, plan);
        std::int64_t bytes = 0;
        std::int64_t copies = 0;
        std::int64_t waiting = 0;
        for (const Segment& segment : program.segments) {
            for (const Op& op : segment.ops) {
                if (program.names[op.name].starts_with("gradients into buckets") ||
                    program.names[op.name].starts_with("gradients out of buckets")) {
                    bytes += program.kernels[index(op.payload.kernel())].bytes;
                    ++copies;
                    waiting += op.num_operands > 0 ? 1 : 0;
                }
            }
        }
        EXPECT_EQ(bytes, ranks > 1 ? 8 * num_parameters(model) : 0);
        EXPECT_EQ(copies % 2, 0);
        EXPECT_GE(copies, ranks > 1 ? 4 : 0);
        EXPECT_EQ(waiting, ranks > 1 ? 1 : 0);
    }
}

// nanotron: after ZeRO 1's gather three copies of all weights, and a loop of the host with three
// operators for each rank's part of each parameter. A rank alone gathers nothing.
TEST(GradientSync, GatheredPartsAreCopiedOneByOne) {
    const Transformer model = small_model();
    for (const std::int64_t ranks : {1, 4, 8}) {
        ParallelPlan plan = data_parallel_plan(ShardingStrategy::optim);
        plan.data_parallel_size = ranks;
        plan.global_batch_size = ranks * kMicroBatches;
        plan.zero_copies_parts = true;
        const Program program = lower(model, plan);
        std::int64_t copies = 0;
        Time host{};
        for (const Segment& segment : program.segments) {
            for (const Op& op : segment.ops) {
                copies += program.names[op.name] == "weights copy out" ? 1 : 0;
                if (program.names[op.name] == "weights in parts") {
                    host += program.host_works[index(op.payload.host_work())].duration;
                }
            }
        }
        std::int64_t tensors = 0;
        for (const Tensor& tensor : program.tensors) {
            tensors += tensor.kind == TensorKind::weights ? 1 : 0;
        }
        EXPECT_EQ(copies, ranks > 1 ? 3 : 0);
        EXPECT_EQ(host.picoseconds(), ranks > 1 ? 15'000'000 * ranks * tensors : 0);
    }
}

TEST(GradientSync, Zero3GathersEachUnitForEachPassAndScattersItsGradients) {
    const Transformer model = small_model();
    const std::int64_t parameters = num_parameters(model);
    const std::int64_t units = model.num_layers + 2;  // embedding and output layer
    for (const bool overlap : {false, true}) {
        ParallelPlan plan = data_parallel_plan(ShardingStrategy::optim_grads_params);
        plan.overlap_param_gather = overlap;
        const TrafficTable table = traffic_of(model, plan);
        EXPECT_EQ(table.at({"all_gather", "dp"}),
                  (TrafficSum{2 * units * kMicroBatches, 2 * kMicroBatches * 2 * parameters}));
        EXPECT_EQ(table.at({"reduce_scatter", "dp"}),
                  (TrafficSum{units * kMicroBatches, kMicroBatches * 4 * parameters}));
    }
}

// DeepSpeed's stage 2 (stage_1_and_2.py, partition_gradients): of whole gradients only those of the
// units that a backward pass works on are alive.
TEST(GradientSync, Zero2ScattersThemInEveryMicroBatchIfToldTo) {
    const Transformer model = small_model();
    const std::int64_t parameters = num_parameters(model);
    const std::int64_t units = model.num_layers + 2;  // embedding and output layer
    ParallelPlan plan = data_parallel_plan(ShardingStrategy::optim_grads);
    const Program once = lower(model, plan);
    plan.reduce_every_micro_batch = true;
    const Program every = lower(model, plan);
    const TrafficTable table = traffic(every, every.roles[0]);
    EXPECT_EQ(table.at({"reduce_scatter", "dp"}),
              (TrafficSum{units * kMicroBatches, kMicroBatches * 4 * parameters}));
    EXPECT_EQ(table.at({"all_gather", "dp"}).bytes, 2 * parameters);
    const auto persistent = [](const Program& program) {
        std::int64_t bytes = 0;
        for (const Tensor& tensor : program.tensors) {
            const bool lasts = tensor.lifetime != Lifetime::slot;
            bytes += tensor.kind == TensorKind::gradients && lasts ? tensor.bytes.count() : 0;
        }
        return bytes;
    };
    EXPECT_EQ(persistent(once), 4 * parameters);
    EXPECT_EQ(persistent(every), parameters);
    // One rank has nothing to reduce.
    plan.data_parallel_size = 1;
    plan.global_batch_size = kMicroBatches;
    EXPECT_EQ(persistent(lower(model, plan)), 4 * parameters);
}

TEST(GradientSync, IsInTheTypeOfTheGradientsWherePassesReduce) {
    ParallelPlan plan = data_parallel_plan(ShardingStrategy::optim_grads);
    plan.reduce_every_micro_batch = true;
    plan.grad_reduce_dtype = Dtype::bf16;
    EXPECT_EQ(check(small_model(), plan, 4).front().where, "plan.grad_reduce_dtype");
    plan.reduce_every_micro_batch = false;
    EXPECT_TRUE(check(small_model(), plan, 4).empty());
}

TEST(GradientSync, HybridShardingReducesShardsOverTheCopies) {
    const Transformer model = small_model();
    const std::int64_t parameters = num_parameters(model);
    for (const ShardingStrategy strategy :
         {ShardingStrategy::optim, ShardingStrategy::optim_grads_params}) {
        ParallelPlan plan = data_parallel_plan(strategy);
        plan.hsdp_shard_size = 2;
        const std::int64_t times =
            strategy == ShardingStrategy::optim_grads_params ? kMicroBatches : 1;
        const TrafficTable table = traffic_of(model, plan);
        EXPECT_EQ(table.at({"reduce_scatter", "dps"}).bytes, times * 4 * parameters);
        EXPECT_EQ(table.at({"all_reduce", "dpr"}).bytes, times * 4 * parameters / 2);
    }
}

TEST(GradientSync, ContextParallelRanksShareInIt) {
    const Transformer model = small_model();
    ParallelPlan plan = data_parallel_plan(ShardingStrategy::optim);
    plan.context_parallel_size = 2;
    EXPECT_EQ(traffic_of(model, plan).at({"reduce_scatter", "cp-dp"}),
              (TrafficSum{1, 4 * num_parameters(model)}));
}

TEST(GradientSync, TiedEmbeddingsAreAddedBetweenTheFirstAndTheLastStage) {
    Transformer model = small_model();
    model.tied_embeddings = true;
    ParallelPlan plan = data_parallel_plan(ShardingStrategy::no_shard);
    plan.tensor_model_parallel_size = 2;
    plan.pipeline_model_parallel_size = 4;
    const Program program = lower(model, plan);
    const std::pair<std::string, std::string> key{"all_reduce", "pp{0,3}"};
    for (std::size_t stage = 0; stage < 4; ++stage) {
        const TrafficTable table = traffic(program, program.roles[stage]);
        const bool holds = stage == 0 || stage == 3;
        ASSERT_EQ(table.count(key), holds ? 1u : 0u);
        if (holds) {
            EXPECT_EQ(table.at(key), (TrafficSum{1, 512 * 128 / 2 * 4}));
        }
    }
}

// Buckets wait for their own gradients only: the first one starts long before the last layer's
// backward pass is done, sequence parallelism or not.
TEST(GradientSync, FirstBucketWaitsForTheMiddleOfTheBackwardPass) {
    for (const bool sequence_parallel : {false, true}) {
        ParallelPlan plan = data_parallel_plan(ShardingStrategy::optim);
        plan.tensor_model_parallel_size = 2;
        plan.sequence_parallel = sequence_parallel;
        plan.overlap_grad_reduce = true;
        plan.ddp_bucket_size = 50'000;
        const Program program = lower(small_model(), plan);
        const auto& slots = program.roles[0].slots;
        const auto sync = std::ranges::find(slots, Pass::gradient_sync, &Slot::pass);
        ASSERT_NE(sync, slots.end());
        ASSERT_FALSE(sync->waits.empty());
        const SlotWait& first = sync->waits.front();
        EXPECT_EQ(first.op, 0u);
        EXPECT_EQ(slots[first.slot].pass, Pass::backward);
        EXPECT_LT(first.slot_op, program.segment_of(slots[first.slot]).ops.size() / 2);
    }
}

// Every boundary of two virtual stages is crossed once a micro-batch each way.
TEST(Pipeline, SendsEachActivationAndGradientOnce) {
    const Transformer model = small_model();
    for (const ScheduleKind schedule : {ScheduleKind::gpipe,
                                        ScheduleKind::one_f_one_b,
                                        ScheduleKind::interleaved_1f1b,
                                        ScheduleKind::breadth_first,
                                        ScheduleKind::zero_bubble}) {
        const bool loops =
            schedule == ScheduleKind::interleaved_1f1b || schedule == ScheduleKind::breadth_first;
        for (const bool scatter : {false, true}) {
            const ParallelPlan plan{.tensor_model_parallel_size = 2,
                                    .pipeline_model_parallel_size = 2,
                                    .virtual_pipeline_model_parallel_size = loops ? 2 : 1,
                                    .global_batch_size = 6,
                                    .schedule = schedule,
                                    .scatter_gather_tensors_in_pipeline = scatter};
            const std::int64_t message = 64 * 128 * 2 / (scatter ? 2 : 1);
            const Program program = lower(model, plan);
            for (std::size_t stage = 0; stage < 2; ++stage) {
                const TrafficTable table = traffic(program, program.roles[stage]);
                const auto count = [&](const char* name) {
                    const auto found = table.find({"send", name});
                    const TrafficSum t = found == table.end() ? TrafficSum{} : found->second;
                    EXPECT_EQ(t.bytes, t.count * message);
                    return t.count;
                };
                EXPECT_EQ(count("send forward"),
                          6 * (loops ? 2 - static_cast<int>(stage) : 1 - static_cast<int>(stage)));
                EXPECT_EQ(count("send backward"),
                          6 * (loops ? 1 + static_cast<int>(stage) : static_cast<int>(stage)));
            }
        }
    }
}

}  // namespace
}  // namespace orrery

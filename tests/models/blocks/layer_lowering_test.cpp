// SPDX-License-Identifier: Apache-2.0
// What the layers of a model communicate under tensor, sequence and context parallelism, against
// the counts of the papers (Shoeybi et al. 2019; Korthikanti et al. 2022, section 4.2).
#include "models/blocks/layer_lowering.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>
#include <tuple>

#include "models/lowering/lowering.h"
#include "tests/models/known_models.h"
#include "tests/models/program_sums.h"

namespace orrery {
namespace layer_lowering_test {

constexpr std::int64_t kLayers = 4;
constexpr std::int64_t kHidden = 128;
constexpr std::int64_t kSequenceLength = 64;
constexpr std::int64_t kVocabulary = 512;
constexpr std::int64_t kMicroBatch = 2;
constexpr std::int64_t kMicroBatches = 3;
// Of one activation in 16 bits, whole; of one fp32 number a token.
constexpr std::int64_t kActivation = kMicroBatch * kSequenceLength * kHidden * 2;
constexpr std::int64_t kTokenNumbers = kMicroBatch * kSequenceLength * 4;
constexpr std::int64_t kGradientNorm = 4;

Transformer small_model() {
    return gpt(kLayers, kHidden, 8, kSequenceLength, kVocabulary);
}
ParallelPlan tensor_parallel_plan() {
    return {.tensor_model_parallel_size = 4,
            .micro_batch_size = kMicroBatch,
            .global_batch_size = kMicroBatch * kMicroBatches};
}

// `times` activations and `others` bytes more.
TrafficSum activations(std::int64_t times, std::int64_t more = 0, std::int64_t bytes = 0) {
    return {times * kMicroBatches + more, times * kMicroBatches * kActivation + bytes};
}

TrafficTable traffic_of(const Transformer& model, const ParallelPlan& plan) {
    const Program program = lower(model, plan);
    return traffic(program, program.roles[0]);
}

// The loss reduces three numbers a token; the step reduces the gradient norm.
constexpr std::int64_t kLossReductions = 3 * kMicroBatches;
constexpr std::int64_t kLossBytes = kLossReductions * kTokenNumbers + kGradientNorm;

TEST(TensorParallel, ReducesTwiceALayerAndPass) {
    // Two a layer each way; the embedding forward, the logits backward.
    EXPECT_EQ(traffic_of(small_model(), tensor_parallel_plan()),
              (TrafficTable{{{"all_reduce", "tp"},
                             activations(4 * kLayers + 2, kLossReductions + 1, kLossBytes)}}));
}

TEST(TensorParallel, ReducesOnceALayerAndPassInAParallelBlock) {
    Transformer model = small_model();
    model.parallel_block = true;
    EXPECT_EQ(traffic_of(model, tensor_parallel_plan()),
              (TrafficTable{{{"all_reduce", "tp"},
                             activations(2 * kLayers + 2, kLossReductions + 1, kLossBytes)}}));
}

TEST(TensorParallel, ReducesAgainWhereLayersRunAgain) {
    ParallelPlan plan = tensor_parallel_plan();
    plan.recompute_granularity = Recompute::full;
    EXPECT_EQ(traffic_of(small_model(), plan),
              (TrafficTable{{{"all_reduce", "tp"},
                             activations(6 * kLayers + 2, kLossReductions + 1, kLossBytes)}}));
}

// Elements of the norms, of the biases of row-parallel products, and of the position embedding:
// every rank saw its share of the sequence only.
std::int64_t partial_gradient_bytes(bool parallel_block) {
    const std::int64_t layer = (parallel_block ? 1 : 2) * 2 * kHidden + 2 * kHidden;
    return 4 * (kLayers * layer + 2 * kHidden + kSequenceLength * kHidden);
}

TEST(SequenceParallel, GathersAndScattersInPlaceOfEveryReduction) {
    ParallelPlan plan = tensor_parallel_plan();
    plan.sequence_parallel = true;
    // Gathers: x of two column products forward, again for their weight gradients, dy of two row
    // products; x of the logits twice, dy of the embedding. Scatters: two a layer each way, the
    // embedding, the logits.
    const TrafficTable expected{
        {{"all_gather", "tp"}, activations(6 * kLayers + 3)},
        {{"reduce_scatter", "tp"}, activations(4 * kLayers + 2)},
        {{"all_reduce", "tp"}, {kLossReductions + 2, kLossBytes + partial_gradient_bytes(false)}}};
    EXPECT_EQ(traffic_of(small_model(), plan), expected);
    // Chunks move the same bytes.
    plan.tp_comm_overlap = true;
    TrafficTable chunked = traffic_of(small_model(), plan);
    for (auto& [key, t] : chunked) {
        EXPECT_EQ(t.bytes, expected.at(key).bytes);
    }
}

// Transformer Engine's user buffers, as they are configured by default.
TEST(SequenceParallel, OverlappedGathersUseCopyEnginesAndScatters16Sms) {
    ParallelPlan plan = tensor_parallel_plan();
    plan.sequence_parallel = true;
    for (const bool overlap : {false, true}) {
        plan.tp_comm_overlap = overlap;
        const Program program = lower(small_model(), plan);
        std::set<std::tuple<CollectiveKind, TransferEngine, std::uint16_t>> movers;
        for (const CollectiveCall& call : program.collectives) {
            if (call.mover != Mover{}) {
                movers.insert({call.kind, call.mover.engine, call.mover.sm_limit});
            }
        }
        using Movers = decltype(movers);
        const Movers expected{
            {CollectiveKind::all_gather, TransferEngine::copy_engine, std::uint16_t{0}},
            {CollectiveKind::reduce_scatter, TransferEngine::sm, std::uint16_t{16}}};
        EXPECT_EQ(movers, overlap ? expected : Movers{});
    }
}

// Of a rank in a step; later pieces are all of a product or of an exchange but its first.
struct Launches {
    std::int64_t all = 0;
    std::int64_t later_pieces = 0;
};

Launches launches_of(const ParallelPlan& plan) {
    const Program program = lower(small_model(), plan);
    Launches launches;
    for_each_op(program, program.roles[0], [&](const Slot&, const Op& op) {
        launches.all += op.launches;
        const auto operands =
            std::span{program.operands}.subspan(op.first_operand, op.num_operands);
        launches.later_pieces +=
            std::ranges::any_of(operands, [](const Operand& operand) { return operand.piece > 0; });
    });
    return launches;
}

TEST(OverlappedProducts, AFrameworkCallsAllPiecesAtOnceAndAllOthersLaunchEach) {
    ParallelPlan plan = tensor_parallel_plan();
    plan.sequence_parallel = true;
    plan.tp_comm_overlap = true;
    for (const bool compiled : {false, true}) {
        for (const bool cuda_graphs : {false, true}) {
            plan.compiled = compiled;
            plan.cuda_graphs = cuda_graphs;
            const Launches each = launches_of(plan.launched_from_cpp());
            ASSERT_GT(each.later_pieces, 0);
            const bool calls = !compiled && !cuda_graphs;
            EXPECT_EQ(launches_of(plan).all, each.all - (calls ? each.later_pieces : 0))
                << compiled << cuda_graphs;
        }
    }
}

TEST(SequenceParallel, SharesGathersInAParallelBlock) {
    Transformer model = small_model();
    model.parallel_block = true;
    ParallelPlan plan = tensor_parallel_plan();
    plan.sequence_parallel = true;
    for (const ScheduleKind schedule : {ScheduleKind::one_f_one_b, ScheduleKind::zero_bubble}) {
        plan.schedule = schedule;
        EXPECT_EQ(
            traffic_of(model, plan),
            (TrafficTable{{{"all_gather", "tp"}, activations(3 * kLayers + 3)},
                          {{"reduce_scatter", "tp"}, activations(2 * kLayers + 2)},
                          {{"all_reduce", "tp"},
                           {kLossReductions + 2, kLossBytes + partial_gradient_bytes(true)}}}));
    }
}

// Forward, the ranks of a head gather its K and V for all their tokens; backward, they add up its
// gradient. The rest of the traffic is that of a head for each rank.
TEST(TensorParallel, RanksThatShareAKeyValueHeadGatherItAndScatterItsGradient) {
    constexpr std::int64_t kRanks = 4;
    Transformer model = small_model();
    model.num_query_groups = kRanks;
    for (const bool sequence_parallel : {false, true}) {
        ParallelPlan plan = tensor_parallel_plan();
        plan.sequence_parallel = sequence_parallel;
        const TrafficTable without = traffic_of(model, plan);
        for (const std::int64_t groups : {2, 1}) {
            Transformer shared = model;
            shared.num_query_groups = groups;
            TrafficTable expected = without;
            const std::int64_t times = kMicroBatches * kLayers;
            const std::int64_t head =
                kMicroBatch * kSequenceLength * 2 * shared.kv_channels * size_bytes(Dtype::bf16);
            const std::string group = groups == 1 ? "tp" : "tpq";
            for (const char* kind : {"all_gather", "reduce_scatter"}) {
                TrafficSum& traffic = expected[{kind, group}];
                traffic = {traffic.count + times, traffic.bytes + times * head};
            }
            EXPECT_EQ(traffic_of(shared, plan), expected) << groups;
        }
    }
}

// K and V of a rank's tokens go round once forward and once backward, their gradients once.
TEST(ContextParallel, RingPassesKeysAndValuesRoundOnceAPass) {
    Transformer model = small_model();
    model.num_query_groups = 2;
    ParallelPlan plan = tensor_parallel_plan();
    plan.tensor_model_parallel_size = 2;
    for (const std::int64_t cp : {2, 4, 8}) {
        plan.context_parallel_size = cp;
        const TrafficTable table = traffic_of(model, plan);
        const std::int64_t hops = kMicroBatches * kLayers * (cp - 1);
        const std::int64_t block = kMicroBatch * kSequenceLength / cp * 2 * model.kv_size() / 2 * 2;
        for (const char* name :
             {"key value ring", "key value ring backward", "key value gradient ring"}) {
            EXPECT_EQ(table.at({"send", name}), (TrafficSum{hops, hops * block})) << name << cp;
        }
    }
}

TEST(ContextParallel, HeadExchangeMovesQkvAndContextOnceAPass) {
    const Transformer model = small_model();
    ParallelPlan plan = tensor_parallel_plan();
    plan.tensor_model_parallel_size = 2;
    plan.context_parallel_size = 4;
    plan.context_parallel_comm = ContextParallelComm::all_to_all;
    const std::int64_t local = kMicroBatch * kSequenceLength / 4 * kHidden / 2 * 2;
    const std::int64_t times = kMicroBatches * kLayers;
    EXPECT_EQ(traffic_of(model, plan).at({"all_to_all", "cp"}),
              (TrafficSum{4 * times, times * 2 * (3 + 1) * local}));
}

}  // namespace layer_lowering_test
}  // namespace orrery

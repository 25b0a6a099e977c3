// SPDX-License-Identifier: Apache-2.0
// The simulated executor against the reference, to the picosecond, on what the simulator really
// runs: Programs lowered from models and plans, over NCCL on a fabric. Kernels take made-up times.
// ORRERY_AGREE_SEED=n runs only the drawn plan of that seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>

#include "engine/world/simulated_executor.h"
#include "models/lowering/lowering.h"
#include "network/fluid/fluid.h"
#include "network/fluid/uncontended.h"
#include "network/nccl_network.h"
#include "tests/models/drawn_plans.h"
#include "tests/network/dgx_clusters.h"
#include "tests/network/mixed_clusters.h"
#include "tests/reference/reference_executor.h"
#include "tests/reference/trace_difference.h"

namespace orrery::reference {
namespace {

using namespace literals;

struct LoweredCase {
    std::string name;
    Transformer model;
    ParallelPlan plan;
    ClusterSpec cluster;
    bool contention = true;
    Time launch_cost;
    bool in_program_order = false;
    int slow_rank = -1;  // a third slower than the others
    std::size_t num_traced = 8;
    bool two_kinds = false;  // ranks of the cluster's second kind of nodes are slower
};

std::uint32_t num_ranks(const ParallelPlan& plan) {
    return static_cast<std::uint32_t>(plan.model_parallel_size() * plan.data_parallel_size);
}

ClusterSpec cluster_for(const ParallelPlan& plan,
                        FabricKind kind,
                        RoutingKind routing,
                        std::uint32_t gpus_per_node = 8) {
    const std::uint32_t nodes = (num_ranks(plan) + gpus_per_node - 1) / gpus_per_node;
    ClusterSpec cluster = ecmp_cluster(nodes, dgx_h100());
    cluster.node.gpus_per_node = gpus_per_node;
    cluster.node.nvlink_latency = 300_ns;
    cluster.node.pcie_latency = 500_ns;
    FabricSpec& fabric = cluster.fabric;
    fabric.kind = kind;
    fabric.nics_per_node = gpus_per_node;
    fabric.nic_latency = 1_us;
    fabric.link_latency = 600_ns;
    fabric.routing = routing;
    fabric.oversubscription = kind == FabricKind::clos ? 2 : 1;
    return cluster;
}

// Different for every kernel of the program, the same for every rank that runs it.
DeviceTimings made_up_timings(const Program& program, std::int64_t percent) {
    DeviceTimings timings;
    timings.num_sms = 132;
    timings.restart = 30_us;
    for (std::size_t k = 0; k < program.kernels.size(); ++k) {
        const auto n = static_cast<std::int64_t>(k);
        KernelTime time;
        time.duration = Time::picoseconds((4'000'000 + n * 7'919'003 % 60'000'000) * percent / 100);
        time.ideal = Time::picoseconds(time.duration.picoseconds() / 2);
        time.sm_sensitivity_permille = static_cast<std::uint32_t>(1000 - k * 137 % 700);
        timings.kernels.push_back(time);
    }
    return timings;
}

std::vector<RankId> spread_ranks(std::uint32_t ranks, std::size_t count, int also) {
    std::set<RankId> chosen{to_id<RankId>(ranks - 1)};
    for (std::size_t i = 0; i < std::min<std::size_t>(count, ranks); ++i) {
        chosen.insert(to_id<RankId>(ranks * i / std::min<std::size_t>(count, ranks)));
    }
    if (also >= 0) {
        chosen.insert(to_id<RankId>(also));
    }
    return {chosen.begin(), chosen.end()};
}

SimulationOutcome fast(SimulationInput input, bool fold) {
    input.accelerations.fold(fold);
    if (input.network->has_contention()) {
        FluidRates rates{input.network->links()};
        return simulate(input, rates);
    }
    UncontendedRates rates{input.network->links()};
    return simulate(input, rates);
}

// Runs that began at a barrier so far.
int last_steps_alone = 0;

// What can be told about classes of ranks without knowing how they were found.
void expect_plausible_folds(const Program& program,
                            const SimulationResult& result,
                            const SimulationInput& input) {
    const std::uint32_t ranks = program.num_ranks();
    EXPECT_GE(result.fold_classes, program.roles.size());
    EXPECT_LE(result.fold_classes, ranks);
    EXPECT_EQ(result.rank_compute.size(), result.fold_classes);
    ASSERT_EQ(result.fold_class_of_rank.size(), ranks);
    std::vector<int> first(result.fold_classes, -1);
    for (std::uint32_t r = 0; r < ranks; ++r) {
        ASSERT_LT(result.fold_class_of_rank[r], result.fold_classes);
        int& representative = first[result.fold_class_of_rank[r]];
        representative = representative < 0 ? static_cast<int>(r) : representative;
        const auto lowest = static_cast<std::uint32_t>(representative);
        EXPECT_EQ(program.role_of(to_id<RankId>(r)), program.role_of(to_id<RankId>(lowest)));
        if (!input.device_class.empty()) {
            EXPECT_EQ(input.device_class[r], input.device_class[lowest]);
        }
    }
    EXPECT_EQ(std::ranges::count(first, -1), 0) << "a class without ranks";
}

// The last step again, from the barrier before it where the program has one.
void expect_same_last_step(SimulationInput input, bool fold, const SimulationResult& whole) {
    input.accelerations.step_barrier = true;
    const SimulationOutcome last = fast(input, fold);
    ASSERT_TRUE(last.has_value()) << last.error().to_string();
    EXPECT_EQ(last_step_difference(whole, *last), "");
    last_steps_alone += last->trace.size() < whole.trace.size() ? 1 : 0;
}

// Fold classes when folded; 0 after a disagreement.
std::uint32_t classes_if_agreed(const LoweredCase& c) {
    SCOPED_TRACE(c.name);
    const Errors errors = check(c.model, c.plan, num_ranks(c.plan));
    ORRERY_CHECK(errors.empty());
    const Program program = lower(c.model, c.plan);
    const NcclNetwork network{
        built(c.cluster), {.compute_capability = 90, .num_sms = 132, .contention = c.contention}};
    SimulationInput input;
    input.program = &program;
    input.network = &network;
    input.devices = {made_up_timings(program, 100), made_up_timings(program, 133)};
    if (c.slow_rank >= 0) {
        input.device_class.resize(program.num_ranks());
        input.device_class[static_cast<std::size_t>(c.slow_rank)] = 1;
    }
    for (std::uint32_t r = 0; c.two_kinds && r < program.num_ranks(); ++r) {
        input.device_class.push_back(static_cast<std::uint16_t>(c.cluster.kind_of_rank(r)));
    }
    input.launch_cost = c.launch_cost;
    input.in_program_order = c.in_program_order;
    input.traced_ranks = spread_ranks(program.num_ranks(), c.num_traced, c.slow_rank);
    input.accelerations.step_barrier = false;
    const SimulationOutcome expected = reference_simulate(input);
    EXPECT_TRUE(expected.has_value()) << expected.error().to_string();
    std::uint32_t classes = 0;
    std::int64_t flows = 0;
    for (const bool fold : {false, true}) {
        SCOPED_TRACE(fold ? "folded" : "unfolded");
        const SimulationOutcome actual = fast(input, fold);
        EXPECT_TRUE(actual.has_value()) << actual.error().to_string();
        if (!expected || !actual) {
            return 0;
        }
        EXPECT_FALSE(expected->trace.empty());
        EXPECT_EQ(first_difference(expected->trace, actual->trace), "");
        EXPECT_EQ(actual->step_end, expected->step_end);
        EXPECT_EQ(actual->iteration, expected->iteration);
        EXPECT_EQ(actual->simulated_ops, expected->simulated_ops);
        EXPECT_EQ(actual->critical_path.total(), expected->iteration);
        expect_plausible_folds(program, *actual, input);
        EXPECT_TRUE(!fold || actual->flows <= flows) << "folding made flows";
        flows = actual->flows;
        classes = actual->fold_classes;
        if (!fold) {
            EXPECT_EQ(classes, program.num_ranks());
        }
        expect_same_last_step(input, fold, *actual);
    }
    return testing::Test::HasFailure() ? 0 : classes;
}

Transformer small_model(std::int64_t layers) {
    return {.num_layers = layers,
            .hidden_size = 2048,
            .ffn_hidden_size = 8192,
            .num_attention_heads = 16,
            .num_query_groups = 16,
            .kv_channels = 128,
            .seq_length = 2048,
            .vocab_size = 32768};
}

// --- Drawn plans on drawn fabrics --------------------------------------------------------------

std::set<std::string> features_of(const DrawnPlan& d) {
    const ParallelPlan& p = d.plan;
    std::set<std::string> all;
    const auto add = [&](bool has, const std::string& name) {
        if (has) {
            all.insert(name);
        }
    };
    const bool pipeline = p.pipeline_model_parallel_size > 1;
    add(p.tensor_model_parallel_size > 1 && !p.sequence_parallel, "tp");
    add(p.sequence_parallel, "sp");
    add(p.tp_comm_overlap, "tp_comm_overlap");
    add(p.tensor_model_parallel_size > d.model.num_query_groups, "shared key-value heads");
    if (pipeline) {
        static const char* const schedules[] = {
            "gpipe", "1f1b", "interleaved", "breadth_first", "zero_bubble"};
        all.insert(std::string{schedules[static_cast<std::size_t>(p.schedule)]} +
                   (p.overlap_p2p ? ", overlap_p2p" : ", blocking p2p"));
    }
    add(pipeline && p.virtual_pipeline_model_parallel_size > 1, "several chunks");
    add(pipeline && !p.pipeline_layout.empty(), "pipeline_layout");
    add(pipeline && p.embedding_and_loss_as_layers, "embedding_and_loss_as_layers");
    add(pipeline && d.model.tied_embeddings, "tied embeddings between stages");
    add(p.context_parallel_size > 1 && p.context_parallel_comm == ContextParallelComm::ring,
        "cp ring");
    add(p.context_parallel_size > 1 && p.context_parallel_comm == ContextParallelComm::all_to_all,
        "cp all_to_all");
    add(p.context_parallel_size > 1 && p.context_parallel_comm == ContextParallelComm::all_gather,
        "cp all_gather");
    if (p.data_parallel_size > 1) {
        all.insert("zero " + std::to_string(static_cast<int>(p.data_parallel_sharding_strategy)));
    }
    add(p.hsdp_shard_size > 1 && p.hsdp_shard_size < p.data_parallel_size, "hsdp");
    const std::int64_t shards = p.hsdp_shard_size > 0 ? p.hsdp_shard_size : p.data_parallel_size;
    const bool units =
        shards > 1 && p.data_parallel_sharding_strategy == ShardingStrategy::optim_grads_params;
    add(units && p.zero_hpz_partition_size > 1 && p.zero_hpz_partition_size < shards, "hpz");
    add(units && !p.reshard_after_forward, "gathered weights kept");
    add(units && p.fsdp_unit_layers == 0, "a collective a parameter");
    add(units && p.fsdp_unit_layers > 1, "units of several layers");
    add(units && p.overlap_param_gather && p.fsdp_prefetch_units > 1, "prefetched units");
    add(p.recompute_granularity == Recompute::full, "full recompute");
    add(units && p.recompute_granularity == Recompute::full && p.stage3_max_reuse_distance == 0,
        "weights gathered again");
    add(p.recompute_granularity == Recompute::selective, "selective recompute");
    return all;
}

// Messages as large as the kernels are long, so that both matter.
void enlarge(DrawnPlan& d) {
    Transformer& m = d.model;
    m.hidden_size *= 8;
    m.ffn_hidden_size *= 8;
    m.kv_channels *= 8;
    m.seq_length *= 8;
    m.vocab_size *= 8;
    m.sliding_window *= 8;
    d.plan.ddp_bucket_size *= 64;
}

LoweredCase drawn_case(std::uint64_t seed) {
    DrawnPlan d = drawn_plan(seed);
    enlarge(d);
    static constexpr FabricKind kinds[] = {
        FabricKind::clos, FabricKind::clos, FabricKind::rail, FabricKind::single_switch};
    const std::uint32_t gpus_per_node = seed % 3 == 0 ? 8 : seed % 3 == 1 ? 4 : 2;
    LoweredCase c;
    c.name = d.text();
    c.model = d.model;
    c.plan = d.plan;
    c.cluster = cluster_for(d.plan,
                            kinds[seed / 2 % 4],
                            seed % 5 < 3 ? RoutingKind::ecmp : RoutingKind::spray,
                            gpus_per_node);
    c.cluster.fabric.tiers = seed % 7 < 4 ? 2 : 3;
    c.cluster.fabric.multi_rail = seed % 11 < 6;
    c.contention = seed % 6 != 0;
    c.launch_cost = seed % 4 == 0 ? Time{} : seed % 4 == 1 ? 9_us : 2_us;
    c.in_program_order = seed % 8 == 5;
    const auto ranks = num_ranks(d.plan);
    c.slow_rank = seed % 3 == 2 ? static_cast<int>(seed * 37 % ranks) : -1;
    return c;
}

bool is_selected(std::uint64_t seed) {
    const char* only = std::getenv("ORRERY_AGREE_SEED");
    return only == nullptr || std::strtoull(only, nullptr, 10) == seed;
}

constexpr std::uint64_t kDrawnCases = 120;

TEST(LoweredPrograms, AgreeOnDrawnPlans) {
    last_steps_alone = 0;
    for (std::uint64_t seed = 0; seed < kDrawnCases; ++seed) {
        if (is_selected(seed) && classes_if_agreed(drawn_case(seed)) == 0) {
            return;
        }
    }
    if (std::getenv("ORRERY_AGREE_SEED") == nullptr) {
        EXPECT_GT(last_steps_alone, 30);
    }
}

TEST(LoweredPrograms, DrawnPlansHaveEveryFeature) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 0; seed < kDrawnCases; ++seed) {
        seen.merge(features_of(drawn_plan(seed)));
    }
    const std::set<std::string> expected = {"hpz",
                                            "gathered weights kept",
                                            "a collective a parameter",
                                            "units of several layers",
                                            "prefetched units",
                                            "tp",
                                            "sp",
                                            "tp_comm_overlap",
                                            "shared key-value heads",
                                            "gpipe, overlap_p2p",
                                            "gpipe, blocking p2p",
                                            "1f1b, overlap_p2p",
                                            "1f1b, blocking p2p",
                                            "interleaved, overlap_p2p",
                                            "interleaved, blocking p2p",
                                            "breadth_first, overlap_p2p",
                                            "breadth_first, blocking p2p",
                                            "zero_bubble, overlap_p2p",
                                            "zero_bubble, blocking p2p",
                                            "several chunks",
                                            "pipeline_layout",
                                            "embedding_and_loss_as_layers",
                                            "tied embeddings between stages",
                                            "cp ring",
                                            "cp all_to_all",
                                            "cp all_gather",
                                            "zero 0",
                                            "zero 1",
                                            "zero 2",
                                            "zero 3",
                                            "hsdp",
                                            "full recompute",
                                            "weights gathered again",
                                            "selective recompute"};
    EXPECT_EQ(seen, expected);
}

// --- 512 ranks ---------------------------------------------------------------------------------

LoweredCase megatron_512(RoutingKind routing) {
    LoweredCase c;
    c.name = "tp 8 pp 4 x 2 dp 16 on 512 ranks";
    c.model = small_model(8);
    c.plan.tensor_model_parallel_size = 8;
    c.plan.sequence_parallel = true;
    c.plan.pipeline_model_parallel_size = 4;
    c.plan.virtual_pipeline_model_parallel_size = 2;
    c.plan.schedule = ScheduleKind::interleaved_1f1b;
    c.plan.data_parallel_size = 16;
    c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    c.plan.overlap_grad_reduce = true;
    c.plan.overlap_param_gather = true;
    c.plan.overlap_p2p = true;
    c.plan.global_batch_size = 16 * 4;
    c.cluster = cluster_for(c.plan, FabricKind::clos, routing);
    c.launch_cost = 3_us;
    return c;
}

// All symmetric but for the ends of the rings between servers: few classes, of one role each.
constexpr std::uint32_t kFewClasses = 64;

TEST(LoweredPrograms, AgreeOn512RanksUnderEcmp) {
    // A hash treats no two servers alike.
    EXPECT_GT(classes_if_agreed(megatron_512(RoutingKind::ecmp)), kFewClasses);
}

TEST(LoweredPrograms, AgreeOn512RanksThatFold) {
    last_steps_alone = 0;
    const std::uint32_t classes = classes_if_agreed(megatron_512(RoutingKind::spray));
    EXPECT_GT(classes, 0u);
    EXPECT_LE(classes, kFewClasses);
    EXPECT_EQ(last_steps_alone, 2);
}

TEST(LoweredPrograms, OneSlowRankOf512UnfoldsItsPeersOnly) {
    LoweredCase c = megatron_512(RoutingKind::spray);
    const std::uint32_t healthy = classes_if_agreed(c);
    c.slow_rank = 137;
    const std::uint32_t classes = classes_if_agreed(c);
    EXPECT_GT(classes, healthy);
    EXPECT_LT(classes, 512u);
}

// H100 and A100 nodes with adapters of two classes: stages of their own, or every group over TCP.
TEST(LoweredPrograms, AgreeOnTwoKindsOfNodes) {
    for (const RankOrder order : {RankOrder::tp_cp_dp_pp, RankOrder::tp_cp_pp_dp}) {
        for (const NicClass second : {NicClass::infiniband, NicClass::roce, NicClass::ethernet}) {
            LoweredCase c;
            c.name = "two kinds, order " + std::to_string(static_cast<int>(order)) + ", class " +
                     std::to_string(static_cast<int>(second));
            c.model = small_model(5);
            c.plan.tensor_model_parallel_size = 4;
            c.plan.sequence_parallel = true;
            c.plan.pipeline_model_parallel_size = 2;
            c.plan.pipeline_layout = {3, 2};
            c.plan.data_parallel_size = 4;
            c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
            c.plan.overlap_grad_reduce = true;
            c.plan.rank_order = order;
            c.plan.global_batch_size = 4 * 3;
            c.cluster = cluster_for(c.plan, FabricKind::single_switch, RoutingKind::ecmp);
            c.cluster.kinds = {
                {.node = c.cluster.node, .num_nodes = 2, .nic_class = NicClass::infiniband},
                {.node = dgx_a100(),
                 .num_nodes = 2,
                 .nic_class = second,
                 .nics_per_node = 4,
                 .nic_bandwidth = 100_Gbps}};
            if (second != NicClass::infiniband) {
                c.cluster.ethernet = plain_ethernet();
            }
            c.launch_cost = 3_us;
            c.two_kinds = true;
            EXPECT_GT(classes_if_agreed(c), 0u);
        }
    }
}

TEST(LoweredPrograms, AgreeOn512RanksOfShardedData) {
    for (const FabricKind kind : {FabricKind::clos, FabricKind::rail, FabricKind::single_switch}) {
        LoweredCase c;
        c.name = "hsdp 64 x 8, zero 3, fabric " + std::to_string(static_cast<int>(kind));
        c.model = small_model(4);
        c.plan.data_parallel_size = 512;
        c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
        c.plan.hsdp_shard_size = 64;
        c.plan.overlap_grad_reduce = true;
        c.plan.overlap_param_gather = true;
        c.plan.recompute_granularity = Recompute::full;
        c.plan.global_batch_size = 512 * 2;
        c.cluster = cluster_for(c.plan, kind, RoutingKind::ecmp);
        c.launch_cost = 3_us;
        c.slow_rank = kind == FabricKind::clos ? 77 : -1;
        EXPECT_GT(classes_if_agreed(c), 0u);
    }
}

// Messages of both chunks go both ways, and DualPipe adds up gradients of two stages.
TEST(LoweredPrograms, AgreeOnPipelinesThatGoBothWays) {
    for (const bool both_ends : {false, true}) {
        for (const std::int64_t stages : {2, 4, 6}) {
            LoweredCase c;
            c.name = (both_ends ? "DualPipe " : "DualPipeV ") + std::to_string(stages);
            c.model = small_model(2 * stages);
            c.model.tied_embeddings = false;
            c.plan.schedule = both_ends ? ScheduleKind::dual_pipe : ScheduleKind::dual_pipe_v;
            c.plan.virtual_pipeline_model_parallel_size = both_ends ? 1 : 2;
            c.plan.tensor_model_parallel_size = 2;
            c.plan.pipeline_model_parallel_size = stages;
            c.plan.data_parallel_size = 2;
            c.plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
            c.plan.overlap_p2p = true;
            c.plan.global_batch_size = 2 * (2 * stages + 4);
            c.cluster = cluster_for(c.plan, FabricKind::clos, RoutingKind::ecmp);
            c.launch_cost = 3_us;
            EXPECT_GT(classes_if_agreed(c), 0u);
        }
    }
}

TEST(LoweredPrograms, AgreeOn512RanksOfEverySchedule) {
    for (const ScheduleKind schedule : {ScheduleKind::gpipe,
                                        ScheduleKind::one_f_one_b,
                                        ScheduleKind::breadth_first,
                                        ScheduleKind::zero_bubble}) {
        LoweredCase c;
        c.name = "tp 4 cp 2 pp 8 dp 8, schedule " + std::to_string(static_cast<int>(schedule));
        c.model = small_model(14);
        c.plan.schedule = schedule;
        c.plan.tensor_model_parallel_size = 4;
        c.plan.sequence_parallel = true;
        c.plan.tp_comm_overlap = schedule == ScheduleKind::zero_bubble;
        c.plan.context_parallel_size = 2;
        c.plan.context_parallel_comm = schedule == ScheduleKind::gpipe
                                           ? ContextParallelComm::all_to_all
                                           : ContextParallelComm::ring;
        c.plan.pipeline_model_parallel_size = 8;
        c.plan.embedding_and_loss_as_layers = true;
        c.plan.data_parallel_size = 8;
        c.plan.overlap_p2p = schedule != ScheduleKind::gpipe;
        c.plan.global_batch_size = 8 * 4;
        c.cluster = cluster_for(c.plan, FabricKind::clos, RoutingKind::ecmp);
        c.launch_cost = 3_us;
        EXPECT_GT(classes_if_agreed(c), 0u);
    }
}

}  // namespace
}  // namespace orrery::reference

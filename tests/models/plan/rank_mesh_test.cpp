// SPDX-License-Identifier: Apache-2.0
#include "models/plan/rank_mesh.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace orrery {
namespace {

using Ranks = std::vector<std::size_t>;

// The distinct groups along these axes, each in ascending order.
std::set<Ranks> groups_along(const Mesh& mesh, const std::vector<std::string>& axes) {
    Group group;
    for (const std::string& axis : axes) {
        group.digits |= std::ranges::count(mesh.axes(), axis, &MeshAxis::name) > 0
                            ? mesh.axis(axis)
                            : 1u << mesh.digit(axis);
    }
    std::set<Ranks> groups;
    for (std::size_t rank = 0; rank < mesh.num_ranks(); ++rank) {
        Ranks members;
        for (const RankId member : mesh.members(group, to_id<RankId>(rank))) {
            members.push_back(index(member));
        }
        groups.insert(members);
    }
    return groups;
}

TEST(RankMesh, NeighboursShareAKeyValueHead) {
    const Mesh mesh = rank_mesh({.tensor_model_parallel_size = 8, .data_parallel_size = 2}, 4);
    EXPECT_EQ(groups_along(mesh, {"tpq"}),
              (std::set<Ranks>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}));
    EXPECT_EQ(groups_along(mesh, {"tp"}),
              (std::set<Ranks>{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}));
    EXPECT_EQ(rank_mesh({.tensor_model_parallel_size = 8}, 8).digits().size(),
              rank_mesh({}).digits().size());
    const Transformer model{.num_query_groups = 2};
    EXPECT_EQ(ranks_of_key_value_head(model, {.tensor_model_parallel_size = 8}), 4);
    EXPECT_EQ(ranks_of_key_value_head(model, {.tensor_model_parallel_size = 2}), 1);
    EXPECT_EQ(ranks_of_key_value_head(model, {}), 1);
}

// The example of Megatron-LM's parallel_state: 16 GPUs, tensor 2, pipeline 4, data 2.
TEST(RankMesh, GroupsMegatronsSixteenGpusAsItDoes) {
    const Mesh mesh = rank_mesh({.tensor_model_parallel_size = 2,
                                 .pipeline_model_parallel_size = 4,
                                 .data_parallel_size = 2});
    EXPECT_EQ(
        groups_along(mesh, {"tp"}),
        (std::set<Ranks>{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
    EXPECT_EQ(
        groups_along(mesh, {"dp"}),
        (std::set<Ranks>{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
    EXPECT_EQ(groups_along(mesh, {"pp"}),
              (std::set<Ranks>{{0, 4, 8, 12}, {1, 5, 9, 13}, {2, 6, 10, 14}, {3, 7, 11, 15}}));
    EXPECT_EQ(groups_along(mesh, {"tp", "pp"}),
              (std::set<Ranks>{{0, 1, 4, 5, 8, 9, 12, 13}, {2, 3, 6, 7, 10, 11, 14, 15}}));
}

TEST(RankMesh, PipelineInsideDataParallelMakesReplicasContiguous) {
    const Mesh mesh = rank_mesh({.tensor_model_parallel_size = 2,
                                 .pipeline_model_parallel_size = 4,
                                 .data_parallel_size = 2,
                                 .rank_order = RankOrder::tp_cp_pp_dp});
    EXPECT_EQ(groups_along(mesh, {"tp", "pp"}),
              (std::set<Ranks>{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}));
    EXPECT_EQ(groups_along(mesh, {"dp"}).count({0, 8}), 1u);
}

TEST(RankMesh, ContextParallelRanksLieBetweenTensorAndData) {
    const Mesh mesh = rank_mesh({.tensor_model_parallel_size = 2,
                                 .pipeline_model_parallel_size = 2,
                                 .context_parallel_size = 2,
                                 .data_parallel_size = 2});
    EXPECT_EQ(groups_along(mesh, {"cp"}).count({0, 2}), 1u);
    EXPECT_EQ(groups_along(mesh, {"dp"}).count({0, 4}), 1u);
    EXPECT_EQ(groups_along(mesh, {"cp", "dp"}).count({1, 3, 5, 7}), 1u);
    EXPECT_EQ(groups_along(mesh, {"pp"}).count({0, 8}), 1u);
}

TEST(RankMesh, HybridShardingKeepsAShardGroupTogether) {
    for (const RankOrder order : {RankOrder::tp_cp_dp_pp, RankOrder::tp_cp_pp_dp}) {
        const Mesh mesh =
            rank_mesh({.data_parallel_size = 32, .hsdp_shard_size = 8, .rank_order = order});
        EXPECT_EQ(mesh.num_ranks(), 32u);
        EXPECT_EQ(groups_along(mesh, {"dps"}).count({8, 9, 10, 11, 12, 13, 14, 15}), 1u);
        EXPECT_EQ(groups_along(mesh, {"dpr"}).count({3, 11, 19, 27}), 1u);
        EXPECT_EQ(groups_along(mesh, {"dp"}).size(), 1u);
    }
}

TEST(RankMesh, SecondaryShardsAreNeighboursInAShardGroup) {
    const RankMesh ranks = digits_of_plan(
        {.data_parallel_size = 32, .hsdp_shard_size = 16, .zero_hpz_partition_size = 4});
    EXPECT_EQ(groups_along(ranks.mesh, {"dpz"}).count({4, 5, 6, 7}), 1u);
    EXPECT_EQ(groups_along(ranks.mesh, {"dps"}).count({17, 21, 25, 29}), 1u);
    EXPECT_EQ(groups_along(ranks.mesh, {"dpr"}).count({5, 21}), 1u);
    EXPECT_EQ(ranks.mesh.name_of(ranks.shard_digits), "dpz-dps");
    EXPECT_EQ(ranks.mesh.name_of(ranks.secondary_digits), "dpz");
    EXPECT_EQ(ranks.mesh.name_of(ranks.mesh.axis("dp") | ranks.mesh.axis("pp")), "dp-pp");
}

TEST(RankMesh, TheOnlyDigitOfAnAxisHasItsName) {
    const RankMesh copies = digits_of_plan({.data_parallel_size = 8, .hsdp_shard_size = 1});
    EXPECT_EQ(copies.mesh.size(copies.mesh.digit("dp")), 8u);
    EXPECT_EQ(copies.shard_digits, 0u);
    const RankMesh shards = digits_of_plan({.data_parallel_size = 8, .hsdp_shard_size = 8});
    EXPECT_EQ(shards.shard_digits, shards.mesh.axis("dp"));
}

TEST(RankMeshDeathTest, AssertsThatAShardGroupDividesTheRanks) {
    EXPECT_DEATH(rank_mesh({.data_parallel_size = 12, .hsdp_shard_size = 8}), "hsdp_shard_size");
}

// Megatron-Core's two rank generators over 16 GPUs (parallel_state.py).
TEST(RankMesh, ExpertsReadTheRanksOfAStageAnotherWay) {
    ParallelPlan plan{.tensor_model_parallel_size = 2,
                      .pipeline_model_parallel_size = 2,
                      .context_parallel_size = 2,
                      .data_parallel_size = 2,
                      .expert_model_parallel_size = 4,
                      .expert_tensor_parallel_size = 1};
    const Mesh mesh = rank_mesh(plan);
    EXPECT_EQ(
        groups_along(mesh, {"tp"}),
        (std::set<Ranks>{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
    EXPECT_EQ(
        groups_along(mesh, {"cp"}),
        (std::set<Ranks>{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
    EXPECT_EQ(
        groups_along(mesh, {"dp"}),
        (std::set<Ranks>{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15}}));
    EXPECT_EQ(groups_along(mesh, {"dp", "cp"}),
              (std::set<Ranks>{{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}}));
    EXPECT_EQ(
        groups_along(mesh, {"pp"}),
        (std::set<Ranks>{{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}}));
    EXPECT_EQ(groups_along(mesh, {"ep"}),
              (std::set<Ranks>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}}));
    const std::set<Ranks> edp{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {8, 12}, {9, 13}, {10, 14}, {11, 15}};
    EXPECT_EQ(groups_along(mesh, {"edp"}), edp);
    plan.expert_tensor_parallel_size = 2;
    plan.expert_model_parallel_size = 2;
    const Mesh tensor = rank_mesh(plan);
    EXPECT_EQ(
        groups_along(tensor, {"etp"}),
        (std::set<Ranks>{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}}));
    EXPECT_EQ(
        groups_along(tensor, {"ep"}),
        (std::set<Ranks>{{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}}));
    EXPECT_EQ(groups_along(tensor, {"edp"}), edp);
}

// The digits of the data-parallel axis are cut where the experts end.
TEST(RankMesh, ExpertsCutDigits) {
    const ParallelPlan plan{.tensor_model_parallel_size = 4,
                            .data_parallel_size = 8,
                            .expert_model_parallel_size = 2,
                            .expert_tensor_parallel_size = 1};
    const RankMesh ranks = digits_of_plan(plan);
    EXPECT_EQ(groups_along(ranks.mesh, {"ep"}).size(), 16u);
    EXPECT_TRUE(groups_along(ranks.mesh, {"ep"}).contains(Ranks{2, 3}));
    EXPECT_EQ(ranks.mesh.combined_size(ranks.expert_data_digits), 16u);
    EXPECT_EQ(ranks.expert_tensor_digits, 0u);
    EXPECT_EQ(ranks.mesh.combined_size(ranks.mesh.axis("tp")), 4u);
    EXPECT_EQ(expert_misfit(plan).experts, 0);
    const ParallelPlan odd{.tensor_model_parallel_size = 2,
                           .data_parallel_size = 3,
                           .expert_model_parallel_size = 3,
                           .expert_tensor_parallel_size = 1};
    EXPECT_EQ(expert_misfit(odd).experts, 3);
    EXPECT_EQ(expert_misfit(odd).others, 2);
}

}  // namespace
}  // namespace orrery

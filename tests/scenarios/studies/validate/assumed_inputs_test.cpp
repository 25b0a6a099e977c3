// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/assumed_inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

namespace orrery {
namespace {

PublishedCase row_with(const std::vector<std::string>& assumed) {
    PublishedCase row;
    row.num_gpus = 64;
    row.gpus_per_node = 8;
    row.nic_gbps_per_gpu = 200;
    row.plan.tensor_model_parallel_size = 2;
    row.plan.pipeline_model_parallel_size = 4;
    row.plan.virtual_pipeline_model_parallel_size = 2;
    row.plan.micro_batch_size = 1;
    row.plan.data_parallel_sharding_strategy = ShardingStrategy::optim;
    row.assumed = assumed;
    return row;
}

std::multiset<std::string> values(const PublishedCase& row) {
    std::multiset<std::string> texts;
    for (const Alternative& other : alternatives(row)) {
        texts.insert(other.column + " " + other.stated + " -> " + other.value);
    }
    return texts;
}

TEST(Alternatives, AreOfTheAssumedColumnsOnly) {
    EXPECT_TRUE(alternatives(row_with({})).empty());
    EXPECT_EQ(values(row_with({"overlap_p2p", "precision"})),
              (std::multiset<std::string>{"overlap_p2p false -> true"}));
}

TEST(Alternatives, HalveDoubleThrowAndStep) {
    PublishedCase row = row_with({"micro_batch_size",
                                  "virtual_pipeline_model_parallel_size",
                                  "data_parallel_sharding_strategy",
                                  "nic_gbps_per_gpu"});
    EXPECT_EQ(values(row),
              (std::multiset<std::string>{"micro_batch_size 1 -> 2",
                                          "virtual_pipeline_model_parallel_size 2 -> 4",
                                          "virtual_pipeline_model_parallel_size 2 -> 1",
                                          "data_parallel_sharding_strategy optim -> no_shard",
                                          "data_parallel_sharding_strategy optim -> optim_grads",
                                          "nic_gbps_per_gpu 200 -> 100",
                                          "nic_gbps_per_gpu 200 -> 400"}));
}

TEST(Alternatives, ChangeOnlyTheirColumn) {
    const PublishedCase row = row_with({"overlap_grad_reduce", "flash_attention"});
    const std::vector<Alternative> all = alternatives(row);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_TRUE(all[0].row.plan.overlap_grad_reduce);
    EXPECT_FALSE(all[0].row.flash_attention);
    EXPECT_TRUE(all[1].row.flash_attention);
    EXPECT_EQ(all[1].row.plan, row.plan);
}

TEST(Alternatives, GiveUpTheDetailOfAnotherRecomputation) {
    PublishedCase row = row_with({"recompute_granularity", "recompute_detail"});
    row.plan.recompute_granularity = Recompute::selective;
    row.recompute_detail = "remat=save_dot_with_no_batch_dims";
    EXPECT_EQ(values(row),
              (std::multiset<std::string>{"recompute_granularity selective -> none",
                                          "recompute_granularity selective -> full"}));
    for (const Alternative& other : alternatives(row)) {
        EXPECT_EQ(other.row.recompute_detail, "");
    }
    row.assumed = {"recompute_granularity"};
    for (const Alternative& other : alternatives(row)) {
        EXPECT_EQ(other.row.recompute_detail, row.recompute_detail);
    }
}

TEST(Alternatives, KnowThePartWithLessNvlink) {
    PublishedCase row = row_with({"gpu"});
    row.gpu = "a100-80g";
    EXPECT_EQ(values(row), (std::multiset<std::string>{"gpu a100-80g -> a800-80g"}));
    EXPECT_EQ(alternatives(row).front().row.gpu, "a800-80g");
    row.gpu = "h800";
    EXPECT_EQ(values(row), (std::multiset<std::string>{"gpu h800 -> h100-80g"}));
    // One owner's part, with a power limit of its own.
    row.gpu = "h100-96g-hbm2e";
    row.power_cap_w = 500;
    EXPECT_EQ(values(row), (std::multiset<std::string>{"gpu h100-96g-hbm2e -> h100-80g"}));
    EXPECT_EQ(alternatives(row).front().row.power_cap_w, 0);
    row.gpu = "b200";
    EXPECT_TRUE(alternatives(row).empty());
}

TEST(Alternatives, LeaveOutWhatHasNoEffect) {
    PublishedCase row = row_with({"overlap_p2p", "sequence_parallel", "nic_gbps_per_gpu"});
    row.plan.pipeline_model_parallel_size = 1;
    row.plan.tensor_model_parallel_size = 1;
    row.num_gpus = 8;
    EXPECT_TRUE(alternatives(row).empty());
}

// One column with probability 1/4 a factor e^0.2 away: sigma = 0.2 / 2; two columns add as squares.
TEST(AssumedSpread, TakesTheFarthestValueOfEachColumn) {
    const auto predict = [](const PublishedCase& other) -> std::optional<double> {
        const double micro_batch = other.plan.micro_batch_size == 1 ? 0.1 : 0.2;
        if (other.plan.micro_batch_size != 2) {
            return 10 * std::exp(-micro_batch);
        }
        return other.plan.overlap_p2p ? std::optional{10 * std::exp(0.2)} : std::nullopt;
    };
    PublishedCase row = row_with({"micro_batch_size"});
    row.plan.micro_batch_size = 2;  // 1 and 4 are the others
    EXPECT_NEAR(assumed_spread(row, 10, predict), 0.2 / 2, 1e-12);
    row.assumed.emplace_back("overlap_p2p");
    EXPECT_NEAR(assumed_spread(row, 10, predict), std::hypot(0.2, 0.2) / 2, 1e-12);
    EXPECT_EQ(assumed_spread(row_with({}), 10, predict), 0);
}

}  // namespace
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

constexpr const char* kRoot = R"(
cluster:
  nodes: 2
  node: dgx-a100-80g
  fabric: single-switch-100
)";

struct Read {
    SearchSpec spec;
    std::string errors;
};

Read read(const std::string& section) {
    const DocumentNode root = section_of(kRoot);
    Read result;
    Errors errors;
    read_search(section_of(section), root, shipped_catalogue(), {}, result.spec, errors);
    result.errors = lines_of(errors);
    return result;
}

TEST(ReadSearch, TakesListsAndSingleWords) {
    const Read got = read(
        "tensor_model_parallel_size: [2, 4]\n"
        "recompute_granularity: [full, none]\n"
        "schedule: 1f1b\n"
        "overlap: [true]\n"
        "pipeline_layout: balanced\n"
        "simulations: 7\n");
    EXPECT_EQ(got.errors, "");
    EXPECT_EQ(got.spec.space.tensor_model_parallel_size, (std::vector<std::int64_t>{2, 4}));
    EXPECT_EQ(got.spec.space.recompute, (std::vector{Recompute::full, Recompute::none}));
    EXPECT_EQ(got.spec.space.schedules, (std::vector{ScheduleKind::one_f_one_b}));
    EXPECT_EQ(got.spec.space.overlap, (std::vector{true}));
    EXPECT_EQ(got.spec.space.splits, (std::vector{StageSplit::balanced}));
    EXPECT_EQ(got.spec.simulations, 7);
    ASSERT_EQ(got.spec.clusters.size(), 1u);
    EXPECT_EQ(got.spec.clusters[0].cluster.num_nodes, 2u);
}

TEST(ReadSearch, MakesEveryCombinationOfTheClustersValues) {
    const Read got = read(
        "price_per_gpu_hour: {a100-80g: 1.5, h100-80g: 3}\n"
        "cluster:\n"
        "  nodes: [1, 4]\n"
        "  node: [dgx-a100-80g, dgx-h100]\n"
        "  fabric.nic_bandwidth: [200 Gbps]\n");
    EXPECT_EQ(got.errors, "");
    ASSERT_EQ(got.spec.clusters.size(), 4u);
    const ClusterVariant& last = got.spec.clusters.back();
    EXPECT_EQ(last.label, "nodes 4, node dgx-h100, fabric.nic_bandwidth 200 Gbps");
    EXPECT_EQ(last.cluster.num_nodes, 4u);
    EXPECT_EQ(last.device.generation, "hopper");
    EXPECT_EQ(last.price_per_gpu_hour, 3);
    EXPECT_EQ(got.spec.clusters[0].price_per_gpu_hour, 1.5);
    EXPECT_EQ(last.cluster.fabric.nic_bandwidth, Bandwidth::bits_per_second(200'000'000'000));
}

TEST(ReadSearch, OneValueStandsForAListOfIt) {
    const Read got = read(
        "tensor_model_parallel_size: 2\nschedule: 1f1b\nsequence_parallel: true\n"
        "rank_order: [tp-cp-dp-pp, tp-cp-ep-dp-pp]\n");
    EXPECT_EQ(got.errors, "");
    EXPECT_EQ(got.spec.space.tensor_model_parallel_size, std::vector<std::int64_t>{2});
    EXPECT_EQ(got.spec.space.schedules, std::vector{ScheduleKind::one_f_one_b});
    EXPECT_EQ(got.spec.space.sequence_parallel, std::vector{true});
    EXPECT_EQ(got.spec.space.rank_orders.size(), 1u) << "two words for one order";
}

TEST(ReadSearch, TakesNoScheduleWithoutABound) {
    EXPECT_NE(read("schedule: [1f1b, dualpipe]\n").errors.find("micro-batches that go both ways"),
              std::string::npos);
}

TEST(ReadSearch, ComplainsAboutEachMistakeAtItsPlace) {
    const Read got = read(
        "tensor_model_parallel_size: two\n"
        "recompute_granularity: [some]\n"
        "objective: speed\n"
        "price_per_gpu_hour: cheap\n"
        "overlap: []\n"
        "overlapp: true\n");
    for (const char* due :
         {"s.yaml:1:29", "s.yaml:2:25", "s.yaml:3:12", "s.yaml:4:21", "s.yaml:5:1", "s.yaml:6:1"}) {
        EXPECT_NE(got.errors.find(due), std::string::npos) << due << '\n' << got.errors;
    }
}

TEST(ReadSearch, PricesAndWattsAreNumbersLikeAllOthers) {
    for (const char* bad : {"0x10", "inf", "nan", "\"2\"", "1e9", "-1", "2 dollars", "1,5"}) {
        const std::string key = std::string{"price_per_gpu_hour: "} + bad + "\n";
        EXPECT_NE(read(key).errors.find("s.yaml:1:21"), std::string::npos) << bad;
        const std::string map = std::string{"busy_watts: {a100-80g: "} + bad + "}\n";
        EXPECT_NE(read(map).errors, "") << bad;
    }
    EXPECT_EQ(read("busy_watts: 7e2\nidle_watts: {a100-80g: 90.5}\n").errors, "");
}

TEST(ReadSearch, CostAndDeadlineNeedTheirFigures) {
    EXPECT_NE(read("objective: cost\n").errors.find("price_per_gpu_hour"), std::string::npos);
    EXPECT_NE(read("objective: energy\n").errors.find("busy_watts"), std::string::npos);
    EXPECT_NE(read("deadline_days: 30\n").errors.find("search.tokens"), std::string::npos);
    EXPECT_EQ(read("objective: cost\nprice_per_gpu_hour: 2\n").errors, "");
}

TEST(ReadSearch, AWrongClusterNamesTheKey) {
    const Read got = read("cluster: {node: [dgx-a10]}\n");
    EXPECT_NE(got.errors.find("cluster.node"), std::string::npos) << got.errors;
    EXPECT_NE(read("cluster: [1]\n").errors.find("must be a map"), std::string::npos);
}

}  // namespace
}  // namespace orrery

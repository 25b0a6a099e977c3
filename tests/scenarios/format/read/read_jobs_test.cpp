// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

#include "scenarios/format/read/reader.h"

namespace orrery {
namespace read_jobs_test {

constexpr const char* kCluster =
    "cluster:\n  nodes: 8\n  node: dgx-h100\n"
    "  fabric: {base: eth400-clos, tiers: 2, nodes_per_leaf_set: 2}\n";
constexpr const char* kJob =
    "    model: llama-3-8b\n"
    "    plan: {tensor_model_parallel_size: 8, sequence_parallel: true, micro_batch_size: 1, "
    "global_batch_size: 48}\n";

std::string job(const std::string& name, const std::string& place) {
    return fmt::format("  - name: {}\n    {}\n{}", name, place, kJob);
}

ResultOrErrors<Scenario> read(const std::string& jobs, const std::string& more = {}) {
    return read_scenario_text(
        kCluster + ("jobs:\n" + jobs) + more, "jobs.yaml", ".", {.several_jobs = true});
}

// The nodes of a job in the order of its ranks.
std::vector<std::uint32_t> nodes_of(const ClusterJob& job) {
    std::vector<std::uint32_t> nodes;
    for (const std::uint32_t gpu : job.scenario->cluster.gpu_of_rank) {
        if (gpu % 8 == 0) {
            nodes.push_back(gpu / 8);
        }
    }
    return nodes;
}

std::string only_error(const ResultOrErrors<Scenario>& scenario) {
    if (scenario) {
        return "no error";
    }
    EXPECT_EQ(scenario.error().size(), 1U) << scenario.error().back().to_string();
    return scenario.error().front().to_string();
}

void expect_error(const std::string& jobs, const std::string& pattern) {
    const std::string error = only_error(read(jobs));
    EXPECT_TRUE(std::regex_search(error, std::regex{pattern})) << error;
}

using Nodes = std::vector<std::uint32_t>;

TEST(ReadJobs, TakeFreeNodesInOrder) {
    const auto scenario = read(job("a", "nodes: 3") + job("b", "nodes: 2\n    start: 5 s"));
    ASSERT_TRUE(scenario) << only_error(scenario);
    ASSERT_EQ(scenario->jobs.size(), 2U);
    EXPECT_EQ(nodes_of(scenario->jobs[0]), (Nodes{0, 1, 2}));
    EXPECT_EQ(nodes_of(scenario->jobs[1]), (Nodes{3, 4}));
    EXPECT_EQ(scenario->jobs[0].start, Time{});
    EXPECT_EQ(scenario->jobs[1].start, Time::picoseconds(5'000'000'000'000));
    const Scenario& a = *scenario->jobs[0].scenario;
    EXPECT_EQ(a.name, "a");
    EXPECT_EQ(a.plan.data_parallel_size, 3);
    EXPECT_EQ(a.cluster.num_nodes, 8U);
    EXPECT_EQ(a.model.name, "llama-3-8b");
}

// Leaf sets of two servers: one server of each before the second of any.
TEST(ReadJobs, InterleavedJobsHaveServersUnderAllLeaves) {
    const auto scenario = read(job("a", "nodes: 4\n    placement: interleaved") +
                               job("b", "nodes: 4\n    placement: interleaved"));
    ASSERT_TRUE(scenario) << only_error(scenario);
    EXPECT_EQ(nodes_of(scenario->jobs[0]), (Nodes{0, 2, 4, 6}));
    EXPECT_EQ(nodes_of(scenario->jobs[1]), (Nodes{1, 3, 5, 7}));
}

TEST(ReadJobs, JobsThatNameTheirNodesComeFirst) {
    const auto scenario = read(job("a", "nodes: 3") + job("b", "on_nodes: [0, 2-3]"));
    ASSERT_TRUE(scenario) << only_error(scenario);
    EXPECT_EQ(nodes_of(scenario->jobs[0]), (Nodes{1, 4, 5}));
    EXPECT_EQ(nodes_of(scenario->jobs[1]), (Nodes{0, 2, 3}));
}

TEST(ReadJobs, WrongPlacesAreErrorsAtTheirKeys) {
    expect_error(job("a", "on_nodes: 0-3") + job("b", "on_nodes: [4, 3]"),
                 "jobs.yaml:11:5: error: the GPUs of node 3 are job a's already");
    expect_error(job("a", "on_nodes: [1, 1]"), "the GPUs of node 1 are in this list already");
    expect_error(job("a", "on_nodes: 6-8"), "there is no node 8.*0 to 7");
    expect_error(job("a", "on_nodes: 3-1"), "'3-1' is neither a node nor a range of nodes");
    expect_error(job("a", "nodes: 6") + job("b", "nodes: 3"),
                 "job b needs 3 nodes, and 2 of 8 are free");
    expect_error(job("a", "nodes: 9"), "jobs\\[0\\].nodes");
    expect_error(job("a", "nodes: 1\n    on_nodes: 1"), "on_nodes says which nodes");
    expect_error(job("a", "nodes: 1") + job("a", "nodes: 1"), "two jobs are called a");
    expect_error("  - {name: a, nodes: 1, plan: {micro_batch_size: 1, global_batch_size: 8}}\n",
                 "'jobs\\[0\\]' lacks the key 'model'");
}

TEST(ReadJobs, PlansAreCheckedOnTheJobsOwnGpus) {
    const std::string text =
        "  - name: a\n    nodes: 3\n    model: llama-3-8b\n    plan:\n"
        "      tensor_model_parallel_size: 16\n      micro_batch_size: 1\n"
        "      global_batch_size: 48\n";
    expect_error(text, "jobs.yaml:10:35: error: tensor 16 .* does not divide 24 GPUs");
}

TEST(ReadJobs, OtherCommandsAskForOneJob) {
    const auto scenario =
        read_scenario_text(kCluster + ("jobs:\n" + job("a", "nodes: 1")), "jobs.yaml", ".", {});
    EXPECT_NE(only_error(scenario).find("this scenario has several jobs, and one is due"),
              std::string::npos);
}

TEST(ReadJobs, NothingElseStandsBesideThem) {
    const auto scenario = read(job("a", "nodes: 1"), "model: llama-3-8b\n");
    EXPECT_NE(only_error(scenario).find("a scenario with jobs has none of its own"),
              std::string::npos)
        << only_error(scenario);
    EXPECT_NE(only_error(read("  a: 1\n")).find("jobs must be a list of jobs, not a map"),
              std::string::npos);
    EXPECT_NE(only_error(read("  []\n")).find("not an empty list"), std::string::npos);
}

}  // namespace read_jobs_test
}  // namespace orrery

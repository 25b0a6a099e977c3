// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/profile_cases.h"

#include <gtest/gtest.h>

#include <set>

#include "models/lowering/lowering.h"
#include "models/memory/memory.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/studies/measure/discovered_cluster.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

std::string written(const TestFolder& folder, const ProfileCase& one) {
    DocumentNode scenario = one.scenario;
    put(scenario, "job.dataset", scalar_node("tokens"));
    return folder.write("s.yaml", to_yaml(scenario));
}

// Every case can be trained, by as many ranks as it says.
TEST(ProfileCases, AreScenariosThatTrain) {
    const TestFolder folder;
    folder.write("tokens", "text");
    ReadOptions options;
    options.for_training = true;
    for (const std::uint32_t ranks : {1u, 2u, 4u, 8u}) {
        for (const char* precision : {"fp32", "bf16"}) {
            for (const ProfileCase& one : profile_cases(ranks, precision)) {
                const std::string file = written(folder, one);
                const auto scenario = read_scenario(file, options);
                ASSERT_TRUE(scenario) << one.name << ": " << scenario.error()[0].to_string();
                EXPECT_EQ(scenario->cluster.num_gpus(), ranks);
                EXPECT_EQ(scenario->model.vocab_size, one.vocabulary);
                EXPECT_EQ(scenario->device.name, "cpu-core");
            }
        }
    }
}

TEST(ProfileCases, OfGpusAreScenariosOfAsManyThatTrain) {
    const TestFolder folder;
    folder.write("tokens", "text");
    ReadOptions options;
    options.for_training = true;
    const NvmlGpu gpu{.name = "NVIDIA H100 80GB HBM3",
                      .memory_bytes = 80ULL << 30,
                      .compute_capability = 90,
                      .nvlinks = 18,
                      .pcie_generation = 5,
                      .pcie_width = 16};
    for (const std::uint32_t ranks : {1u, 2u, 4u, 8u}) {
        const auto cluster = gpu_cluster(std::vector<NvmlGpu>(ranks, gpu), std::nullopt);
        ASSERT_TRUE(cluster);
        for (const ProfileCase& one : gpu_profile_cases(ranks, "bf16", *cluster)) {
            const std::string file = written(folder, one);
            const auto scenario = read_scenario(file, options);
            ASSERT_TRUE(scenario) << one.name << ": " << scenario.error()[0].to_string();
            EXPECT_EQ(scenario->cluster.num_gpus(), ranks);
            EXPECT_EQ(scenario->device.name, "h100-80g");
            const Program program = lower(scenario->model, scenario->plan);
            const Bytes peak = role_memory(program, RoleId{0}, Bytes{}).peak;
            EXPECT_LT(peak.count(), std::int64_t{16} << 30) << one.name << " " << ranks;
        }
    }
}

TEST(ProfileCases, OfSeveralRanksHaveEveryCollectiveAndMessages) {
    const TestFolder folder;
    std::set<CollectiveKind> kinds;
    std::size_t messages = 0;
    for (const ProfileCase& one : profile_cases(2, "fp32")) {
        const auto scenario = read_scenario(folder.write("s.yaml", to_yaml(one.scenario)));
        ASSERT_TRUE(scenario);
        const Program program = lower(scenario->model, scenario->plan);
        for (const CollectiveCall& call : program.collectives) {
            kinds.insert(call.kind);
        }
        messages += program.send_recvs.size();
    }
    EXPECT_TRUE(kinds.contains(CollectiveKind::all_reduce));
    EXPECT_TRUE(kinds.contains(CollectiveKind::all_gather));
    EXPECT_TRUE(kinds.contains(CollectiveKind::reduce_scatter));
    EXPECT_GT(messages, 0U);
}

}  // namespace
}  // namespace orrery

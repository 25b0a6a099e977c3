// SPDX-License-Identifier: Apache-2.0
// The published tables are met as well as they are known to be: a median of at most 10 % from 1 MiB
// up and, with launches from other tables, of 25 % below, with one catalogue.
#include "scenarios/studies/validate/operations/collective_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/test_folder.h"

namespace orrery {
namespace {

const std::filesystem::path kCatalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
const std::string kHeader =
    "collective,gpu,num_gpus,num_nodes,fabric,size_bytes,time_us,busbw_GBps,source\n";

TEST(CollectiveCases, PublishedTablesAreMet) {
    const auto cases = read_collective_cases((kCatalogue / "published/collectives.csv").string());
    ASSERT_TRUE(cases) << cases.error().front().to_string();
    EXPECT_EQ(cases->size(), 154U);
    const auto validation = validate_collectives(*cases, kCatalogue);
    ASSERT_TRUE(validation);
    ASSERT_EQ(validation->skipped.size(), 1U);
    EXPECT_EQ(validation->skipped[0].reason, "its network is 'unknown'");
    EXPECT_EQ(validation->rows.size(), 134U);
    EXPECT_LE(validation->all.median_large, 0.10);
    EXPECT_LE(validation->all.median_small, 0.25);
}

TEST(CollectiveCases, OnlyTablesTimedCallByCallHaveTheLaunch) {
    const TestFolder folder;
    const std::string row = "all_reduce,h200,8,1,nvlink4-nvls,1024,10,1,";
    const std::string file =
        folder.write("c.csv", kHeader + row + "nccl-tests\n" + row + "torch\n");
    EXPECT_TRUE(is_collective_table(file));
    const auto cases = read_collective_cases(file);
    ASSERT_TRUE(cases);
    const auto validation = validate_collectives(*cases, kCatalogue);
    ASSERT_TRUE(validation);
    EXPECT_NEAR(validation->rows[1].predicted_us - validation->rows[0].predicted_us, 26.2, 1e-9);
}

// A table's launch comes from the others; the constant for lone tables is what the shipped ones
// give together.
TEST(CollectiveCases, TheLaunchOfATableIsThatOfTheOthers) {
    const auto cases = read_collective_cases((kCatalogue / "published/collectives.csv").string());
    ASSERT_TRUE(cases);
    const auto validation = validate_collectives(*cases, kCatalogue);
    ASSERT_TRUE(validation);
    std::map<std::string, std::vector<double>> beyond;
    std::map<std::string, double> launch;
    std::vector<double> all;
    for (const ValidatedCollective& row : validation->rows) {
        if (row.launch_us > 0) {
            launch[row.of.family()] = row.launch_us;
            if (row.of.num_nodes == 1 && row.of.bytes < Bytes(1 << 20)) {
                all.push_back(row.of.measured_us - row.predicted_us + row.launch_us);
                beyond[row.of.family()].push_back(all.back());
            }
        }
    }
    EXPECT_EQ(launch.size(), 3U);
    ASSERT_EQ(beyond.size(), 2U);
    const auto middle = [](std::vector<double> v) {
        std::sort(v.begin(), v.end());
        return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
    };
    const auto& [first, of_first] = *beyond.begin();
    const auto& [second, of_second] = *beyond.rbegin();
    EXPECT_NEAR(launch.at(first), middle(of_second), 1e-9);
    EXPECT_NEAR(launch.at(second), middle(of_first), 1e-9);
    EXPECT_NEAR(middle(all), 26.2, 0.5);
}

TEST(CollectiveCases, TellsEveryWrongRowWithItsPlace) {
    const TestFolder folder;
    const std::string file = folder.write(
        "c.csv", kHeader + "all_reduce,h200,8,1,x,0,10,1,s\nall_reduce,h200,9,2,x,1,-1,1,s\n");
    const auto cases = read_collective_cases(file);
    ASSERT_FALSE(cases);
    ASSERT_EQ(cases.error().size(), 3U);
    EXPECT_NE(cases.error()[0].where.find("c.csv:2"), std::string::npos) << cases.error()[0].where;
    EXPECT_EQ(cases.error()[0].what, "size_bytes can't be '0'");
    EXPECT_FALSE(is_collective_table(folder.write("t.csv", "case,family\n")));
    EXPECT_FALSE(is_collective_table("/nowhere"));
}

TEST(CollectiveCases, UnknownHardwareIsSkippedNotGuessed) {
    for (const auto& [gpu, fabric] : {std::pair{"tpu", "nvlink4"}, {"h200", "nvlink4+carrier"}}) {
        const CollectiveCase row{.collective = "all_reduce",
                                 .gpu = gpu,
                                 .num_gpus = 16,
                                 .num_nodes = 2,
                                 .fabric = fabric,
                                 .bytes = Bytes(1)};
        EXPECT_FALSE(scenario_of(row, kCatalogue));
    }
}

TEST(CollectiveCases, EveryRowOnEfaIsPredicted) {
    const auto cases =
        read_collective_cases((kCatalogue / "published/collectives_efa.csv").string());
    ASSERT_TRUE(cases) << cases.error().front().to_string();
    EXPECT_EQ(cases->size(), 80U);
    for (const CollectiveCase& row : *cases) {
        const auto scenario = scenario_of(row, kCatalogue);
        ASSERT_TRUE(scenario) << row.family() << scenario.error().to_string();
        EXPECT_EQ(scenario->cluster.num_gpus(), row.num_gpus);
        EXPECT_EQ(scenario->cluster.num_nodes, row.num_nodes);
    }
}

// All rows of the table found later are of servers and networks that are known, but for two runs:
// one of all_to_alls with one channel a peer, and one whose switches add.
TEST(CollectiveCases, EveryServerHasTheGpusThatItsRowUsed) {
    const auto cases =
        read_collective_cases((kCatalogue / "published/collectives_blind.csv").string());
    ASSERT_TRUE(cases) << cases.error().front().to_string();
    EXPECT_EQ(cases->size(), 337U);
    std::map<std::string, bool> unknown;
    for (const CollectiveCase& row : *cases) {
        const auto scenario = scenario_of(row, kCatalogue);
        if (!scenario) {
            unknown[row.fabric] = true;
        } else if (row.num_nodes > 1) {
            EXPECT_EQ(scenario->cluster.num_gpus(), row.num_gpus) << row.family();
            EXPECT_EQ(scenario->cluster.num_nodes, row.num_nodes) << row.family();
        }
    }
    ASSERT_EQ(unknown.size(), 2U);
    EXPECT_TRUE(unknown.contains("nvlink5+ib-ndr400-1channel"));
    EXPECT_TRUE(unknown.contains("nvlink4+ib-ndr400-sharp"));
}

TEST(CollectiveCases, ARackOfFewerGpusHasFewerTrays) {
    const CollectiveCase row{.collective = "all_reduce",
                             .gpu = "gb300-nvl72",
                             .num_gpus = 128,
                             .num_nodes = 2,
                             .fabric = "nvlink5-nvl72+ib-xdr800",
                             .bytes = Bytes(1)};
    const auto scenario = scenario_of(row, kCatalogue);
    ASSERT_TRUE(scenario) << scenario.error().to_string();
    EXPECT_EQ(scenario->cluster.num_gpus(), 128U);
    EXPECT_EQ(scenario->cluster.gpus_per_server(), 4U);
    EXPECT_EQ(scenario->cluster.num_servers(), 32U);
}

}  // namespace
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Predicted against published times of all_reduce (nccl-tests and the like), from 1 MiB up, where
// hardware and network are known. One set of constants for every row, none of them fitted to these
// tables. Prints each family's errors; fails if the median gets worse than it is known to be (5.8
// %). What it does not meet: small calls of slower hosts (a launch of some 20 us is in those
// tables), and the EFA network, whose own latency NCCL's constants do not have.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "network/nccl_network.h"
#include "tests/network/dgx_clusters.h"
#include "tests/network/plan_time.h"

namespace orrery {
namespace {

struct PublishedRow {
    std::string gpu;
    std::string fabric;
    std::uint32_t num_gpus = 0;
    std::uint32_t num_nodes = 0;
    std::int64_t bytes = 0;
    double time_us = 0;
};

std::vector<PublishedRow> published_rows(const std::string& path) {
    std::ifstream file(path);
    std::vector<PublishedRow> rows;
    std::string line;
    while (std::getline(file, line)) {
        std::stringstream fields(line);
        std::vector<std::string> f(8);
        for (auto& field : f) {
            std::getline(fields, field, ',');
        }
        if (f[0] != "all_reduce") {
            continue;
        }
        rows.push_back({.gpu = f[1],
                        .fabric = f[4],
                        .num_gpus = static_cast<std::uint32_t>(std::stoul(f[2])),
                        .num_nodes = static_cast<std::uint32_t>(std::stoul(f[3])),
                        .bytes = std::stoll(f[5]),
                        .time_us = std::stod(f[6])});
    }
    return rows;
}

// Round figures: usable share of a cable 97 % (4 KiB packets with their headers), of NVLink all.
NcclNetwork network_of(const PublishedRow& row) {
    const bool a100 = row.gpu.starts_with("a100");
    const bool b200 = row.gpu == "b200";
    ClusterSpec cluster;
    cluster.num_nodes = row.num_nodes;
    cluster.node = a100 ? dgx_a100() : b200 ? dgx_b200() : dgx_h100();
    cluster.node.nvls = row.fabric.find("ring") == std::string::npos && !a100;
    cluster.fabric.kind = FabricKind::single_switch;
    cluster.fabric.nic_bandwidth = Bandwidth::bytes_per_second(50'000'000'000);
    cluster.fabric.efficiency = 0.97;
    auto fabric = build_fabric(cluster);
    EXPECT_TRUE(fabric.has_value());
    return NcclNetwork(std::move(fabric.value()),
                       {.compute_capability = a100   ? 80u
                                              : b200 ? 100u
                                                     : 90u});
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values.empty() ? 0.0 : values[values.size() / 2];
}

TEST(CollectivesPublished, AllReduceFrom1MiB) {
    // ORRERY_PUBLISHED_COLLECTIVES names another table of the same form, only to be printed.
    const char* other = std::getenv("ORRERY_PUBLISHED_COLLECTIVES");
    const std::string shipped = ORRERY_SOURCE_DIR "/scenarios/catalogue/published/collectives.csv";
    const std::string path = other != nullptr ? other : shipped;
    std::map<std::string, std::vector<double>> errors;
    std::vector<double> all;
    for (const auto& row : published_rows(path)) {
        const bool unknown = row.fabric.find("unknown") != std::string::npos ||
                             row.fabric.find("slow") != std::string::npos;
        if (row.bytes < 1 << 20 || unknown || row.gpu.starts_with("v100")) {
            continue;
        }
        const auto network = network_of(row);
        const CollectiveCall call{.bytes = Bytes(row.bytes)};
        const auto plan = network.plan(call, first_ranks(row.num_gpus));
        const double predicted = plan_time(network, plan).microseconds();
        const double error = predicted / row.time_us - 1;
        const std::string family = row.gpu + " " + std::to_string(row.num_nodes) + "x" +
                                   std::to_string(row.num_gpus / row.num_nodes) + " " + row.fabric;
        std::printf("%-34s %12lld B %-9s %-6s %10.1f us, measured %10.1f us, %+6.1f %%\n",
                    family.c_str(),
                    static_cast<long long>(row.bytes),
                    plan.algorithm.c_str(),
                    plan.protocol.c_str(),
                    predicted,
                    row.time_us,
                    100 * error);
        errors[family].push_back(std::abs(error));
        all.push_back(std::abs(error));
    }
    for (const auto& [family, values] : errors) {
        std::printf("%-34s %3zu rows, median error %5.1f %%, largest %5.1f %%\n",
                    family.c_str(),
                    values.size(),
                    100 * median(values),
                    100 * *std::max_element(values.begin(), values.end()));
    }
    std::printf("all: %zu rows, median error %.1f %%\n", all.size(), 100 * median(all));
    ASSERT_FALSE(all.empty());
    if (other == nullptr) {
        EXPECT_EQ(all.size(), 101u);
        EXPECT_LE(median(all), 0.07);
        for (const char* large : {"h100-80g 1x8 nvlink4-nvls", "h200 1x8 nvlink4-nvls"}) {
            EXPECT_LE(median(errors.at(large)), 0.06) << large;
        }
    }
}

}  // namespace
}  // namespace orrery

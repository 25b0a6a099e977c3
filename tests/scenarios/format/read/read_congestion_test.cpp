// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>

#include "scenarios/format/read/reader.h"
#include "tests/scenarios/sections.h"
#include "tests/test_folder.h"

namespace orrery {
namespace read_congestion_test {

using namespace literals;

const std::string kEntry =
    "algorithm: hpcc\n"
    "measured_on: {kind: clos, nic_bandwidth: 400 Gbps, tiers: 2}\n"
    "ring: {efficiency: 0.9, queueing_delay: 3 us}\n"
    "all_to_all: {efficiency: 0.8, queueing_delay: 0 us}\n"
    "point_to_point: {efficiency: 1.01, queueing_delay: 1.5 us}\n";

struct CongestionRead {
    NetworkSettings settings;
    std::string errors;
};

CongestionRead read(const DocumentNode& value, const std::filesystem::path& folder = {}) {
    CongestionRead out;
    Errors errors;
    read_congestion(value, shipped_catalogue(), folder, out.settings, errors);
    out.errors = lines_of(errors);
    return out;
}

TEST(ReadCongestion, AMapAFileAndANameAreTheSame) {
    const CongestionRead map = read(section_of(kEntry));
    ASSERT_EQ(map.errors, "");
    ASSERT_TRUE(map.settings.congestion);
    const CongestionFactors& f = *map.settings.congestion;
    EXPECT_EQ(f.algorithm, "hpcc");
    EXPECT_EQ(f.ring, (CongestionFactor{0.9, 3_us}));
    EXPECT_EQ(f.all_to_all, (CongestionFactor{0.8, Time{}}));
    EXPECT_EQ(f.point_to_point, (CongestionFactor{1.01, 1'500_ns}));
    EXPECT_EQ(f.measured_on.tiers, 2U);

    const TestFolder folder;
    std::ofstream(folder.path() / "mine.yaml") << kEntry;
    const CongestionRead file = read(*section_of("at: mine.yaml").find("at"), folder.path());
    ASSERT_EQ(file.errors, "");
    EXPECT_EQ(file.settings.congestion->ring, f.ring);
    EXPECT_EQ(file.settings.congestion->name, "mine.yaml");

    for (const std::string& entry : shipped_catalogue().names("congestion_controls")) {
        const CongestionRead named = read(*section_of("at: " + entry).find("at"));
        EXPECT_EQ(named.errors, "") << entry;
        EXPECT_EQ(named.settings.congestion->name, entry);
    }
}

TEST(ReadCongestion, SaysWhatIsMissingOrCannotBe) {
    for (const char* key : {"algorithm", "measured_on", "ring", "all_to_all", "point_to_point"}) {
        EXPECT_NE(read(section_of(without_key(kEntry, key))).errors.find(key), std::string::npos);
    }
    EXPECT_NE(read(section_of(kEntry + "rnig: 1\n")).errors.find("unknown key 'rnig'"),
              std::string::npos);
    EXPECT_NE(read(*section_of("at: dcqcm").find("at")).errors.find("no congestion_control"),
              std::string::npos);
    EXPECT_NE(read(*section_of("at: none.yaml").find("at")).errors.find("none.yaml"),
              std::string::npos);
    EXPECT_NE(read(*section_of("at: [1]").find("at")).errors.find("not a list"), std::string::npos);
    const std::string wrong = kEntry.substr(0, kEntry.find("ring")) +
                              "ring: {efficiency: 0, queueing_delay: 3}\nall_to_all: 1\n"
                              "point_to_point: {efficiency: 2}\n";
    const std::string errors = read(section_of(wrong)).errors;
    EXPECT_NE(errors.find("ring.efficiency"), std::string::npos) << errors;
    EXPECT_NE(errors.find("ring.queueing_delay"), std::string::npos) << errors;
    EXPECT_NE(errors.find("all_to_all must be a map"), std::string::npos) << errors;
    EXPECT_NE(errors.find("point_to_point"), std::string::npos) << errors;
}

TEST(ReadCongestion, FactorsOfAnotherNetworkAreAnError) {
    const std::string cluster =
        "cluster: {nodes: 4, node: dgx-a100-80g, fabric: {base: megascale-clos, routing: spray}}\n"
        "network: {congestion: megascale-clos-dcqcn}\n";
    const auto scenario = read_scenario_text(cluster, "s.yaml", {}, {.network_only = true});
    ASSERT_FALSE(scenario);
    ASSERT_EQ(scenario.error().size(), 1U);
    EXPECT_EQ(scenario.error()[0].where, "s.yaml:2:23");
    EXPECT_NE(scenario.error()[0].what.find("differs from cluster.fabric: routing"),
              std::string::npos);
}

}  // namespace read_congestion_test
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>

#include "network/fabric/cable_list.h"
#include "tests/scenarios/sections.h"
#include "tests/test_folder.h"

namespace orrery {
namespace read_cables_test {

using namespace literals;

struct CablesRead {
    ClusterSpec cluster;
    std::string errors;
};

// `text`: the cluster, whose fabric names table.csv beside its file.
CablesRead read_fabric(const std::string& table, const std::string& text) {
    const TestFolder folder;
    folder.write("table.csv", table);
    const auto document = parse_yaml(text, (folder.path() / "s.yaml").string());
    EXPECT_TRUE(document);
    DocumentNode section = *document;
    CablesRead out;
    DeviceSpec device;
    Errors errors;
    read_cluster(section, shipped_catalogue(), {}, out.cluster, device, errors);
    out.errors = lines_of(errors);
    return out;
}

// Two servers on a switch each. `fabric`: more keys.
CablesRead read(const std::string& table, const std::string& fabric = "") {
    return read_fabric(
        table,
        "nodes: 2\nnode: {base: dgx-h100, gpus_per_node: 1}\n"
        "fabric: {kind: file, file: table.csv, nics_per_node: 1, link_latency: 3 us" +
            fabric + "}\n");
}

const std::string kTable =
    "# two switches\n"
    "from,to,bandwidth,latency,cables\n"
    "node 0 nic 0,a,400 Gbps,500 ns,1\n"
    "node 1 nic 0,b,200 Gbps,,1\n"
    "a,b,100 Gbps,1 us,4\n";

TEST(ReadCables, ATableBecomesAFabric) {
    const CablesRead r = read(kTable);
    ASSERT_EQ(r.errors, "");
    EXPECT_EQ(r.cluster.fabric.kind, FabricKind::file);
    EXPECT_EQ(r.cluster.fabric.nic_bandwidth, 200_Gbps);  // the slowest NIC's
    const CableList& cables = *r.cluster.fabric.cables;
    EXPECT_EQ(cables.switch_cables().size(), 4U);
    EXPECT_EQ(cables.nic_cables()[0].latency, 500_ns);
    EXPECT_EQ(cables.nic_cables()[1].latency, 3_us);  // the fabric's
}

TEST(ReadCables, ErrorsNameTheRow) {
    const auto with = [](const std::string& row) { return read(kTable + row + "\n").errors; };
    EXPECT_NE(with("a,b,fast,,1").find("table.csv:6: error: bandwidth"), std::string::npos);
    EXPECT_NE(with("a,b,1 Gbps,late,1").find("table.csv:6: error: latency"), std::string::npos);
    EXPECT_NE(with("a,b,1 Gbps,,0").find("table.csv:6: error: 0 parallel"), std::string::npos);
    EXPECT_NE(with("node 7 nic 0,b,1 Gbps,,1").find("table.csv:6: error: the cluster has no NIC"),
              std::string::npos);
    EXPECT_NE(with("a,b").find("table.csv:6"), std::string::npos);
    EXPECT_NE(read("from,to\n").errors.find("bandwidth"), std::string::npos);
    EXPECT_NE(read(kTable.substr(0, kTable.find("a,b"))).errors.find("no cables lead"),
              std::string::npos);
}

TEST(ReadCables, KeysOfOtherKindsAndMissingFilesAreErrors) {
    EXPECT_NE(read(kTable, ", tiers: 2").errors.find("the switches that its file lists"),
              std::string::npos);
    EXPECT_NE(read(kTable, ", routing: spray").errors.find("spraying"), std::string::npos);
    ClusterSpec cluster;
    DeviceSpec device;
    const auto errors_of = [&](const std::string& fabric) {
        DocumentNode section = section_of("nodes: 2\nnode: dgx-h100\nfabric: " + fabric + "\n");
        Errors errors;
        read_cluster(section, shipped_catalogue(), {}, cluster, device, errors);
        return lines_of(errors);
    };
    EXPECT_NE(errors_of("{kind: file}").find("lacks the key 'file'"), std::string::npos);
    EXPECT_NE(errors_of("{kind: file, file: nowhere.csv}").find("nowhere.csv"), std::string::npos);
    EXPECT_NE(
        errors_of("{kind: clos, nic_bandwidth: 1 Gbps, file: x.csv}").find("is for kind: file"),
        std::string::npos);
}

// Three nodes of two NICs each.
CablesRead read_matrix(const std::string& table, const std::string& fabric = "") {
    return read_fabric(
        table,
        "nodes: 3\nnode: {base: dgx-h100, gpus_per_node: 2}\n"
        "fabric: {kind: file, link_matrix: table.csv, nics_per_node: 2, nic_bandwidth: 200 Gbps, "
        "link_latency: 3 us" +
            fabric + "}\n");
}

const std::string kMatrix = "from,to,bandwidth,latency\n0,1,80 Gbps,\n2,0,100 Gbps,5 us\n";

TEST(ReadLinkMatrix, APairIsACableBetweenTheNodesOfItsUsableBandwidth) {
    const CablesRead r =
        read_matrix(kMatrix + "1,2,60 Gbps,\n2,1,40 Gbps,4 us\n", ", efficiency: 0.8");
    ASSERT_EQ(r.errors, "");
    EXPECT_EQ(r.cluster.fabric.nic_bandwidth, 200_Gbps);
    const CableList& cables = *r.cluster.fabric.cables;
    EXPECT_EQ(cables.switches().size(), 3U);
    ASSERT_EQ(cables.switch_cables().size(), 3U);
    EXPECT_EQ(cables.nic_cables()[5].bandwidth, 200_Gbps);
    EXPECT_EQ(cables.nic_cables()[5].latency, Time{});
    // A fifth of each cable is not usable, and what was measured was used.
    EXPECT_EQ(cables.switch_cables()[0].bandwidth, 100_Gbps);
    EXPECT_EQ(cables.switch_cables()[0].latency, 3_us);
    EXPECT_EQ(cables.switch_cables()[1].bandwidth, 125_Gbps);
    EXPECT_EQ(cables.switch_cables()[1].latency, 5_us);
    // The slower of both directions.
    EXPECT_EQ(cables.switch_cables()[2].bandwidth, 50_Gbps);
    EXPECT_EQ(cables.switch_cables()[2].latency, 4_us);
}

TEST(ReadLinkMatrix, ErrorsNameTheRowOrThePair) {
    const auto with = [](const std::string& row) { return read_matrix(kMatrix + row).errors; };
    EXPECT_NE(with("").find("the pair 1 to 2 has no row"), std::string::npos) << with("");
    for (const char* row : {"1,1,1 Gbps,\n", "1,3,1 Gbps,\n", "-1,2,1 Gbps,\n", "a,2,1 Gbps,\n"}) {
        EXPECT_NE(with(row).find("table.csv:4: error"), std::string::npos) << with(row);
        EXPECT_NE(with(row).find("are no two nodes"), std::string::npos) << with(row);
    }
    EXPECT_NE(with("1,2,fast,\n").find("bandwidth"), std::string::npos);
    EXPECT_NE(with("1,2,0 Gbps,\n").find("must not be zero"), std::string::npos);
    EXPECT_NE(with("1,2,1 Gbps,late\n").find("latency"), std::string::npos);
    EXPECT_NE(with("0,1,1 Gbps,\n").find("is listed already"), std::string::npos);
    EXPECT_NE(with("1,0,1 Gbps,\n1,0,1 Gbps,\n").find("is listed already"), std::string::npos);
}

TEST(ReadLinkMatrix, StandsInPlaceOfTheCables) {
    const std::string all = kMatrix + "1,2,60 Gbps,\n";
    EXPECT_NE(read_matrix(all, ", file: table.csv").errors.find("file or link_matrix"),
              std::string::npos);
    EXPECT_NE(read_matrix(all, ", tiers: 2").errors.find("the switches that its file lists"),
              std::string::npos);
    DocumentNode section =
        section_of("nodes: 2\nnode: dgx-h100\nfabric: {kind: file, link_matrix: links.csv}\n");
    ClusterSpec cluster;
    DeviceSpec device;
    Errors errors;
    read_cluster(section, shipped_catalogue(), {}, cluster, device, errors);
    EXPECT_NE(lines_of(errors).find("lacks the key 'nic_bandwidth'"), std::string::npos);
}

}  // namespace read_cables_test
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/old_keys.h"

#include <gtest/gtest.h>

#include "scenarios/format/document/yaml_document.h"

namespace orrery {
namespace {

TEST(OldKeys, AShareBecomesAFactorAndALineSaysSo) {
    auto root = parse_yaml("cluster:\n  slow_node_slowdown: 0.1\n", "s.yaml");
    ASSERT_TRUE(root);
    const std::vector<std::string> lines = rename_old_keys(*root->find("cluster"), "cluster");
    ASSERT_EQ(lines.size(), 1u);
    EXPECT_EQ(lines[0],
              "s.yaml:2:3: cluster.slow_node_slowdown is now cluster.slow_node_factor: 1.1 (1.1 "
              "means 1.1 times as long); the old spelling will go with the next release");
    const DocumentNode* cluster = root->find("cluster");
    EXPECT_EQ(cluster->find("slow_node_slowdown"), nullptr);
    ASSERT_NE(cluster->find("slow_node_factor"), nullptr);
    EXPECT_EQ(cluster->find("slow_node_factor")->text, "1.1");
    EXPECT_TRUE(rename_old_keys(*root->find("cluster"), "cluster").empty());
}

TEST(OldKeys, BesideTheNewNameTheOldOneStays) {
    auto root = parse_yaml("cluster: {slow_node_slowdown: 0.1, slow_node_factor: 1.2}\n", "s.yaml");
    ASSERT_TRUE(root);
    EXPECT_TRUE(rename_old_keys(*root->find("cluster"), "cluster").empty());
    EXPECT_NE(root->find("cluster")->find("slow_node_slowdown"), nullptr);
}

}  // namespace
}  // namespace orrery

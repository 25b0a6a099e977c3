// SPDX-License-Identifier: Apache-2.0
#include "engine/faults/component.h"

#include <gtest/gtest.h>

#include <set>

namespace orrery {
namespace {

const ClusterShape kFortyFive{.nodes = 45,
                              .gpus_per_node = 8,
                              .nics_per_node = 4,
                              .nodes_per_rack = 2,
                              .nodes_per_leaf = 32,
                              .leaves_per_set = 4,
                              .spines = 6,
                              .nodes_per_pdu = 4,
                              .nodes_per_pod = 20};

TEST(Component, IsReadAndWrittenTheSame) {
    for (const char* text : {"node:17",
                             "node:44/gpu:7",
                             "node:0/nic:3",
                             "rack:22",
                             "leaf:7",
                             "spine:5",
                             "site",
                             "pdu:11",
                             "pod:2",
                             "job",
                             "node:*",
                             "gpu:*",
                             "rack:*"}) {
        const Result<Component> component = parse_component(text, kFortyFive);
        ASSERT_TRUE(component) << text << component.error().to_string();
        EXPECT_EQ(to_text(kFortyFive, *component), text);
    }
    EXPECT_EQ(parse_component("gpu:130", kFortyFive), (Component{Scope::gpu, 130}));
    EXPECT_EQ(parse_component("node:16/gpu:2", kFortyFive), (Component{Scope::gpu, 130}));
    EXPECT_EQ(parse_component("node:*/gpu:*", kFortyFive), (Component{Scope::gpu, kEvery}));
    EXPECT_EQ(parse_component("site:*", kFortyFive), (Component{Scope::site, 0}));
    EXPECT_EQ(parse_component("site:0", kFortyFive), (Component{Scope::site, 0}));
}

TEST(Component, WhatIsNotThereIsAnErrorThatSaysWhatIs) {
    for (const auto& [text, hint] : {std::pair{"node:45", "node:0 to node:44"},
                                     std::pair{"node:3/gpu:8", "gpu:0 to gpu:7"},
                                     std::pair{"leaf:8", "leaf:0 to leaf:7"},
                                     std::pair{"spine:6", "spine:0 to spine:5"},
                                     std::pair{"site:1", "site:0 to site:0"},
                                     std::pair{"rack:23", "rack:0 to rack:22"}}) {
        const Result<Component> component = parse_component(text, kFortyFive);
        ASSERT_FALSE(component) << text;
        EXPECT_EQ(component.error().hint, hint);
    }
}

TEST(Component, NonsenseIsAnError) {
    for (const char* text : {"",
                             "node",
                             "node:",
                             "node:x",
                             "node:-1",
                             "node:1x",
                             "nodes:1",
                             "job:1",
                             "rack:1/gpu:0",
                             "node:1/rack:0",
                             "node:*/gpu:1",
                             "node:1/gpu:*",
                             "node:99999999999"}) {
        EXPECT_FALSE(parse_component(text, kFortyFive)) << text;
    }
}

TEST(Component, LeafSwitchesOfASetShareItsNodes) {
    EXPECT_EQ(kFortyFive.components(Scope::leaf), 8u);  // two sets of four rails
    EXPECT_EQ(nodes_of(kFortyFive, {Scope::leaf, 3}), (NodeRange{0, 32}));
    EXPECT_EQ(nodes_of(kFortyFive, {Scope::leaf, 4}), (NodeRange{32, 13}));
    EXPECT_EQ(domain_of(kFortyFive, Scope::leaf, 40), (Component{Scope::leaf, 4}));
    EXPECT_EQ(domain_of(kFortyFive, Scope::pdu, 40), (Component{Scope::pdu, 10}));
    EXPECT_EQ(domain_of(kFortyFive, Scope::gpu, 40), (Component{Scope::gpu, 320}));
    EXPECT_EQ(nodes_of(kFortyFive, {Scope::site, 0}), (NodeRange{0, 45}));
    EXPECT_EQ(nodes_of(kFortyFive, {Scope::spine, 2}).count, 0u);
    EXPECT_EQ(ClusterShape{}.components(Scope::spine), 0u);
    const Result<Component> none = parse_component("spine:0", ClusterShape{});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().what, "the cluster has no spine switch");
}

TEST(Component, AreCountedInWords) {
    EXPECT_EQ(count_of(Scope::gpu, 1024), "1,024 GPUs");
    EXPECT_EQ(count_of(Scope::gpu, 1), "1 GPU");
    EXPECT_EQ(count_of(Scope::leaf, 32), "32 leaf switches");
    EXPECT_EQ(count_of(Scope::nic, 1234567), "1,234,567 NICs");
    EXPECT_EQ(count_of(Scope::pdu, 0), "0 power feeds");
}

TEST(Component, DomainsShareTheirNodesAmongThem) {
    for (const Scope scope : {Scope::node, Scope::rack, Scope::pdu, Scope::pod, Scope::site}) {
        std::uint32_t next = 0;
        for (std::uint32_t i = 0; i < kFortyFive.components(scope); ++i) {
            const NodeRange nodes = nodes_of(kFortyFive, {scope, i});
            EXPECT_EQ(nodes.first, next);
            next += nodes.count;
        }
        EXPECT_EQ(next, kFortyFive.nodes) << name(scope);
    }
    EXPECT_EQ(nodes_of(kFortyFive, {Scope::job, 0}).count, 0u);
    EXPECT_EQ(nodes_of(kFortyFive, {Scope::nic, 7}), (NodeRange{1, 1}));
}

TEST(Component, EntitiesDiffer) {
    std::set<std::uint64_t> entities;
    for (const Scope scope : {Scope::gpu,
                              Scope::nic,
                              Scope::node,
                              Scope::rack,
                              Scope::job,
                              Scope::leaf,
                              Scope::spine,
                              Scope::site}) {
        for (std::uint32_t i = 0; i < kFortyFive.components(scope); ++i) {
            EXPECT_TRUE(entities.insert(entity_of({scope, i})).second);
        }
    }
}

}  // namespace
}  // namespace orrery

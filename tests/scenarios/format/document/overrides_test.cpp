// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/overrides.h"

#include <gtest/gtest.h>

#include "scenarios/format/document/yaml_document.h"

namespace orrery {
namespace overrides_test {

constexpr const char* kText = "cluster:\n  node: dgx-h100\nplan:\n  a: 1\n  list: [1, 2]\n";

DocumentNode overridden(const std::string& assignment) {
    auto root = parse_yaml(kText, "s.yaml");
    Errors errors;
    apply_override(*root, assignment, errors);
    EXPECT_TRUE(errors.empty()) << errors.front().to_string();
    return *root;
}

std::string error_of(const std::string& assignment) {
    auto root = parse_yaml(kText, "s.yaml");
    Errors errors;
    apply_override(*root, assignment, errors);
    return errors.size() == 1 ? errors.front().to_string() : "";
}

TEST(Overrides, SetOneKeyAndNothingElse) {
    const DocumentNode root = overridden("plan.a=7");
    EXPECT_EQ(root.find("plan")->find("a")->text, "7");
    EXPECT_EQ(root.find("plan")->find("a")->where(), "--set plan.a");
    EXPECT_EQ(root.find("plan")->find("list")->where(), "s.yaml:5:9");
}

TEST(Overrides, ValuesAreYaml) {
    EXPECT_TRUE(overridden("plan.list=[3, 4, 5]").find("plan")->find("list")->is_sequence());
    EXPECT_TRUE(overridden("plan.a={x: 1}").find("plan")->find("a")->is_map());
    EXPECT_TRUE(overridden("plan.a='8'").find("plan")->find("a")->is_string);
    EXPECT_EQ(overridden("plan.a=x=y").find("plan")->find("a")->text, "x=y");
    // Places inside a value are the option too: its lines mean nothing to the user.
    const DocumentNode root = overridden("plan.a={x: 1}");
    EXPECT_EQ(root.find("plan")->find("a")->find("x")->where(), "--set plan.a");
}

TEST(Overrides, APathInAnOverrideIsRelativeToTheScenario) {
    auto root = parse_yaml("cluster: {file: own.csv}\n", "catalogue/s.yaml");
    Errors errors;
    EXPECT_EQ(root->find("cluster")->find("file")->folder("of/scenario"), "catalogue");
    apply_override(*root, "cluster.file=a.csv", errors);
    EXPECT_EQ(root->find("cluster")->find("file")->folder("of/scenario"), "of/scenario");
}

TEST(Overrides, MakeMapsThatAreNotThere) {
    const DocumentNode root = overridden("job.deep.steps=3");
    EXPECT_EQ(root.find("job")->find("deep")->find("steps")->text, "3");
    EXPECT_TRUE(root.find("job")->extends);
}

TEST(Overrides, BelowANameTheNameIsTheBase) {
    const DocumentNode root = overridden("cluster.node.nvlink_latency=1 us");
    const DocumentNode& node = *root.find("cluster")->find("node");
    EXPECT_EQ(node.find("base")->text, "dgx-h100");
    EXPECT_EQ(node.find("base")->where(), "s.yaml:2:9");
    EXPECT_EQ(node.find("nvlink_latency")->text, "1 us");
}

TEST(Overrides, AMapThatTwoOptionsMakeIsNamedByItsOwnPath) {
    DocumentNode root = *parse_yaml("name: x", "s.yaml");
    Errors errors;
    apply_override(root, "search.cluster.nodes=[1]", errors);
    EXPECT_EQ(root.find("search")->where(), "--set search.cluster.nodes");
    apply_override(root, "search.budget=1", errors);
    EXPECT_EQ(root.find("search")->where(), "--set search");
    EXPECT_EQ(root.find("search")->find("cluster")->where(), "--set search.cluster.nodes");
    EXPECT_EQ(root.find("search")->find("budget")->where(), "--set search.budget");
    EXPECT_TRUE(errors.empty());
}

TEST(Overrides, WhatIsNoAssignmentIsAnErrorThatShowsOne) {
    for (const char* bad :
         {"plan.a", "", "=3", "plan.a=", "plan.a=[", "plan.a={", "plan.list.0=1"}) {
        const std::string error = error_of(bad);
        EXPECT_EQ(error.substr(0, 6), "--set ") << bad << ": " << error;
        EXPECT_NE(error.find("(hint: "), std::string::npos) << error;
    }
    EXPECT_EQ(error_of("plan.list.x=1"),
              "--set plan.list.x: error: leads into a list (hint: set one of its items, "
              "key[0].name=1, or the whole list: key=[1, 2])");
}

TEST(Overrides, NullIsNoValue) {
    EXPECT_EQ(error_of("plan.a=null"),
              "--set plan.a: error: 'null' is no value (hint: without a value in the file or "
              "here, a key has its default)");
    EXPECT_EQ(error_of("plan.a="),
              "--set plan.a: error: there is no value after '=' (hint: write it like --set "
              "plan.global_batch_size=768)");
}

TEST(Overrides, ReachItemsOfAList) {
    const auto changed = [](const std::string& assignment, std::string* error = nullptr) {
        auto root =
            parse_yaml("cluster:\n  kinds: [{nodes: 1, node: dgx-h100}, {nodes: 2}]\n", "s.yaml");
        Errors errors;
        apply_override(*root, assignment, errors);
        if (error != nullptr) {
            *error = errors.empty() ? "" : errors.front().to_string();
        }
        return *root->find("cluster")->find("kinds");
    };
    EXPECT_EQ(changed("cluster.kinds[1].nodes=7").items[1].find("nodes")->text, "7");
    EXPECT_EQ(changed("cluster.kinds[1].nodes=7").items[0].find("nodes")->text, "1");
    const DocumentNode deep = changed("cluster.kinds[0].node.nvls=false");
    EXPECT_EQ(deep.items[0].find("node")->find("base")->text, "dgx-h100");
    EXPECT_EQ(deep.items[0].find("node")->find("nvls")->text, "false");
    EXPECT_EQ(changed("cluster.kinds[1]={nodes: 3}").items[1].find("nodes")->text, "3");
    for (const char* bad : {"cluster.kinds[2].nodes=7",
                            "cluster.kinds[2]=7",
                            "cluster.kinds[x].nodes=7",
                            "cluster.kinds[.nodes=7",
                            "cluster.kinds[]=7",
                            "cluster.kinds[0=7",
                            "cluster[0].nodes=7",
                            "cluster.kinds[0].nodes.x[1]=7"}) {
        std::string error;
        changed(bad, &error);
        EXPECT_NE(error, "") << bad;
    }
}

TEST(Overrides, EmptyNamesInAPathAreErrors) {
    for (const char* bad : {"plan..a=1", ".a=1", "plan.=1", ".=1"}) {
        EXPECT_NE(error_of(bad), "") << bad;
    }
}

}  // namespace overrides_test
}  // namespace orrery

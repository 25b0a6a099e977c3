// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/document_node.h"

#include <gtest/gtest.h>

#include "scenarios/format/document/yaml_document.h"

namespace orrery {
namespace {

DocumentNode parsed(const std::string& text) {
    const auto document = parse_yaml(text, "s.yaml");
    EXPECT_TRUE(document);
    return document ? *document : DocumentNode{};
}

TEST(DocumentNode, SaysWhereItStands) {
    const DocumentNode root = parsed("a:\n  b: 1\n  c: [2]\n");
    EXPECT_EQ(root.find("a")->find("b")->where(), "s.yaml:2:6");
    DocumentNode node;
    EXPECT_EQ(node.where(), "");
    node.source = std::make_shared<const std::string>("--set a");
    EXPECT_EQ(node.where(), "--set a");
}

TEST(DocumentNode, WhereOfAPathIsTheNearestParentThatExists) {
    const DocumentNode root = parsed("a:\n  b: 1\nc: 2\n");
    EXPECT_EQ(where_of_path(root, "a.b"), "s.yaml:2:6");
    EXPECT_EQ(where_of_path(root, "a.x"), "s.yaml:2:3");
    EXPECT_EQ(where_of_path(root, "a.x.y.z"), "s.yaml:2:3");
    EXPECT_EQ(where_of_path(root, "a.b.c"), "s.yaml:2:6");
    EXPECT_EQ(where_of_path(root, "x"), "s.yaml:1:1");
    EXPECT_EQ(where_of_path(root, ""), "s.yaml:1:1");
}

TEST(DocumentNode, SettingAKeyAddsItBehindOrReplacesItInPlace) {
    DocumentNode root = parsed("a: 1\nb: 2\n");
    const auto word = [](const std::string& text) {
        DocumentNode node;
        node.kind = DocumentNode::Kind::scalar;
        node.text = text;
        return node;
    };
    root.set(word("a"), word("3"));
    root.set(word("c"), word("4"));
    ASSERT_EQ(root.keys.size(), 3U);
    EXPECT_EQ(key_position(root, "a"), 0U);
    EXPECT_EQ(root.find("a")->text, "3");
    EXPECT_EQ(key_position(root, "c"), 2U);
    EXPECT_EQ(key_position(root, "d"), kNoKey);
    EXPECT_EQ(root.find("d"), nullptr);
}

TEST(DocumentNode, DescribesItselfForMessages) {
    const DocumentNode root =
        parsed("m: {a: 1}\nl: [1]\nn: ~\nw: some words\nlong: " + std::string(50, 'x') + "\n");
    EXPECT_EQ(root.describe(), "a map");
    EXPECT_EQ(root.find("l")->describe(), "a list");
    EXPECT_EQ(root.find("n")->describe(), "nothing");
    EXPECT_EQ(root.find("w")->describe(), "'some words'");
    EXPECT_EQ(root.find("long")->describe(), "'" + std::string(40, 'x') + "…'");
}

TEST(DocumentNode, ACutDescriptionIsStillUtf8) {
    const DocumentNode root = parsed("a: x" + std::string("üüüüüüüüüüüüüüüüüüüüüüüüüüüüüü") + "\n");
    EXPECT_EQ(check_text(root.find("a")->describe(), "").what, "");
}

TEST(DocumentNode, PutMakesTheMapsOnTheWay) {
    DocumentNode root;
    put(root, "a.b.c", scalar_node("1", "why"));
    put(root, "a.d", list_node({"2", "3"}));
    put(root, "a.b.c", scalar_node("4"));
    ASSERT_TRUE(root.is_map());
    EXPECT_EQ(root.find("a")->find("b")->find("c")->text, "4");
    EXPECT_EQ(root.find("a")->find("d")->items.size(), 2u);
    EXPECT_EQ(root.find("a")->keys.size(), 2u);
}

}  // namespace
}  // namespace orrery

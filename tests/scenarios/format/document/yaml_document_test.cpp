// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/yaml_document.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace orrery {
namespace {

std::string first_error(const std::string& text) {
    const auto parsed = parse_yaml(text, "f.yaml");
    return parsed ? "no error" : parsed.error().front().to_string();
}

TEST(YamlDocument, EveryNodeKnowsItsPlace) {
    const auto root = parse_yaml("a: 1\nb:\n  c: [x, 'y']\n", "f.yaml");
    ASSERT_TRUE(root);
    EXPECT_EQ(root->find("a")->where(), "f.yaml:1:4");
    EXPECT_EQ(root->find("b")->find("c")->items[1].where(), "f.yaml:3:10");
    EXPECT_TRUE(root->find("b")->find("c")->items[1].is_string);
    EXPECT_FALSE(root->find("a")->is_string);
    EXPECT_EQ(where_of_path(*root, "b.c"), "f.yaml:3:6");
    EXPECT_EQ(where_of_path(*root, "b.missing"), "f.yaml:3:3");
}

TEST(YamlDocument, DuplicateKeysAreAllReported) {
    const auto root = parse_yaml("a: 1\nb: {x: 1, x: 2}\na: 2\n", "f.yaml");
    ASSERT_FALSE(root);
    ASSERT_EQ(root.error().size(), 2U);
    EXPECT_EQ(root.error()[0].to_string(),
              "f.yaml:2:11: error: duplicate key 'x' (hint: first given at line 2)");
    EXPECT_EQ(root.error()[1].to_string(),
              "f.yaml:3:1: error: duplicate key 'a' (hint: first given at line 1)");
}

TEST(YamlDocument, EmptyFilesAreErrors) {
    for (const char* text : {"", "\n\n", "# only a comment\n", "---\n", "~", "null"}) {
        EXPECT_EQ(first_error(text),
                  "f.yaml:1:1: error: the file is empty (hint: orrery init writes a scenario; "
                  "orrery keys explains the keys)")
            << text;
    }
}

TEST(YamlDocument, AnchorsAliasesTagsAndSecondDocumentsAreRefused) {
    EXPECT_EQ(first_error("a: &x 1\nb: *x\n"),
              "f.yaml:1:4: error: anchors and aliases are not supported (hint: write the value "
              "out)");
    EXPECT_EQ(first_error("a: !!python/object x\n"),
              "f.yaml:1:4: error: the tag 'tag:yaml.org,2002:python/object' is not supported "
              "(hint: remove it)");
    EXPECT_EQ(first_error("a: 1\n---\nb: 1\n"),
              "f.yaml:3:1: error: a second YAML document in one file (hint: remove what follows "
              "'---')");
}

TEST(YamlDocument, BrokenTextIsToldWithItsPlace) {
    EXPECT_EQ(first_error("a: [1, 2\nb: 3\n").substr(0, 7), "f.yaml:");
    for (const char* open : {"a: 'x\n", "a: \"x", "a: 'it''s", "a: \"\\\"", "µ: ['"}) {
        EXPECT_EQ(first_error(open).substr(0, 8), "f.yaml:1") << open;
    }
    EXPECT_EQ(first_error("a: 'x\n"),
              "f.yaml:1:4: error: a quote is not closed (hint: is the file complete?)");
    EXPECT_EQ(first_error("a: 'it''s'\nb: \"\\\"\"\nµ: 'x'\n"), "no error");
    for (const auto& [broken, hint] : {std::pair{"a:\n\tb: 1\n", "YAML indents with spaces"},
                                       {"a: [1, 2\n", "a '[' has no ']'"},
                                       {"a: {b: 1\n", "a '{' has no '}'"},
                                       {"a: 1\n  b: 2\n", "keys of one map begin in one column"}}) {
        EXPECT_NE(first_error(broken).find(hint), std::string::npos) << first_error(broken);
    }
    EXPECT_EQ(first_error("a: \"\\q\"\n").substr(0, 12), "f.yaml:1:7: ");
    EXPECT_EQ(first_error("{a: 1}: 2\n"), "f.yaml:1:1: error: a key must be a word, not a map");
    EXPECT_EQ(first_error(std::string{"a: \0b", 5}),
              "f.yaml:1:4: error: a NUL byte: this is a binary file (hint: a plain UTF-8 text file "
              "is due)");
    EXPECT_EQ(first_error("a: \xff\n"),
              "f.yaml:1:4: error: not UTF-8 text (hint: a plain UTF-8 text file is due)");
}

TEST(YamlDocument, DepthSizeAndKeysHaveLimits) {
    const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
    EXPECT_NE(first_error(deep).find("nested deeper than 32 levels"), std::string::npos);
    std::string block;
    for (int i = 0; i < 60; ++i) {
        block += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
    }
    EXPECT_NE(first_error(block).find("nested deeper than 32 levels"), std::string::npos);
    const std::string huge(kDocumentBytesMax + 1, 'x');
    EXPECT_EQ(first_error(huge).substr(0, 41), "f.yaml:1:1: error: larger than 1024 KiB");
    std::string wide;
    for (int i = 0; i < 2000; ++i) {
        wide += "k" + std::to_string(i) + ": 1\n";
    }
    EXPECT_NE(first_error(wide).find("more than 1000 keys"), std::string::npos);
}

TEST(YamlDocument, EveryPrefixOfAScenarioIsReadOrRefusedWithAPlace) {
    std::ifstream stream{ORRERY_SOURCE_DIR "/scenarios/megascale-175b-256.yaml"};
    const std::string text{std::istreambuf_iterator<char>{stream}, {}};
    ASSERT_GT(text.size(), 500U);
    for (std::size_t n = 0; n <= text.size(); ++n) {
        const auto parsed = parse_yaml(text.substr(0, n), "f.yaml");
        if (!parsed) {
            EXPECT_EQ(parsed.error().front().where.substr(0, 7), "f.yaml:") << n;
        }
    }
}

TEST(ReadTextFile, TellsWhyAFileCannotBeRead) {
    EXPECT_EQ(read_text_file("/nowhere/x.yaml").error().what, "there is no such file");
    EXPECT_EQ(read_text_file("/").error().what, "is a folder, not a file");
    EXPECT_EQ(read_text_file("/dev/zero").error().what, "larger than 1024 KiB");
    EXPECT_EQ(read_text_file("/dev/null").value(), "");
}

TEST(ToYaml, QuotesWhatWouldReadBackAsSomethingElse) {
    const std::string text =
        "a: \"true\"\nb: \"x: y # z\"\nc: [1, \"two\", -3.5e2]\nd:\n  e: {}\n"
        "  f: \"tab\\tquote\\\"\"\ng:\n  - h: 1\n    i: [2]\n  - h: 3\n";
    const auto document = parse_yaml(text, "s.yaml");
    ASSERT_TRUE(document);
    const std::string written = to_yaml(*document);
    const auto again = parse_yaml(written, "t.yaml");
    ASSERT_TRUE(again) << written;
    EXPECT_EQ(to_yaml(*again), written);
    EXPECT_TRUE(again->find("a")->is_string);
    EXPECT_EQ(again->find("b")->text, "x: y # z");
    EXPECT_EQ(again->find("c")->items[2].text, "-3.5e2");
    EXPECT_EQ(again->find("d")->find("f")->text, "tab\tquote\"");
    EXPECT_EQ(again->find("g")->items[1].find("h")->text, "3");
}

TEST(ToYaml, NamesThatLookLikeYamlReadBackAsTheyWere) {
    const std::vector<std::string> hostile{"a: b/config.json",
                                           "# no remark",
                                           "null",
                                           "~",
                                           "[half",
                                           "tab\tline\n",
                                           "- item",
                                           "it's \"so\"",
                                           "*star",
                                           " blank ",
                                           "a, b",
                                           "C:\\folder",
                                           ""};
    DocumentNode document;
    for (std::size_t i = 0; i < hostile.size(); ++i) {
        put(document, "names.n" + std::to_string(i), scalar_node(hostile[i], "said: so\nand so"));
    }
    put(document, "list", list_node(hostile));
    const std::string text = to_yaml(document, {"heading: one\ntwo: 2"});
    const auto again = parse_yaml(text, "t.yaml");
    ASSERT_TRUE(again) << text << again.error()[0].to_string();
    ASSERT_EQ(again->keys.size(), 2u) << text;
    for (std::size_t i = 0; i < hostile.size(); ++i) {
        EXPECT_EQ(again->find("names")->items[i].text, hostile[i]) << text;
        EXPECT_EQ(again->find("list")->items[i].text, hostile[i]) << text;
    }
}

TEST(ToYaml, OnOneLineReadsBackThroughAnOverride) {
    const auto document = parse_yaml("a: {b: [1, {c: \"x, y\"}], d: null, e: {}}\n", "s.yaml");
    ASSERT_TRUE(document);
    const std::string text = to_flow_yaml(*document);
    EXPECT_EQ(text, "{a: {b: [1, {c: \"x, y\"}], d: null, e: {}}}");
    EXPECT_EQ(to_flow_yaml(*parse_yaml(text, "t.yaml")), text);
}

}  // namespace
}  // namespace orrery

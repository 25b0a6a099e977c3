// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/diff/difference.h"

#include <gtest/gtest.h>

#include "scenarios/format/document/yaml_document.h"

namespace orrery {
namespace {

DocumentNode document(const char* text) {
    return parse_yaml(text, "test").value();
}

TEST(Difference, LeavesHavePathsAndListsOfScalarsAreOneValue) {
    using Leaves = std::vector<std::pair<std::string, std::string>>;
    EXPECT_EQ(leaves_of(document("a: {b: 1, c: [1, 2]}\nf: [{k: x}, {k: y}]\n")),
              (Leaves{{"a.b", "1"}, {"a.c", "[1, 2]"}, {"f[0].k", "x"}, {"f[1].k", "y"}}));
}

TEST(Difference, OfValuesAndOfAbsentKeys) {
    const auto found = differences(
        document("a: 2\nb: x\nc: 1\nskip: 1\n"), document("a: 3\nb: x\nd: 4\nskip: 2\n"), {"skip"});
    ASSERT_EQ(found.size(), 3u);
    EXPECT_EQ(found[0].key, "a");
    EXPECT_DOUBLE_EQ(found[0].change().value(), 0.5);
    EXPECT_EQ(found[1].key, "c");
    EXPECT_FALSE(found[1].after || found[1].change());
    EXPECT_EQ(found[2].key, "d");
    EXPECT_FALSE(found[2].before);
    EXPECT_TRUE(differences(document("a: 1\n"), document("a: 1\n")).empty());
}

TEST(Difference, QuantitiesOfOneUnitHaveAChangeAndOthersHaveNone) {
    const auto change = [](const char* before, const char* after) {
        return Difference{"k", before, after}.change();
    };
    EXPECT_DOUBLE_EQ(change("400 Gbps", "800 Gbps").value(), 1);
    EXPECT_FALSE(change("400 Gbps", "1 Tbps"));
    EXPECT_FALSE(change("0.1.0", "0.2.0"));
    EXPECT_FALSE(change("1f1b", "2f1b"));
    EXPECT_FALSE(change("0 s", "2 s"));
    EXPECT_FALSE(change("", "2"));
}

}  // namespace
}  // namespace orrery

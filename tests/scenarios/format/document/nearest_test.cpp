// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/nearest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace orrery {
namespace {

TEST(EditDistance, CountsInsertionsDeletionsSubstitutionsAndSwaps) {
    EXPECT_EQ(edit_distance("", ""), 0U);
    EXPECT_EQ(edit_distance("abc", ""), 3U);
    EXPECT_EQ(edit_distance("nodes", "node"), 1U);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
    EXPECT_EQ(edit_distance("bandwidht", "bandwidth"), 1U);
}

TEST(EditDistance, IsSymmetricZeroOnlyForEqualsAndBoundedByTheLongerWord) {
    std::mt19937 random{7};
    const auto word = [&] {
        std::string text;
        for (std::size_t i = random() % 9; i > 0; --i) {
            text += static_cast<char>('a' + random() % 3);
        }
        return text;
    };
    for (int i = 0; i < 2000; ++i) {
        const std::string a = word();
        const std::string b = word();
        const std::size_t distance = edit_distance(a, b);
        EXPECT_EQ(distance, edit_distance(b, a)) << a << " " << b;
        EXPECT_EQ(distance == 0, a == b) << a << " " << b;
        EXPECT_LE(distance, std::max(a.size(), b.size())) << a << " " << b;
    }
}

TEST(NearestNames, ComeNearestFirstAndLeaveOutWhatIsFar) {
    const std::vector<std::string> known = {"dgx-a100-40g", "dgx-a100-80g", "dgx-h100", "laptop"};
    EXPECT_EQ(nearest_names("dgx-a100-80", known, 2),
              (std::vector<std::string>{"dgx-a100-80g", "dgx-a100-40g"}));
    EXPECT_TRUE(nearest_names("zzzzzzzz", known, 3).empty());
    EXPECT_EQ(nearest_names("h100", known, 1), std::vector<std::string>{"dgx-h100"});
}

TEST(NearestNames, ThatBeginWithWhatWasWrittenComeFirstAndOnce) {
    const std::vector<std::string> known = {
        "h200", "h800", "b200", "h100-96g-hbm2e", "h100-80g", "dgx-h100", "h100-80g"};
    EXPECT_EQ(nearest_names("h100", known, 2),
              (std::vector<std::string>{"h100-80g", "h100-96g-hbm2e"}));
    EXPECT_EQ(nearest_names("H100-8", known, 3).front(), "h100-80g");
    EXPECT_EQ(nearest_hint("llama-3-405", {"llama-3-405b", "llama-3-405b", "gpt2"}),
              "did you mean 'llama-3-405b'?");
}

TEST(NearestHint, ListsEverythingWhenNothingIsNear) {
    EXPECT_EQ(nearest_hint("zzzz", {"fluid", "analytic"}), "one of fluid, analytic");
    EXPECT_EQ(nearest_hint("fluit", {"fluid", "analytic"}), "did you mean 'fluid'?");
    std::vector<std::string> many;
    for (int i = 100; i < 200; ++i) {
        many.push_back(std::to_string(i));
    }
    EXPECT_EQ(nearest_hint("zzzz", many),
              "one of 100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, … (100 in all)");
}

}  // namespace
}  // namespace orrery

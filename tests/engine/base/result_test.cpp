// SPDX-License-Identifier: Apache-2.0
#include "engine/base/result.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Error, SaysWhereWhatAndWhatToDo) {
    const Error error{"a.yaml:12:5", "tensor_model_parallel_size 3 does not divide 32", "1, 2, 4"};
    EXPECT_EQ(error.to_string(),
              "a.yaml:12:5: error: tensor_model_parallel_size 3 does not divide 32 "
              "(hint: 1, 2, 4)");
}

TEST(Error, LeavesOutThePartsThatItLacks) {
    EXPECT_EQ((Error{"a.yaml", "is empty", ""}.to_string()), "a.yaml: error: is empty");
    EXPECT_EQ((Error{"", "out of memory", "a smaller scenario"}.to_string()),
              "error: out of memory (hint: a smaller scenario)");
    EXPECT_EQ((Error{"", "out of memory", ""}.to_string()), "error: out of memory");
}

Result<int> half(int number) {
    if (number % 2 != 0) {
        return fail("number", "is odd", "an even one");
    }
    return number / 2;
}

TEST(Result, HoldsAValueOrAnError) {
    ASSERT_TRUE(half(6).has_value());
    EXPECT_EQ(*half(6), 3);
    ASSERT_FALSE(half(3).has_value());
    EXPECT_EQ(half(3).error(), (Error{"number", "is odd", "an even one"}));
}

TEST(Result, AnErrorPassesThroughWhatIsBuiltOnIt) {
    const auto quarter = [](int number) { return half(number).and_then(half); };
    EXPECT_EQ(*quarter(12), 3);
    EXPECT_EQ(quarter(6).error().what, "is odd");
}

}  // namespace
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/kernel_comparison.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace orrery {
namespace {

TEST(KernelComparison, ReadsTheLastNumberOfAText) {
    EXPECT_EQ(last_comparison(""), std::nullopt);
    EXPECT_EQ(last_comparison("something else 7/9"), std::nullopt);
    EXPECT_EQ(last_comparison("  comparison   1/20 gemm  1e-3  ok\n  comparison  12/20 ge"), 12u);
    EXPECT_EQ(last_comparison("  comparison   1"), std::nullopt);  // more may come
}

// Where the kernel of the device is the CPU's, nothing differs; the tail alone is compared.
TEST(KernelComparison, NumbersEachComparisonFromTheFirstThatIsAskedFor) {
    const std::size_t all = kernels_to_compare().size();
    ASSERT_GT(all, 40u);
    std::string text;
    const Result<int> wrong = compare_kernels_from(
        all - 2, DeviceChoice::cpu, [&](const std::string& part) { text += part; });
    ASSERT_TRUE(wrong) << wrong.error().to_string();
    EXPECT_EQ(*wrong, 0);
    EXPECT_EQ(std::ranges::count(text, '\n'), 2);
    EXPECT_EQ(last_comparison(text), all);
    EXPECT_NE(text.find("0.00e+00  ok"), std::string::npos) << text;
}

}  // namespace
}  // namespace orrery

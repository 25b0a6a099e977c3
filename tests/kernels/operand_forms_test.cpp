// SPDX-License-Identifier: Apache-2.0
#include "kernels/operand_forms.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

OperandForms some_forms() {
    OperandForms forms{{.dtype = Dtype::bf16}};
    forms.read({4, 1, 8});
    forms.ids({4, 1, 1}, 100);
    forms.statistics(Access::write, 4, 2);
    forms.add(Access::accumulate, Dtype::fp32, {3, 5});
    return forms;
}

TEST(OperandForms, HaveTypesAndSizes) {
    const OperandForms forms = some_forms();
    ASSERT_EQ(forms.all().size(), 5u);
    EXPECT_EQ(forms.all()[0].dtype, Dtype::bf16);
    EXPECT_EQ(forms.all()[1].dtype, Dtype::int32);
    EXPECT_EQ(forms.all()[1].ids, 100);
    EXPECT_EQ(forms.all()[2].values, OperandValues::positive);
    const ExpectedSizes sizes = sizes_of(forms);
    EXPECT_EQ(sizes.reads, (std::vector<std::int64_t>{32, 4}));
    EXPECT_EQ(sizes.writes, (std::vector<std::int64_t>{4, 4}));
    EXPECT_EQ(sizes.accumulates, (std::vector<std::int64_t>{15}));
}

TEST(OperandForms, AreComparedByNumberAndSize) {
    const ExpectedSizes expected = sizes_of(some_forms());
    const OperandSizes right{.reads = {32, 4}, .writes = {4, 4}, .accumulates = {15}};
    EXPECT_EQ(compare(right, expected), "");
    OperandSizes wrong = right;
    wrong.reads.pop_back();
    EXPECT_EQ(compare(wrong, expected), "reads 1 operands, not 2");
    wrong = right;
    wrong.accumulates[0] = 14;
    EXPECT_EQ(compare(wrong, expected), "accumulates operand 0 has 14 elements, not 15");
    ExpectedSizes optional = expected;
    optional.optional_writes = {7};
    EXPECT_EQ(compare(right, optional), "");
    wrong = right;
    wrong.writes.push_back(7);
    EXPECT_EQ(compare(wrong, optional), "");
    EXPECT_NE(compare(wrong, expected), "");
}

}  // namespace
}  // namespace orrery

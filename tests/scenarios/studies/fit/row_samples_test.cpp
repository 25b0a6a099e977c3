// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/row_samples.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(RowSamples, KeepTheOrderOfTheRowsAndNameTheRowOfAnError) {
    std::vector<PublishedCase> rows;
    for (const char* name : {"long", "none", "ab", "c"}) {
        rows.emplace_back().name = name;
    }
    const auto sample = [](const PublishedCase& row) -> Result<std::optional<std::size_t>> {
        return row.name == "none" ? std::nullopt : std::optional{row.name.size()};
    };
    EXPECT_EQ(samples_of_rows<std::size_t>(rows, 2, sample).value(),
              (std::vector<std::size_t>{4, 2, 1}));
    const auto failed =
        samples_of_rows<int>(rows, 2, [](const PublishedCase& row) -> Result<std::optional<int>> {
            if (row.name == "ab") {
                return fail("memory", "does not fit", "take more GPUs");
            }
            return std::nullopt;
        });
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().where, "ab: memory");
}

}  // namespace
}  // namespace orrery

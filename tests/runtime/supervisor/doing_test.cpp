// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/doing.h"

#include <gtest/gtest.h>

#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

TEST(Doing, NamesTheOpThatRanLast) {
    TinyRun run{tiny_gpt(), tiny_plan()};
    EXPECT_EQ(doing(run.executor()), "");
    ASSERT_TRUE(run.executor().run_step());
    const std::string words = doing(run.executor());
    EXPECT_NE(words.find("optimizer"), std::string::npos) << words;
}

}  // namespace
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/megatron_flags.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(MegatronFlags, AreCopiedRefusedOrWithoutEffect) {
    ASSERT_NE(copied_flag("--num-layers"), nullptr);
    EXPECT_EQ(copied_flag("--num-layers")->key, "model.num_layers");
    ASSERT_NE(copied_flag("--lr"), nullptr);
    EXPECT_EQ(copied_flag("--lr")->key, "job.learning_rate");
    EXPECT_EQ(copied_flag("--lr-decay-style"), nullptr);
    EXPECT_TRUE(has_no_effect("--lr-decay-style"));
    EXPECT_FALSE(has_no_effect("--num-layers"));
    EXPECT_FALSE(has_no_effect("--invented"));
    ASSERT_NE(copied_flag("--num-experts"), nullptr);
    EXPECT_EQ(copied_flag("--num-experts")->key, "model.num_experts");
    EXPECT_TRUE(refused_flag("--num-layers").empty());
}

}  // namespace
}  // namespace orrery

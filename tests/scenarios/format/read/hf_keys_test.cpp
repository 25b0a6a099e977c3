// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/hf_keys.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(HfKeys, TellWhatIsLostAtWhichValue) {
    const auto effect = [](const char* key, const char* value) {
        return left_out_hf_key(key, scalar_node(value)).effect;
    };
    EXPECT_EQ(effect("rope_theta", "10000"), HfKeyEffect::none);
    EXPECT_EQ(effect("attention_bias", "false"), HfKeyEffect::none);
    EXPECT_EQ(effect("attention_bias", "true"), HfKeyEffect::answer);
    EXPECT_EQ(effect("attention_dropout", "0.0"), HfKeyEffect::none);
    EXPECT_EQ(effect("partial_rotary_factor", "1.0"), HfKeyEffect::none);
    EXPECT_EQ(effect("partial_rotary_factor", "0.5"), HfKeyEffect::answer);
    EXPECT_EQ(effect("num_nextn_predict_layers", "1"), HfKeyEffect::answer);
    EXPECT_EQ(effect("invented", "1"), HfKeyEffect::unknown);
    EXPECT_EQ(left_out_hf_key("invented", {}).effect, HfKeyEffect::none);  // null
    EXPECT_FALSE(left_out_hf_key("attention_bias", scalar_node("true")).why.empty());
}

}  // namespace
}  // namespace orrery

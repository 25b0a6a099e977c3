// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_model.h"

#include <gtest/gtest.h>

#include "tests/models/known_models.h"

namespace orrery {
namespace validate_model_test {

TEST(ValidateModel, SizesOutOfRangeAreNamed) {
    EXPECT_TRUE(check_model_sizes(llama3_8b()).empty());
    Transformer model = llama3_8b();
    model.kv_channels = 0;
    model.full_attention_every = -1;
    const Errors errors = check_model_sizes(model);
    ASSERT_EQ(errors.size(), 2u);
    EXPECT_EQ(errors[0].where, "model.kv_channels");
    EXPECT_EQ(errors[1].where, "model.full_attention_every");
    EXPECT_EQ(errors[1].what, "-1 is out of range");
}

TEST(ValidateModel, KeysThatContradictEachOtherAreNamed) {
    EXPECT_TRUE(check_model_shape(llama3_8b()).empty());
    Transformer model = llama3_8b();
    model.add_qkv_bias = true;
    EXPECT_TRUE(check_model_shape(model).empty());
    model.multi_latent_attention = true;
    ASSERT_EQ(check_model_shape(model).size(), 1u);
    EXPECT_EQ(check_model_shape(model)[0].where, "model.add_qkv_bias");
    model = llama3_8b();
    model.full_attention_every = 2;
    ASSERT_EQ(check_model_shape(model).size(), 1u);
    EXPECT_EQ(check_model_shape(model)[0].where, "model.full_attention_every");
    model = llama3_8b();
    model.sandwich_norm = true;
    EXPECT_TRUE(check_model_shape(model).empty());
    model.parallel_block = true;
    model.add_bias_linear = true;
    ASSERT_EQ(check_model_shape(model).size(), 2u);
    EXPECT_EQ(check_model_shape(model)[0].where, "model.sandwich_norm");
    EXPECT_EQ(check_model_shape(model)[1].where, "model.sandwich_norm");
}

// Five of six layers of Gemma 3 have a window.
TEST(ValidateModel, AWindowMayLeaveEverySixthLayerOut) {
    Transformer model = llama3_8b();
    model.sliding_window = 512;
    model.full_attention_every = 6;
    EXPECT_TRUE(check_model_shape(model).empty());
    std::int64_t windows = 0;
    for (std::int64_t layer = 0; layer < 26; ++layer) {
        windows += model.layer_has_window(layer) ? 1 : 0;
    }
    EXPECT_EQ(windows, 22);
    model.seq_length = 512;  // no longer than the window
    EXPECT_FALSE(model.layer_has_window(0));
    EXPECT_TRUE(model.layer_takes_window(0));
}

}  // namespace validate_model_test
}  // namespace orrery

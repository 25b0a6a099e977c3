// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/model_description.h"

#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

TEST(ModelDescription, SaysEverythingButTheName) {
    for (Transformer model : {tiny_gpt(), tiny_llama()}) {
        model.dropout = 0.1;
        model.sliding_window = 4;
        model.sliding_window_every = 2;
        model.parallel_block = true;
        Transformer read = *model_of_description(describe_model(model));
        EXPECT_TRUE(read.name.empty());
        read.name = model.name;
        EXPECT_EQ(read, model);
    }
}

TEST(ModelDescription, MissingAndWrongValuesAreErrors) {
    for (const auto& [key, value] : describe_model(tiny_llama())) {
        ModelDescription lacking = describe_model(tiny_llama());
        lacking.erase(key);
        ASSERT_FALSE(model_of_description(lacking)) << key;
        EXPECT_NE(model_of_description(lacking).error().what.find(key), std::string::npos);
        for (const char* wrong : {"", "x", "-1", "7 ", "99999999999999999999"}) {
            lacking[key] = wrong;
            EXPECT_FALSE(model_of_description(lacking)) << key << " " << wrong;
        }
    }
}

TEST(ModelDescription, DifferencesNameBothValues) {
    ModelDescription there = describe_model(tiny_llama());
    there.erase("vocab_size");
    EXPECT_TRUE(differences(describe_model(tiny_gpt()), describe_model(tiny_gpt())).empty());
    const auto all = differences(there, describe_model(tiny_gpt()));
    EXPECT_EQ(all.size(), 7U);
    EXPECT_EQ(all.front(), "activation is swiglu there and gelu here");
    EXPECT_EQ(all.back(), "vocab_size is unknown there and 32 here");
}

}  // namespace
}  // namespace orrery

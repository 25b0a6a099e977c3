// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/likely_stack.h"

#include <gtest/gtest.h>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/read/read_stack.h"

namespace orrery {
namespace {

std::string guess(const std::string& name, std::int64_t tensor, const std::string& features = {}) {
    PublishedCase row;
    row.stack = name;
    row.features = features;
    row.plan.tensor_model_parallel_size = tensor;
    return likely_stack(row);
}

TEST(LikelyStack, IsWhatTheNameSays) {
    EXPECT_EQ(guess("My-Megatron-fork", 1), "megatron-lm");
    EXPECT_EQ(guess("jax-lab-2026", 1), "maxtext");
    EXPECT_EQ(guess("accelerate-1.2", 1), "hugging-face-deepspeed");
    EXPECT_EQ(guess("lab-fsdp", 8), "torchtitan");
    EXPECT_EQ(guess("gpt-neox-2.0", 1), "megatron-deepspeed");
    EXPECT_EQ(guess("t5x-2022", 8), "paxml");
}

TEST(LikelyStack, IsElseWhatThePlanNeeds) {
    EXPECT_EQ(guess("unheard-of", 8), "megatron-lm");
    EXPECT_EQ(guess("unheard-of", 1), "torchtitan");
    EXPECT_EQ(guess("unheard-of", 1, "xla"), "maxtext");
    EXPECT_EQ(guess("deepspeed-zero", 1), "hugging-face-deepspeed");
    EXPECT_EQ(guess("deepspeed-zero", 4), "megatron-deepspeed");
}

TEST(LikelyStack, IsAlwaysInTheCatalogue) {
    const Catalogue catalogue{default_catalogue()};
    for (const char* name : {"jax",
                             "pax",
                             "nemo",
                             "megatron",
                             "composer",
                             "thunder",
                             "trl",
                             "tune",
                             "torch",
                             "deepspeed-zero",
                             "neox",
                             "t5x",
                             "unheard-of"}) {
        for (const std::int64_t tensor : {1, 8}) {
            const std::string stack = guess(name, tensor);
            EXPECT_EQ(stack_entry(stack, catalogue), stack) << name;
        }
    }
}

}  // namespace
}  // namespace orrery

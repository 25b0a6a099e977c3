// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/software.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace orrery {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

TEST(Software, IsAStackWithoutItsVersion) {
    for (const auto& [stack, software] : Pairs{{"nemo-24.05", "nemo"},
                                               {"NeMo24.07", "nemo"},
                                               {"nemo", "nemo"},
                                               {"Megatron-LM", "megatron-lm"},
                                               {"megatron-lm-285068c8", "megatron-lm"},
                                               {"megatron-core-r0.8", "megatron-core"},
                                               {"megatron-lm-v2", "megatron-lm"},
                                               {"llm.c-2024", "llm.c"},
                                               {"mlm-readme", "mlm-readme"},
                                               {"", ""}}) {
        EXPECT_EQ(software_of(stack), software);
    }
}

TEST(Lineage, IsTheSoftwareThatAStackIsBuiltOn) {
    for (const auto& [stack, lineage] : Pairs{{"nemo-24.05", "megatron-lm"},
                                              {"megatron-lm", "megatron-lm"},
                                              {"megatron-deepspeed-2022", "megatron-lm"},
                                              {"megascale", "megatron-lm"},
                                              {"mb25.09", "megatron-lm"},
                                              {"torchtitan-torchao-2025-01", "torchtitan"},
                                              {"torchtitan-2024-12", "torchtitan"},
                                              {"deepspeed-zero3", "deepspeed"},
                                              {"deepspeed-2023", "deepspeed"},
                                              {"megatronics", "megatronics"},
                                              {"", ""}}) {
        EXPECT_EQ(lineage_of(stack), lineage) << stack;
    }
}

}  // namespace
}  // namespace orrery

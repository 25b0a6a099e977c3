// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/key_synonyms.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "scenarios/format/read/reader.h"

namespace orrery {
namespace {

TEST(KeySynonyms, KnowFlagsOfMegatronAndAbbreviations) {
    EXPECT_EQ(key_called("tp"), "plan.tensor_model_parallel_size");
    EXPECT_EQ(key_called("hidden-dropout"), "model.dropout");
    EXPECT_EQ(key_called("lr"), "job.learning_rate");
    EXPECT_EQ(key_called("use_distributed_optimizer"),
              "plan.data_parallel_sharding_strategy: optim");
    EXPECT_EQ(key_called("invented"), "");
    EXPECT_EQ(key_called(std::string(1'000'000, 'x')), "");
}

// What a user of another program writes first, and the key that the hint has to name.
TEST(KeySynonyms, StandInTheHintsOfUnknownKeys) {
    constexpr std::pair<const char*, const char*> kHints[] = {
        {"plan.flash_attention=true", "plan.attention_kernel: flash_2"},
        {"plan.use_distributed_optimizer=true", "plan.data_parallel_sharding_strategy: optim"},
        {"plan.zero=1", "data_parallel_sharding_strategy: optim (ZeRO 1)"},
        {"plan.fsdp=true", "optim_grads_params"},
        {"plan.expert_parallel=2", "expert_model_parallel_size"},
        {"plan.ep=2", "expert_model_parallel_size"},
        {"plan.vpp=2", "did you mean 'virtual_pipeline_model_parallel_size'?"},
        {"plan.dropout=0.1", "'dropout' belongs to model:"},
        {"model.hidden_dropout=0.1", "did you mean 'dropout'?"},
        {"search={tp: [2]}", "did you mean 'tensor_model_parallel_size'?"},
        {"faults=[{kind: gpu_lost, mtbf: 50000 h}]", "add process: exponential"},
        {"plan.micro_batch_sice=1", "did you mean 'micro_batch_size'"},
    };
    for (const auto& [change, hint] : kHints) {
        const auto scenario = read_scenario_text(
            "cluster: {nodes: 1, node: laptop-2gpu}\nmodel: gpt-2-124m\n"
            "plan: {micro_batch_size: 1, global_batch_size: 2}\n",
            "s.yaml",
            {},
            {.overrides = {change}});
        ASSERT_FALSE(scenario) << change;
        std::string all;
        for (const Error& error : scenario.error()) {
            all += error.to_string() + "\n";
        }
        EXPECT_NE(all.find(hint), std::string::npos) << change << '\n' << all;
    }
}

}  // namespace
}  // namespace orrery

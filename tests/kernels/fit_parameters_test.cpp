// SPDX-License-Identifier: Apache-2.0
#include "kernels/fit_parameters.h"

#include <gtest/gtest.h>

namespace orrery {
namespace {

EfficiencyTable priors_and_rules() {
    EfficiencyTable table = fixed_parameters();
    for (const char* family : {"memory", "gemm", "attention"}) {
        for (const FitParameter& parameter : fit_parameters(family)) {
            table.set(parameter.name,
                      parameter.generation,
                      parameter.dtype,
                      {parameter.prior, parameter.prior_sigma, parameter.prior_source});
        }
    }
    apply_generation_rules(table);
    return table;
}

TEST(GenerationRules, LeaveNoGpuGenerationWithoutAParameter) {
    const EfficiencyTable table = priors_and_rules();
    for (const char* generation : {"volta", "ampere", "hopper", "blackwell"}) {
        for (const char* name : {"gemm.asymptote",
                                 "gemm.k_prologue",
                                 "gemm.tile_penalty",
                                 "gemm.wave_sharpness",
                                 "gemm.latency_us",
                                 "memory.fraction",
                                 "memory.latency_us"}) {
            EXPECT_NE(table.find(name, generation, "fp16"), nullptr) << name << generation;
        }
        for (const char* kernel : {"flash_1", "flash_2", "flash_3"}) {
            for (const char* part : {".d64",
                                     ".d128",
                                     ".d256",
                                     ".prologue_tokens",
                                     ".causal_tokens",
                                     ".backward_ratio",
                                     ".residual"}) {
                const std::string name = std::string("attention.") + kernel + part;
                EXPECT_NE(table.find(name, generation, "fp16"), nullptr) << name << generation;
            }
        }
    }
}

TEST(GenerationRules, AreLessSureThanWhatTheyFollow) {
    const EfficiencyTable table = priors_and_rules();
    for (const auto& [key, parameter] : table.rows()) {
        const auto& [name, generation, dtype] = key;
        if (parameter.source != "rule: as ampere" && parameter.source != "rule: as hopper") {
            continue;
        }
        const std::string from = parameter.source.substr(9);
        EXPECT_GT(parameter.sigma, table.find(name, from, dtype)->sigma) << name;
        EXPECT_EQ(parameter.value, table.find(name, from, dtype)->value) << name;
    }
}

TEST(GenerationRules, KeepFp8FromGenerationsWithoutIt) {
    const EfficiencyTable table = priors_and_rules();
    for (const auto& [key, parameter] : table.rows()) {
        if (std::get<2>(key) == "fp8") {
            EXPECT_NE(std::get<1>(key), "ampere");
            EXPECT_NE(std::get<1>(key), "volta");
        }
    }
}

TEST(GenerationRules, ResidualsReachTheNextGenerationLarger) {
    EfficiencyTable table = priors_and_rules();
    set_residual(table, "attention.residual", "hopper", 0.08);
    for (const char* kernel : {"flash_1", "flash_2", "flash_3"}) {
        const std::string name = std::string("attention.") + kernel + ".residual";
        EXPECT_EQ(table.find(name, "hopper", "*")->value, 0.08);
        EXPECT_GT(table.find(name, "blackwell", "*")->value, 0.1);
    }
}

}  // namespace
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_stack.h"

#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

TEST(ReadStack, AStackIsFoundWithOrWithoutItsVersion) {
    const auto entry = [](std::string_view stack) {
        return stack_entry(stack, shipped_catalogue());
    };
    EXPECT_EQ(entry("torchtitan"), "torchtitan");
    EXPECT_EQ(entry("torchtitan-2024-12"), "torchtitan-2024");
    EXPECT_EQ(entry("torchtitan-2025-06"), "torchtitan");
    EXPECT_EQ(entry("torchtitan-torchao-0.10"), "torchtitan");
    EXPECT_EQ(entry("torchtitan-torchao-2025-01"), "torchtitan-torchao-2025-01");
    EXPECT_EQ(entry("NeMo24.07"), "nemo24.07");
    EXPECT_EQ(entry("NeMo25.07"), "nemo");
    EXPECT_EQ(entry("nemo-megatron-2022-09"), "nemo-megatron");
    EXPECT_EQ(entry("megatron-lm-v2"), "megatron-lm-v2");
    EXPECT_EQ(entry("megatron-core-r0.8"), "megatron-core");
    EXPECT_EQ(entry("nemo-automodel-fsdp2"), "nemo-automodel");
    EXPECT_EQ(entry("mb26.04.01"), "mb");
    EXPECT_EQ(entry("llm.c-2024"), "llm.c");
    EXPECT_EQ(entry("abacus-7"), "");
}

// Every key of every stack is one of the plan, on every generation of devices.
TEST(ReadStack, EveryShippedStackReads) {
    const auto names = shipped_catalogue().names("stacks");
    EXPECT_GE(names.size(), 20u);
    for (const std::string& name : names) {
        for (const char* generation : {"volta", "ampere", "ada", "hopper", "blackwell"}) {
            for (const char* precision : {"bf16", "fp16", "fp8"}) {
                Errors errors;
                ParallelPlan plan;
                const DocumentNode map = stack_defaults(
                    scalar_node(name), shipped_catalogue(), generation, precision, errors);
                read_given(map, plan, errors);
                EXPECT_EQ(lines_of(errors), "") << name;
            }
        }
    }
}

TEST(ReadStack, ValuesDependOnDevicesAndPrecision) {
    const auto value = [](const char* generation, const char* precision, const char* key) {
        Errors errors;
        const DocumentNode map = stack_defaults(
            scalar_node("megatron-lm"), shipped_catalogue(), generation, precision, errors);
        EXPECT_EQ(lines_of(errors), "");
        return map.find(key)->text;
    };
    EXPECT_EQ(value("ampere", "bf16", "attention_kernel"), "flash_2");
    EXPECT_EQ(value("hopper", "bf16", "attention_kernel"), "cudnn");
    EXPECT_EQ(value("hopper", "fp16", "gradient_dtype"), "fp16");
    EXPECT_EQ(value("hopper", "fp8", "gradient_dtype"), "fp32");
}

TEST(ReadStack, KeysOfThePlanComeBeforeTheStacks) {
    Errors errors;
    DocumentNode plan = section_of("fused_activation: true\n");
    add_stack_defaults(plan, scalar_node("torchtitan"), shipped_catalogue(), "hopper", errors);
    EXPECT_EQ(lines_of(errors), "");
    EXPECT_EQ(plan.find("fused_activation")->text, "true");
    EXPECT_EQ(plan.find("fsdp_copy_out")->text, "true");
    add_stack_defaults(
        plan, scalar_node("torchtitam", "", "s.yaml:1:8"), shipped_catalogue(), "hopper", errors);
    ASSERT_EQ(errors.size(), 1u);
    EXPECT_EQ(errors[0].what, "the catalogue has no stack 'torchtitam'");
    EXPECT_NE(errors[0].hint.find("torchtitan"), std::string::npos);
}

// A scenario says `stack`, and its plan has the stack's facts.
TEST(ReadStack, AScenarioNamesItsStack) {
    ReadOptions options;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    const auto plan_under = [&](std::vector<std::string> overrides) {
        options.overrides = std::move(overrides);
        const auto scenario =
            read_scenario(ORRERY_SOURCE_DIR "/scenarios/llama3-8b-h100.yaml", options);
        EXPECT_TRUE(scenario) << (scenario ? "" : lines_of(scenario.error()));
        return scenario ? *scenario : Scenario{};
    };
    EXPECT_FALSE(plan_under({"stack=torchtitan-2024"}).plan.compiled_loss);  // its pull request 755
    const Scenario titan = plan_under({"stack=torchtitan"});
    EXPECT_TRUE(titan.plan.compiled_loss);
    EXPECT_EQ(titan.software, "megatron-core");  // as the file says
    EXPECT_TRUE(titan.plan.fsdp_copy_out);
    EXPECT_FALSE(titan.plan.gradient_accumulation_fusion);
    // Built on the same fully_shard, with Transformer Engine's modules and bf16 weights.
    const Scenario automodel = plan_under({"stack=nemo-automodel"});
    EXPECT_TRUE(automodel.plan.fsdp_copy_out);
    EXPECT_TRUE(automodel.plan.checkpoint_early_stop);
    EXPECT_FALSE(automodel.plan.eager_norm);
    EXPECT_FALSE(automodel.plan.fused_optimizer);
    EXPECT_EQ(automodel.plan.main_params_dtype, Dtype::bf16);
    EXPECT_EQ(automodel.plan.moments_dtype, Dtype::bf16);
    const Scenario own = plan_under({"stack=torchtitan", "plan.fsdp_copy_out=false"});
    EXPECT_FALSE(own.plan.fsdp_copy_out);
}

// The runtime is no other program: what a stack states of one is a single error.
TEST(ReadStack, AnotherStacksFactsAreOneErrorOfATraining) {
    ReadOptions options;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    options.for_training = true;
    const auto errors_under = [&](std::vector<std::string> overrides) {
        options.overrides = std::move(overrides);
        const auto scenario =
            read_scenario(ORRERY_SOURCE_DIR "/scenarios/train-tiny-cpu.yaml", options);
        return scenario ? Errors{} : scenario.error();
    };
    const Errors both = errors_under({"stack=torchtitan", "plan.loss_metrics=1"});
    ASSERT_EQ(both.size(), 2u) << lines_of(both);
    const bool stack_first = both[0].what.starts_with("stack 'torchtitan'");
    const Error& stack = both[stack_first ? 0 : 1];
    const Error& own = both[stack_first ? 1 : 0];
    EXPECT_EQ(stack.where, "--set stack");
    EXPECT_NE(stack.what.find("plan.eager_norm"), std::string::npos) << stack.what;
    EXPECT_NE(stack.what.find("plan.gradient_bucket_copies"), std::string::npos) << stack.what;
    EXPECT_TRUE(stack.hint.starts_with("stack: orrery")) << stack.hint;
    EXPECT_EQ(own.where, "--set plan.loss_metrics");
    EXPECT_EQ(lines_of(errors_under({"stack=orrery"})), "");
}

}  // namespace
}  // namespace orrery

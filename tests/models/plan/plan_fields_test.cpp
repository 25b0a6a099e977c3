// SPDX-License-Identifier: Apache-2.0
#include "models/plan/plan_fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace orrery {
namespace {

struct Three {
    int a = 0;
    std::string b;
    std::vector<double> c{};
};
static_assert(has_fields<Three, 3>() && !has_fields<Three, 2>() && !has_fields<Three, 4>());
static_assert(has_fields<std::pair<int, int>, 2>());

TEST(PlanFields, AResetLeavesWhatThePartDependsOn) {
    ParallelPlan plan;
    plan.tensor_model_parallel_size = 8;
    plan.ddp_bucket_size = 1000;
    plan.global_batch_size = 64;
    plan.pipeline_layout = {1, 2};
    ParallelPlan chunk = plan;
    chunk.global_batch_size = 1;
    chunk.pipeline_layout.clear();
    ParallelPlan pass = chunk;
    pass.ddp_bucket_size = 0;
    EXPECT_EQ(within(plan, PlanScope::step), plan);
    EXPECT_EQ(within(plan, PlanScope::chunk), chunk);
    EXPECT_EQ(within(plan, PlanScope::pass), pass);
}

static_assert(plan_field<&ParallelPlan::schedule>.name == "schedule");
static_assert(plan_field<&ParallelPlan::compiled>.member == &ParallelPlan::compiled);

TEST(PlanFields, DefaultsAreAmongTheirValues) {
    const ParallelPlan plan;
    for_each_plan_field([&](const auto& field) {
        const auto& value = plan.*field.member;
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::int64_t>) {
            EXPECT_GE(value, field.values.least) << field.name;
            EXPECT_LE(value, field.values.most) << field.name;
        } else if constexpr (std::is_same_v<T, std::uint32_t>) {
            std::uint32_t known = 0;  // a list of words, or none
            for (const auto& choice : field.values) {
                known |= choice.value;
            }
            EXPECT_EQ(value & ~known, 0u) << field.name;
        } else if constexpr (std::is_enum_v<T>) {
            EXPECT_FALSE(word_of(value, field.values).empty()) << field.name;
        }
    });
}

TEST(PlanFields, PlansThatDifferInOneFieldAreDifferentKeys) {
    const ParallelPlan base;
    for_each_plan_field([&](const auto& field) {
        ParallelPlan plan = base;
        if constexpr (std::is_same_v<decltype(field.member),
                                     std::vector<std::int64_t> ParallelPlan::*>) {
            (plan.*field.member).push_back(1);
        } else {
            auto& value = plan.*field.member;
            value =
                static_cast<std::remove_reference_t<decltype(value)>>(!static_cast<bool>(value));
        }
        EXPECT_TRUE(plan < base || base < plan) << field.name;
    });
}

}  // namespace
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/read_field.h"

#include <gtest/gtest.h>

#include "models/plan/plan_fields.h"
#include "tests/models/changed_plans.h"
#include "tests/scenarios/sections.h"

namespace orrery {
namespace {

using Plan = ParallelPlan;

// Another value of each field, written and read back.
TEST(ReadField, ReadsWhatFieldTextWrites) {
    const ParallelPlan defaults;
    int values = 0;
    for_each_plan_field([&](const auto& field) {
        using T = std::remove_cvref_t<decltype(defaults.*field.member)>;
        for (const T& value : testing::other_values(defaults.*field.member)) {
            ParallelPlan plan;
            plan.*field.member = value;
            const std::string text = field_text(field, value);
            if (!testing::exists(plan) || text.empty() || text == "0") {
                continue;  // no value of an enumeration, or below its range
            }
            if constexpr (std::is_same_v<T, std::int64_t>) {
                if (value > field.values.most) {
                    continue;
                }
            }
            Errors errors;
            const DocumentNode section = section_of(std::string{field.name} + ": " + text);
            MapReader reader{section, "plan", errors};
            ParallelPlan back;
            EXPECT_TRUE(read_field(reader, field, back.*field.member)) << field.name << text;
            EXPECT_EQ(back, plan) << field.name << ' ' << text << lines_of(errors);
            ++values;
        }
    });
    EXPECT_GT(values, 100);
}

TEST(ReadField, SaysWhatAFieldMayBe) {
    EXPECT_EQ(values_text(plan_field<&Plan::micro_batch_size>), "1 to 100000000 sequences");
    EXPECT_EQ(values_text(plan_field<&Plan::overlap_p2p>), "true, false");
    EXPECT_EQ(values_text(plan_field<&Plan::pipeline_layout>), "a list of 0 to 100000 layers");
    // Megatron-LM's spellings are read, too, but not listed.
    EXPECT_EQ(values_text(plan_field<&Plan::rank_order>), "tp-cp-dp-pp, tp-cp-pp-dp");
    EXPECT_EQ(values_text(plan_field<&Plan::recompute_modules>),
              "a list of core_attn, layernorm, activation, mlp, every_second_product, moe_act, "
              "mla_up_proj, moe, every_second_projection, linear, mlp_first_product");
}

TEST(ReadField, NumbersHaveTheirShortestText) {
    EXPECT_EQ(number_text(0.1), "0.1");
    EXPECT_EQ(number_text(3), "3");
}

}  // namespace
}  // namespace orrery

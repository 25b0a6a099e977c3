// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/reproduce/variant.h"

#include <gtest/gtest.h>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/read/read_reproduction.h"
#include "scenarios/studies/reproduce/metrics.h"
#include "scenarios/studies/reproduce/reproduce.h"
#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path{ORRERY_SOURCE_DIR} / "scenarios/reproductions";

PublishedTables tables() {
    return PublishedTables{std::filesystem::path{ORRERY_SOURCE_DIR} / "scenarios/catalogue"};
}

ReproducedVariant of_case(const std::string& name, Settings set = {}) {
    return {.name = "a", .published_case = name, .set = std::move(set), .where = "room.yaml:7:3"};
}

TEST(Variant, IsAFileWithChangedKeys) {
    PublishedTables all = tables();
    const ReproducedVariant variant{
        .name = "a", .scenario = "../laptop-2gpu.yaml", .set = {{"plan.micro_batch_size", "1"}}};
    const auto prepared = prepare(variant, kFolder, all);
    ASSERT_TRUE(prepared);
    EXPECT_EQ(prepared->scenario.plan.micro_batch_size, 1);
    EXPECT_EQ(prepared->measured_s, 0);
    const auto as_it_is = prepare({.name = "b", .scenario = "../laptop-2gpu.yaml"}, kFolder, all);
    ASSERT_TRUE(as_it_is);
    EXPECT_NE(prepared->identity, as_it_is->identity);
}

TEST(Variant, IsAPublishedCaseWithAnotherPlan) {
    PublishedTables all = tables();
    const auto as_it_is = prepare(of_case("training/KO-22B-full"), kFolder, all);
    ASSERT_TRUE(as_it_is);
    EXPECT_NEAR(as_it_is->measured_s, 1.42, 1e-9);
    const auto wide = prepare(of_case("training/SC21-7.5B"), kFolder, all);
    const auto other = prepare(
        of_case("training/SC21-7.5B", {{"plan.tensor_model_parallel_size", "8"}}), kFolder, all);
    ASSERT_TRUE(wide && other);
    EXPECT_EQ(other->scenario.plan.tensor_model_parallel_size, 8);
    EXPECT_EQ(other->scenario.plan.data_parallel_size, 16);
    EXPECT_EQ(other->scenario.plan.global_batch_size, wide->scenario.plan.global_batch_size);
    EXPECT_EQ(other->measured_s, 0);  // not measured
}

TEST(Variant, OfEveryRoomIsAScenario) {
    PublishedTables all = tables();
    for (const std::filesystem::path& file : room_files(kFolder)) {
        const auto room = read_reproduction(file);
        ASSERT_TRUE(room) << room.error()[0].to_string();
        for (const ReproducedVariant& variant : room->variants) {
            const auto prepared = prepare(variant, kFolder, all, is_served(*room, variant.name));
            EXPECT_TRUE(prepared) << prepared.error()[0].to_string();
        }
    }
}

TEST(Variant, OfAServedLoadIsAFileOfThatKind) {
    PublishedTables all = tables();
    const ReproducedVariant served{.name = "a", .scenario = "../serving/splitwise-a100.yaml"};
    const auto prepared = prepare(served, kFolder, all, true);
    ASSERT_TRUE(prepared);
    EXPECT_EQ(prepared->scenario.serving.pools.front().instances, 70);
    EXPECT_DOUBLE_EQ(prepared->scenario.serving.objectives.tbt_slowdown.p90, 1.5);
    // Figures of steps are asked for, and the other way round.
    const auto step = prepare(served, kFolder, all);
    ASSERT_FALSE(step);
    EXPECT_EQ(step.error()[0].what, "this is a served load, and a scenario is due");
    EXPECT_FALSE(prepare({.name = "b", .scenario = "../laptop-2gpu.yaml"}, kFolder, all, true));
    const auto row = prepare(of_case("training/KO-22B-full"), kFolder, all, true);
    ASSERT_FALSE(row);
    EXPECT_EQ(row.error()[0].to_string(),
              "room.yaml:7:3: error: case 'training/KO-22B-full' is a step and serves no load "
              "(hint: scenario: a file of kind serving)");
}

TEST(Variant, MistakesHaveTheirPlace) {
    PublishedTables all = tables();
    const auto error_of = [&](const ReproducedVariant& variant) {
        const auto prepared = prepare(variant, kFolder, all);
        return prepared ? std::string{} : prepared.error()[0].to_string();
    };
    EXPECT_NE(error_of(of_case("training/KO-22B-ful")).find("did you mean 'training/KO-22B-full'"),
              std::string::npos);
    EXPECT_NE(error_of(of_case("trainin/KO-22B-full")).find("did you mean 'training'"),
              std::string::npos);
    EXPECT_NE(error_of(of_case("KO-22B-full")).find("is no TABLE/CASE"), std::string::npos);
    ReproducedVariant model = of_case("training/KO-22B-full", {{"model.num_layers", "4"}});
    model.places = {{"model.num_layers=4", "room.yaml:7:60"}};
    EXPECT_EQ(error_of(model).find("room.yaml:7:60: error: 'model.num_layers' can't be set"), 0u);
    EXPECT_EQ(error_of(of_case("training/KO-22B-full", {{"plan.tensor_model_parallel_size", "3"}}))
                  .find("room.yaml:7:3"),
              std::string::npos);
    ReproducedVariant file{.name = "a",
                           .scenario = "../laptop-2gpu.yaml",
                           .set = {{"plan.micro_batch_size", "x"}},
                           .places = {{"plan.micro_batch_size=x", "room.yaml:8:9"}}};
    EXPECT_EQ(error_of(file).find("room.yaml:8:9: error: "), 0u) << error_of(file);
}

}  // namespace
}  // namespace orrery

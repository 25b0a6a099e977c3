// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/sweep/study.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

class StudyFile : public ::testing::Test {
protected:
    StudyFile() {
        folder_.write("a.yaml", "");
        folder_.write("b.yaml", "");
    }
    ResultOrErrors<Study> read(const std::string& text) const {
        return read_study_text(text, "study.yaml", folder_.path());
    }
    std::string errors(const std::string& text) const {
        const auto study = read(text);
        std::string all;
        if (!study) {
            for (const Error& error : study.error()) {
                all += error.to_string() + "\n";
            }
        }
        return all;
    }
    TestFolder folder_;
};

TEST_F(StudyFile, AGridHasEveryCombinationWithTheLastAxisFastest) {
    const auto study =
        read("scenario: a.yaml\nset: {job.seed: 7}\ngrid: {plan.x: [1, 2], plan.y: [a, b, c]}\n");
    ASSERT_TRUE(study);
    EXPECT_EQ(study->size(), 6);
    EXPECT_EQ(point_of(*study, 0).settings, (Settings{{"plan.x", "1"}, {"plan.y", "a"}}));
    EXPECT_EQ(point_of(*study, 1).settings, (Settings{{"plan.x", "1"}, {"plan.y", "b"}}));
    EXPECT_EQ(point_of(*study, 5).settings, (Settings{{"plan.x", "2"}, {"plan.y", "c"}}));
    EXPECT_EQ(overrides_of(*study, point_of(*study, 3)),
              (std::vector<std::string>{"job.seed=7", "plan.x=2", "plan.y=a"}));
}

TEST_F(StudyFile, ScenariosAndPointsMultiplyTheGrid) {
    const auto study = read(
        "scenario: [a.yaml, b.yaml]\npoints: [{k: 1}, {k: 2, l: 3}]\ngrid: {plan.x: [4, 5]}\n");
    ASSERT_TRUE(study);
    EXPECT_EQ(study->size(), 8);
    EXPECT_EQ(point_of(*study, 0).scenario, 0u);
    EXPECT_EQ(point_of(*study, 3).settings, (Settings{{"k", "2"}, {"l", "3"}, {"plan.x", "5"}}));
    EXPECT_EQ(point_of(*study, 4).scenario, 1u);
    for (std::int64_t a = 0; a < 8; ++a) {
        for (std::int64_t b = 0; b < a; ++b) {
            EXPECT_NE(point_of(*study, a), point_of(*study, b)) << a << ' ' << b;
        }
    }
}

TEST_F(StudyFile, ValuesReadBackAsTheyWere) {
    const auto study = read(
        "scenario: a.yaml\n"
        "points: [{bandwidth: 400 Gbps, name: \"7\", list: [1, 2], at: 'node:3',\n"
        "          node: {base: dgx, gpus: 4}, none: ~}]\n");
    ASSERT_TRUE(study);
    EXPECT_EQ(point_of(*study, 0).settings,
              (Settings{{"bandwidth", "400 Gbps"},
                        {"name", "\"7\""},
                        {"list", "[1, 2]"},
                        {"at", "\"node:3\""},
                        {"node", "{base: dgx, gpus: 4}"},
                        {"none", "null"}}));
}

TEST_F(StudyFile, MistakesAreToldTogetherWithTheirPlaces) {
    const std::string all =
        errors("scenario: c.yaml\ngrids: {x: [1]}\ngrid:\n  x: 1\n  y: [1, 1]\n");
    EXPECT_NE(all.find("there is no file 'c.yaml'"), std::string::npos) << all;
    EXPECT_NE(all.find("study.yaml:2:1: error: unknown key 'grids'"), std::string::npos) << all;
    EXPECT_NE(all.find("study.yaml:4:6: error: the axis 'x' must be a list"), std::string::npos);
    EXPECT_NE(all.find("'1' is in the axis 'y' twice"), std::string::npos) << all;
    EXPECT_NE(errors("[1]").find("must be a map"), std::string::npos);
    EXPECT_NE(errors("grid: {x: [1]}\n").find("scenario"), std::string::npos);
    EXPECT_NE(errors("scenario: a.yaml\ngrid: {x: []}\n").find("of values, not an empty one"),
              std::string::npos);
    EXPECT_NE(errors("scenario: a.yaml\npoints: 3\n").find("list of maps"), std::string::npos);
}

TEST_F(StudyFile, AKeyIsSetInOnePlaceOnly) {
    EXPECT_NE(errors("scenario: a.yaml\nset: {x: 1}\ngrid: {x: [1, 2]}\n").find("'x' is both"),
              std::string::npos);
    EXPECT_NE(errors("scenario: a.yaml\npoints: [{x: 1}]\ngrid: {x: [1, 2]}\n").find("by a point"),
              std::string::npos);
}

TEST_F(StudyFile, AKeyThatStepsDoNotReadIsAnErrorAtItsPlace) {
    const auto unread = [](std::string_view key) {
        return key == "campaign.days" ? Error{"", "no step reads this key", "leave it out"}
                                      : Error{};
    };
    const auto study =
        read_study_text("scenario: a.yaml\ngrid: {campaign.days: [1, 2], job.steps: [2, 3]}\n",
                        "study.yaml",
                        folder_.path(),
                        unread);
    ASSERT_FALSE(study);
    ASSERT_EQ(study.error().size(), 1u);
    EXPECT_EQ(study.error()[0].to_string(),
              "study.yaml:2:24: error: 'campaign.days': no step reads this key (hint: leave it "
              "out)");
}

TEST_F(StudyFile, AStudyWithoutEndIsRefused) {
    std::string text = "scenario: a.yaml\ngrid:\n";
    for (int axis = 0; axis < 12; ++axis) {
        text += "  k" + std::to_string(axis) + ": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]\n";
    }
    EXPECT_NE(errors(text).find("more than 1000000 points"), std::string::npos);
}

TEST_F(StudyFile, AScenarioInsteadOfAStudyIsOneError) {
    const auto study = read("cluster: {nodes: 1}\nmodel: gpt\nplan: {micro_batch_size: 1}\n");
    ASSERT_FALSE(study);
    ASSERT_EQ(study.error().size(), 1u);
    EXPECT_NE(study.error()[0].hint.find("orrery simulate"), std::string::npos);
}

}  // namespace
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/step_terms.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

TEST(StepTerms, ReadBackAsTheyWereRounded) {
    const TestFolder folder;
    const StepTerms terms{
        .steps = {{"a", {{"bubble", rounded_term(1.0 / 3)}, {"sustained.gemm/fp16", 2}}}},
        .calls = {{"a", {{"call", 31.25}}}},
        .unseen = {{"b", {{"bubble", -1e-7}}}},
        .experts = {{"c", {{"step", 12}}}}};
    const std::string text = step_terms_csv(terms, "fit x.csv");
    EXPECT_NE(text.find("\n# orrery fit x.csv\nfit,case,bubble,call,step,sustained.gemm/fp16\n"
                        "steps,a,0.333333333,,,2\n"),
              std::string::npos)
        << text;
    const auto read = read_step_terms(folder.write("terms.csv", text));
    ASSERT_TRUE(read) << read.error().front().to_string();
    EXPECT_EQ(*read, terms);
    EXPECT_EQ(term(read->steps.at("a"), "bubble"), 0.333333333);
    EXPECT_EQ(term(read->steps.at("a"), "call"), 0) << "is left out";
}

TEST(StepTerms, ErrorsHaveTheirLine) {
    const TestFolder folder;
    const auto read =
        read_step_terms(folder.write("terms.csv", "fit,case,bubble\nstep,a,1\nsteps,a,long\n"));
    ASSERT_FALSE(read);
    ASSERT_EQ(read.error().size(), 2U);
    EXPECT_NE(read.error()[0].to_string().find("terms.csv:2: error: no fit is called 'step'"),
              std::string::npos)
        << read.error()[0].to_string();
    EXPECT_NE(read.error()[1].to_string().find("bubble 'long' is not a number"), std::string::npos);
    EXPECT_FALSE(read_step_terms(folder.path() / "nowhere.csv"));
    EXPECT_FALSE(read_step_terms(folder.write("empty.csv", "")));
}

}  // namespace
}  // namespace orrery

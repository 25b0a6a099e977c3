// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_reproduction.h"

#include <gtest/gtest.h>

#include "tests/test_folder.h"

namespace orrery {
namespace {

constexpr const char* kHead =
    "kind: reproduction\nsystem: S\ntitle: T\nsource: A, 2024\nurl: https://a\nclass: absolute\n";
constexpr const char* kVariants =
    "variants:\n"
    "  - {name: a, scenario: s.yaml}\n"
    "  - {name: b, scenario: s.yaml, set: {plan.micro_batch_size: 2}}\n"
    "  - {name: c, case: training/X-1}\n";

class ReproductionFile : public ::testing::Test {
protected:
    ReproductionFile() { folder_.write("s.yaml", ""); }
    ResultOrErrors<Reproduction> read(const std::string& text) const {
        return read_reproduction_text(text, "room.yaml", folder_.path());
    }
    std::string errors_of(const std::string& comparisons,
                          const std::string& variants = kVariants) const {
        const auto room = read(kHead + variants + "comparisons:\n" + comparisons);
        std::string all;
        for (const Error& error : room ? Errors{} : room.error()) {
            all += error.to_string() + "\n";
        }
        return all;
    }
    TestFolder folder_;
};

TEST_F(ReproductionFile, HasVariantsAndComparisons) {
    const auto room =
        read(std::string{kHead} + kVariants +
             "comparisons:\n"
             "  - {name: x, exhibit: table 1, metric: mfu, variant: a, published: 0.5}\n"
             "  - {name: y, exhibit: table 2, class: ratio, metric: tokens_per_s, variant: b, "
             "baseline: a, published: 1.2}\n"
             "  - {name: z, exhibit: table 3, metric: iteration_s, variant: c}\n");
    ASSERT_TRUE(room) << room.error()[0].to_string();
    EXPECT_EQ(room->name, "room");
    ASSERT_EQ(room->variants.size(), 3u);
    EXPECT_EQ(room->variants[1].set, (Settings{{"plan.micro_batch_size", "2"}}));
    ASSERT_EQ(room->comparisons.size(), 3u);
    EXPECT_EQ(room->comparisons[0].kind, ReproductionClass::absolute);
    EXPECT_EQ(room->comparisons[1].kind, ReproductionClass::ratio);
    EXPECT_EQ(room->comparisons[1].metric, ReproducedMetric::tokens_per_s);
    EXPECT_FALSE(room->comparisons[2].published);
    EXPECT_EQ(name(ReproducedMetric::iteration_s), "iteration_s");
    EXPECT_EQ(name(ReproductionClass::direction), "direction");
}

TEST_F(ReproductionFile, RefusesAnUnknownMetricWithTheNearest) {
    const std::string all = errors_of("  - {name: x, exhibit: t, metric: iteration, variant: a}\n");
    EXPECT_NE(all.find("room.yaml:12:35: error: comparisons[0].metric can't be 'iteration'"),
              std::string::npos)
        << all;
    EXPECT_NE(all.find("iteration_s"), std::string::npos) << all;
}

TEST_F(ReproductionFile, RefusesAnUnknownVariantAndAnUnknownScenario) {
    const std::string all =
        errors_of("  - {name: x, exhibit: t, metric: mfu, variant: aa, published: 1}\n",
                  "variants:\n  - {name: a, scenario: none.yaml}\n  - {name: a, scenario: s.yaml}\n"
                  "  - {name: d}\n");
    EXPECT_NE(all.find("there is no file 'none.yaml'"), std::string::npos) << all;
    EXPECT_NE(all.find("two variants are called 'a'"), std::string::npos) << all;
    EXPECT_NE(all.find("variant 'd' has no scenario and no case"), std::string::npos) << all;
    EXPECT_NE(all.find("there is no variant 'aa' (hint: did you mean 'a'?)"), std::string::npos)
        << all;
}

TEST_F(ReproductionFile, EveryClassHasWhatItsRuleNeeds) {
    const std::string all = errors_of(
        "  - {name: x, exhibit: t, class: ratio, metric: mfu, variant: a, published: 1}\n"
        "  - {name: x, exhibit: t, class: direction, metric: mfu, variant: a, published: 1}\n"
        "  - {name: x, exhibit: t, metric: mfu, variant: a, baseline: b, published: 1}\n"
        "  - {name: x, exhibit: t, metric: mfu, variant: a, published: 1, least: 0}\n"
        "  - {name: x, exhibit: t, metric: mfu, variant: c}\n"
        "  - {name: x, exhibit: t, class: direction, metric: mfu, variant: a, published: 1, "
        "least: 2, most: 1}\n");
    for (const char* what : {"a ratio needs a baseline",
                             "a direction needs a range",
                             "an absolute figure has no baseline",
                             "only a direction has a range",
                             "there is no published figure",
                             "the range is empty"}) {
        EXPECT_NE(all.find(what), std::string::npos) << what << "\n" << all;
    }
}

TEST_F(ReproductionFile, IsOfItsKind) {
    const auto room = read("kind: sweep\nscenario: s.yaml\n");
    ASSERT_FALSE(room);
    EXPECT_NE(room.error()[0].what.find("this is a sweep, and a reproduction is due"),
              std::string::npos);
    EXPECT_FALSE(read(std::string{kHead} + "variants: []\ncomparisons: 3\n"));
}

}  // namespace
}  // namespace orrery

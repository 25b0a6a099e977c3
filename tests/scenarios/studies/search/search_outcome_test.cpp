// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/search_outcome.h"

#include <gtest/gtest.h>

#include "tests/scenarios/small_scenarios.h"

namespace orrery {
namespace search_outcome_test {

struct Case {
    Scenario scenario = small_scenario("small", {});
    SearchSpec spec{.clusters = {{.cluster = scenario.cluster,
                                  .device = scenario.device,
                                  .price_per_gpu_hour = 2}},
                    .keep = 2};
    std::vector<Candidate> candidates;

    // Simulated on the network, with this step in seconds, or with a bound alone.
    void simulated(double seconds, std::int64_t memory) {
        Candidate c{.plan = scenario.plan, .tried = true, .analytic = seconds};
        c.answer = Answer{};
        c.answer->iteration = Time::seconds(seconds);
        c.memory = Bytes{memory};
        candidates.push_back(c);
    }
    void bounded(double seconds) {
        candidates.push_back({.plan = scenario.plan, .objective_bound = seconds});
    }
    SearchResult collected() const {
        SearchResult result;
        const Score score{spec, scenario};
        collect_outcome(candidates, score, spec, result);
        return result;
    }
};

TEST(SearchOutcome, KeepsTheBestAndTheFrontAndCountsEqualPlansOnce) {
    Case c;
    c.simulated(3, 100);
    c.simulated(1, 300);
    c.simulated(2, 200);
    c.simulated(2, 200);
    c.simulated(4, 400);
    const SearchResult result = c.collected();
    ASSERT_EQ(result.best.size(), 2u);
    EXPECT_EQ(result.best[0].objective, 1);
    EXPECT_EQ(result.best[1].objective, 2);
    EXPECT_EQ(result.fit, 5);
    EXPECT_EQ(result.equal, 1);
    EXPECT_EQ(result.pareto.size(), 3u);  // not the plan of 4 s, which needs more memory, too
    EXPECT_EQ(result.left_out.total(), 0);
}

TEST(SearchOutcome, WhatAnInterruptedSearchHasLeftIsCountedAsSuch) {
    Case c;
    c.simulated(2, 100);
    c.bounded(1.5);
    SearchResult result{.interrupted = true};
    collect_outcome(c.candidates, Score{c.spec, c.scenario}, c.spec, result);
    EXPECT_EQ(result.left_out.interrupted, 1);
    EXPECT_EQ(result.left_out.ran_out, 0);
    EXPECT_EQ(result.left_out.unsimulated(), 1);
    EXPECT_EQ(result.left_out.rows().back().first, "interrupted");
}

TEST(SearchOutcome, WhatIsLeftIsToldByItsBound) {
    Case c;
    c.simulated(2, 100);
    c.bounded(1.5);
    c.bounded(3);
    Candidate slow{.plan = c.scenario.plan, .tried = true, .analytic = 5};
    c.candidates.push_back(slow);
    const SearchResult result = c.collected();
    EXPECT_EQ(result.left_out.ran_out, 1);
    EXPECT_EQ(result.left_out.bound, 1);
    EXPECT_EQ(result.left_out.slower, 1);
    EXPECT_DOUBLE_EQ(result.bound_gap, 0.25);
    EXPECT_EQ(result.clusters[0].unsimulated, 1);
    EXPECT_DOUBLE_EQ(result.clusters[0].bound_gap, 0.25);
}

}  // namespace search_outcome_test
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/simulate_jobs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace simulate_jobs_test {

// Two sets of leaf switches of four servers, and a quarter of the bandwidth above them: an
// interleaved job needs it for its data parallelism.
Scenario two_jobs(const std::string& placement, const std::string& start = "0 s") {
    const std::string job = fmt::format(
        "    model: {{base: llama-3-8b, num_layers: 4}}\n    nodes: 4\n    placement: {}\n"
        "    plan: {{micro_batch_size: 1, global_batch_size: 64, "
        "data_parallel_sharding_strategy: optim_grads_params}}\n",
        placement);
    const std::string text =
        "cluster:\n  nodes: 8\n  node: dgx-h100\n  fabric: {base: eth400-clos, tiers: 2, "
        "nodes_per_leaf_set: 4, oversubscription: 4}\njobs:\n  - name: first\n" +
        job + "  - name: second\n    start: " + start + "\n" + job;
    const auto scenario = read_scenario_text(text, "jobs.yaml", ".", {.several_jobs = true});
    EXPECT_TRUE(scenario) << scenario.error().front().to_string();
    return scenario ? *scenario : Scenario{};
}

JobsAnswer answer_of(const Scenario& scenario, bool fold = true) {
    const Result<JobsAnswer> answer = simulate_jobs(scenario, {.fold = fold});
    EXPECT_TRUE(answer) << answer.error().to_string();
    return answer ? *answer : JobsAnswer{};
}

const SharedLinks* shared_links(const JobsAnswer& answer) {
    for (const SharedLinks& links : answer.links) {
        if (links.shared > 0) {
            return &links;
        }
    }
    return nullptr;
}

TEST(SimulateJobs, PackedJobsMeetNowhereAndTakeAsLongAsAlone) {
    const JobsAnswer answer = answer_of(two_jobs("packed"));
    ASSERT_EQ(answer.jobs.size(), 2U);
    EXPECT_EQ(shared_links(answer), nullptr);
    for (const JobAnswer& job : answer.jobs) {
        EXPECT_EQ(job.iteration, job.alone.iteration) << job.name;
        EXPECT_EQ(job.critical_path.total(), job.iteration);
    }
    EXPECT_EQ(answer.ranks, 64);
}

TEST(SimulateJobs, InterleavedJobsShareUplinksAndSlowEachOtherDown) {
    const JobsAnswer answer = answer_of(two_jobs("interleaved"));
    const SharedLinks* links = shared_links(answer);
    ASSERT_NE(links, nullptr);
    EXPECT_EQ(links->of_busiest.size(), 2U);
    EXPECT_GT(links->of_busiest[0], 0);
    EXPECT_GT(links->of_busiest[1], 0);
    for (const JobAnswer& job : answer.jobs) {
        EXPECT_GT(job.slowdown(), 1.02) << job.name;
        EXPECT_LT(job.slowdown(), 2.01) << job.name;
    }
}

// Jobs that never run at the same time are as fast as alone.
TEST(SimulateJobs, ALaterJobFindsTheNetworkIdle) {
    const JobsAnswer together = answer_of(two_jobs("interleaved"));
    const JobsAnswer later = answer_of(two_jobs("interleaved", "2 s"));
    ASSERT_GT(later.jobs[0].steps.size(), together.jobs[0].steps.size());
    const std::vector<Time>& steps = later.jobs[0].steps;
    EXPECT_EQ(steps[1] - steps[0], later.jobs[0].alone.iteration);
    EXPECT_GT(later.jobs[0].iteration, later.jobs[0].alone.iteration);
    EXPECT_EQ(later.jobs[1].start, Time::picoseconds(2'000'000'000'000));
    EXPECT_GT(later.jobs[1].steps.front(), later.jobs[1].start);
}

// Each job has a whole step beside the other.
TEST(SimulateJobs, MeasuredStepsLieWhereAllJobsRun) {
    const JobsAnswer answer = answer_of(two_jobs("interleaved", "1 s"));
    const Time from = answer.jobs[1].start;
    const Time until = std::min(answer.jobs[0].end, answer.jobs[1].end);
    for (const JobAnswer& job : answer.jobs) {
        bool found = false;
        for (std::size_t step = 1; step < job.steps.size(); ++step) {
            found = found || (job.steps[step - 1] >= from && job.steps[step] <= until);
        }
        EXPECT_TRUE(found) << job.name;
    }
}

TEST(SimulateJobs, FoldingChangesNothing) {
    const Scenario scenario = two_jobs("interleaved", "50 ms");
    const JobsAnswer folded = answer_of(scenario);
    const JobsAnswer unfolded = answer_of(scenario, false);
    for (std::size_t j = 0; j < 2; ++j) {
        EXPECT_EQ(folded.jobs[j].steps, unfolded.jobs[j].steps);
        EXPECT_EQ(folded.jobs[j].iteration, unfolded.jobs[j].iteration);
    }
    EXPECT_LE(folded.fold_classes, unfolded.fold_classes);
}

// The same job in the same places, once as a job of several and once as a scenario.
TEST(SimulateJobs, AJobAloneIsItsScenario) {
    Scenario scenario = two_jobs("interleaved");
    scenario.jobs.pop_back();
    const JobsAnswer answer = answer_of(scenario);
    const Result<Answer> alone = simulate_scenario(*scenario.jobs[0].scenario);
    ASSERT_TRUE(alone) << alone.error().to_string();
    ASSERT_EQ(answer.jobs.size(), 1U);
    EXPECT_EQ(answer.jobs[0].iteration, alone->iteration);
}

}  // namespace simulate_jobs_test
}  // namespace orrery

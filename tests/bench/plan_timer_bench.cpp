// SPDX-License-Identifier: Apache-2.0
// How many plans a second scenarios/studies/search/plan_timer.h times: the most promising ones that
// fit into memory, of all that a scenario's model and cluster admit. Each round has a timer of its
// own, which lowers and prices what plans share anew. The sum of all plans' steps is the same in
// every round, and in every version that times plans alike.
//   plan_timer_bench [FILE [PLANS [ROUNDS]]]
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <string>

#include "scenarios/format/read/reader.h"
#include "scenarios/studies/search/plan_bound.h"
#include "scenarios/studies/search/plan_space.h"
#include "tests/scenarios/studies/search/timed_plans.h"

namespace orrery {
namespace {

double cpu_s() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// The most promising first.
std::vector<ParallelPlan> promising(const Scenario& scenario, std::size_t most) {
    testing::TimedPlans timed{scenario};
    PlanBound bound{scenario.model, timed.costs->network(), [&](const Program& program) {
                        return timed.costs->mean_device(program);
                    }};
    std::vector<std::pair<Time, ParallelPlan>> guesses;
    std::map<std::string, std::int64_t> refused;
    for_each_plan(
        {},
        scenario.model,
        scenario.plan,
        {scenario.cluster.num_gpus(), scenario.cluster.node.gpus_per_node},
        [&](PlanPoint point) {
            if (point.split == StageSplit::balanced) {
                point.plan.pipeline_layout = bound.balanced(point.plan);
            }
            const Bound found = bound.of(point.plan);
            if (found.memory <= scenario.device.memory) {
                guesses.emplace_back(found.guess, std::move(point.plan));
            }
        },
        refused);
    std::ranges::stable_sort(guesses, {}, [](const auto& plan) { return plan.first; });
    std::vector<ParallelPlan> plans;
    for (auto& [guess, plan] : guesses) {
        if (plans.size() < most) {
            plans.push_back(std::move(plan));
        }
    }
    return plans;
}

void time_all(const Scenario& scenario, const std::vector<ParallelPlan>& plans) {
    testing::TimedPlans timed{scenario};
    const double begin = cpu_s();
    std::size_t folded = 0;
    double passes = 0;
    std::int64_t sum = 0;
    for (const ParallelPlan& plan : plans) {
        if (const auto step = timed.timer.step_of(plan)) {
            ++folded;
            sum += step->picoseconds();
            passes += static_cast<double>(2 * plan.num_micro_batches() *
                                          plan.pipeline_model_parallel_size *
                                          plan.virtual_pipeline_model_parallel_size);
        }
    }
    const double taken = cpu_s() - begin;
    fmt::print(
        "{} of {} plans fold, {:.0f} passes each, {} ps in all: {:.2f} s of CPU time, {:.0f} a "
        "second\n",
        folded,
        plans.size(),
        passes / static_cast<double>(std::max<std::size_t>(1, folded)),
        sum,
        taken,
        static_cast<double>(folded) / taken);
}

int run(const std::string& file, std::size_t most, int rounds) {
    const auto scenario = read_scenario(file);
    if (!scenario) {
        fmt::print(stderr, "{}\n", scenario.error().front().to_string());
        return 1;
    }
    const std::vector<ParallelPlan> plans = promising(*scenario, most);
    for (int round = 0; round < rounds; ++round) {
        time_all(*scenario, plans);
    }
    return 0;
}

}  // namespace
}  // namespace orrery

int main(int argc, char** argv) {
    return orrery::run(argc > 1 ? argv[1] : "scenarios/search-175b-1024-a100.yaml",
                       argc > 2 ? std::stoul(argv[2]) : 1000,
                       argc > 3 ? std::stoi(argv[3]) : 3);
}

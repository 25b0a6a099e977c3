// SPDX-License-Identifier: Apache-2.0
// A made-up result of a search, for the tests of its reports.
#pragma once

#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/search/search.h"

namespace orrery {

struct SearchedPlans {
    Scenario scenario;
    SearchResult result;
};

inline SearchedPlans searched_plans() {
    SearchedPlans searched;
    searched.scenario.name = "small";
    searched.scenario.search.clusters = {{.label = "nodes 4", .cluster = {}, .device = {}}};
    FoundPlan found;
    found.plan.tensor_model_parallel_size = 4;
    found.plan.schedule = ScheduleKind::interleaved_1f1b;
    found.objective = 1.5;
    found.bound = 1.25;
    found.answer.iteration = Time::seconds(1.5);
    found.answer.mfu = 0.5;
    found.answer.memory.peak = Bytes{1 << 30};
    searched.result.points = 12'345;
    searched.result.candidates = 345;
    searched.result.left_out.memory = 12'000;
    searched.result.left_out.bound = 301;
    searched.result.simulated_analytic = 50;
    searched.result.simulated = 45;
    searched.result.fit = 44;
    searched.result.best = {found};
    searched.result.pareto = {found};
    searched.result.clusters = {{.plan = found}};
    return searched;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "models/plan/plan_fields.h"
#include "scenarios/format/provenance/version.h"
#include "scenarios/report/fault_classes_report.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/lost_json.h"
#include "scenarios/report/search_clusters.h"
#include "scenarios/report/search_report.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

// The varied keys, and the sizes of every plan.
Json plan_json(const ParallelPlan& plan) {
    Json json = Json::object();
    for_each_plan_field([&](const auto& field) {
        const auto& value = plan.*field.member;
        if (!field.searched && field.use == FieldUse::optional) {
            return;
        }
        if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
            json[std::string{field.name}] = word_of(value, field.values);
        } else {
            json[std::string{field.name}] = value;
        }
    });
    return json;
}

Json found_json(const Scenario& scenario, const FoundPlan& found) {
    const auto if_any = [](double value) { return value > 0 ? Json(value) : Json(nullptr); };
    return {{"plan", plan_json(found.plan)},
            {"cluster", scenario.search.clusters[found.cluster].label},
            {"iteration_s", found.answer.iteration.seconds()},
            {"tokens_per_s", found.answer.tokens_per_s},
            {"mfu", found.answer.mfu},
            {"hfu", found.answer.hfu},
            {"peak_memory_bytes", found.answer.memory.peak.count()},
            {"uncertainty", found.answer.uncertainty},
            {"objective", found.objective},
            {"goodput", found.goodput},
            {"bound", found.bound},
            {"days", if_any(found.days)},
            {"gpu_hours", if_any(gpu_hours(scenario, found))},
            {"cost", if_any(training_money(scenario, found))},
            {"cost_per_token", if_any(found.money)},
            {"joules_per_token", if_any(found.joules)},
            {"lost_mfu",
             lost_json<Json>(found.answer, [](const LostMfu& lost) { return lost.mfu; })}};
}

Json clusters_json(const Scenario& scenario, const SearchResult& result) {
    Json clusters = Json::array();
    for (std::size_t i = 0; i < result.clusters.size(); ++i) {
        const ClusterBest& cluster = result.clusters[i];
        Json json = {{"cluster", scenario.search.clusters[i].label},
                     {"best", nullptr},
                     {"behind", nullptr},
                     {"unsimulated", cluster.unsimulated},
                     {"bound_gap", cluster.bound_gap}};
        if (cluster.plan) {
            json["best"] = found_json(scenario, *cluster.plan);
            json["behind"] = behind(result, cluster).at_most;
        }
        clusters.push_back(std::move(json));
    }
    return clusters;
}

}  // namespace

std::string search_json(const Scenario& scenario,
                        const SearchResult& result,
                        const std::vector<SensitiveFigure>& figures) {
    Json sensitive = json_list<Json>(figures, [](const SensitiveFigure& figure) -> Json {
        return {{"figure", figure.figure},
                {"better", figure.better},
                {"worse", figure.worse},
                {"winner_if_better", figure.winner_if_better},
                {"winner_if_worse", figure.winner_if_worse}};
    });
    Json pruned = Json::object();
    for (const auto& [reason, count] : result.left_out.rows()) {
        pruned[reason] = count;
    }
    Json best = json_list<Json>(
        result.best, [&](const FoundPlan& found) { return found_json(scenario, found); });
    Json pareto = json_list<Json>(
        result.pareto, [&](const FoundPlan& found) { return found_json(scenario, found); });
    const ObjectiveWords objective = words_of(scenario.search.objective);
    Json json = {{"scenario", scenario.name},
                 {"objective", {{"name", objective.name}, {"unit", objective.unit}}},
                 {"remarks", search_remarks(scenario)},
                 {"interrupted", result.interrupted},
                 {"points", result.points},
                 {"candidates", result.candidates},
                 {"pruned", pruned},
                 {"simulated_analytic", result.simulated_analytic},
                 {"simulated", result.simulated},
                 {"fit", result.fit},
                 {"unsimulated", result.left_out.unsimulated()},
                 {"best", best},
                 {"equal_to_best", equal_plans(result)},
                 {"plans_differ", kPlansDiffer},
                 {"clusters", clusters_json(scenario, result)},
                 {"pareto", pareto},
                 {"bound_gap", result.bound_gap},
                 {"sensitivity", sensitive},
                 {"seed", scenario.job.seed},
                 {"version", kVersion}};
    if (scenario.search.objective == Objective::goodput && !result.best.empty()) {
        json["fault_classes"] =
            Json::parse(fault_classes_json(search_fault_classes(scenario, result)));
    }
    return json_text(json);
}

}  // namespace orrery

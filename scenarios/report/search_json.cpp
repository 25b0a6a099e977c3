// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "scenarios/read/plan_words.h"
#include "scenarios/report/fault_classes_report.h"
#include "scenarios/report/json_text.h"
#include "scenarios/report/search_report.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json plan_json(const ParallelPlan& plan) {
    return {{"tensor_model_parallel_size", plan.tensor_model_parallel_size},
            {"pipeline_model_parallel_size", plan.pipeline_model_parallel_size},
            {"virtual_pipeline_model_parallel_size", plan.virtual_pipeline_model_parallel_size},
            {"context_parallel_size", plan.context_parallel_size},
            {"data_parallel_size", plan.data_parallel_size},
            {"sequence_parallel", plan.sequence_parallel},
            {"data_parallel_sharding_strategy",
             word_of(plan.data_parallel_sharding_strategy, kShardingStrategies)},
            {"micro_batch_size", plan.micro_batch_size},
            {"global_batch_size", plan.global_batch_size},
            {"recompute_granularity", word_of(plan.recompute_granularity, kRecomputes)},
            {"schedule", word_of(plan.schedule, kSchedules)},
            {"rank_order", word_of(plan.rank_order, kRankOrders)},
            {"overlap_grad_reduce", plan.overlap_grad_reduce},
            {"overlap_param_gather", plan.overlap_param_gather},
            {"tp_comm_overlap", plan.tp_comm_overlap},
            {"overlap_p2p", plan.overlap_p2p},
            {"embedding_and_loss_as_layers", plan.embedding_and_loss_as_layers},
            {"pipeline_layout", plan.pipeline_layout}};
}

Json found_json(const Scenario& scenario, const FoundPlan& found) {
    Json lost = Json::object();
    for (const LostMfu& part : found.answer.lost_mfu) {
        lost[std::string{name(part.cause)}] = part.mfu;
    }
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
            {"lost_mfu", lost}};
}

}  // namespace

std::string search_json(const Scenario& scenario,
                        const SearchResult& result,
                        const std::vector<SensitiveFigure>& figures) {
    Json sensitive = Json::array();
    for (const SensitiveFigure& figure : figures) {
        sensitive.push_back({{"figure", figure.figure},
                             {"better", figure.better},
                             {"worse", figure.worse},
                             {"winner_if_better", figure.winner_if_better},
                             {"winner_if_worse", figure.winner_if_worse}});
    }
    Json pruned = Json::object();
    for (const auto& [reason, count] : result.pruned) {
        pruned[reason] = count;
    }
    Json best = Json::array();
    for (const FoundPlan& found : result.best) {
        best.push_back(found_json(scenario, found));
    }
    Json pareto = Json::array();
    for (const FoundPlan& found : result.pareto) {
        pareto.push_back(found_json(scenario, found));
    }
    Json json = {{"scenario", scenario.name},
                       {"points", result.points},
                       {"candidates", result.candidates},
                       {"pruned", pruned},
                       {"simulated_analytic", result.simulated_analytic},
                       {"simulated", result.simulated},
                       {"best", best},
                       {"pareto", pareto},
                       {"bound_gap", result.bound_gap},
                       {"sensitivity", sensitive},
                       {"seed", scenario.job.seed},
                       {"version", ORRERY_VERSION}};
    if (scenario.search.objective == Objective::goodput) {
        Scenario of_best = scenario;
        of_best.cluster = scenario.search.clusters[result.best.front().cluster].cluster;
        json["fault_classes"] = Json::parse(fault_classes_json(fault_classes(of_best)));
    }
    return json_text(json);
}

}  // namespace orrery

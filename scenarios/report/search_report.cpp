// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/search_report.h"

#include <fmt/format.h>

#include "models/plan/plan_fields.h"
#include "scenarios/report/render/report_words.h"

namespace orrery {

std::vector<std::pair<std::string_view, std::int64_t>> plan_sizes(const ParallelPlan& plan) {
    std::vector<std::pair<std::string_view, std::int64_t>> sizes;
    for_each_plan_field([&](const auto& field) {
        const bool column = field.searched || field.use == FieldUse::derived;
        if constexpr (std::is_same_v<decltype(field.member), std::int64_t ParallelPlan::*>) {
            if (column) {
                sizes.emplace_back(field.short_name, plan.*field.member);
            }
        }
    });
    return sizes;
}

std::string left_out_words(std::string_view reason) {
    constexpr std::pair<std::string_view, std::string_view> kWords[] = {
        {"same plan", "the same as another plan"},
        {"memory", "do not fit in memory"},
        {"bound", "no better by their lower bound"},
        {"slower without contention", "no better even without contention"}};
    for (const auto& [known, words] : kWords) {
        if (known == reason) {
            return std::string{words};
        }
    }
    // A rule of plans has the name of its key.
    return reason.find('_') == std::string_view::npos ? std::string{reason}
                                                      : fmt::format("not allowed: {}", reason);
}

std::string_view zero_stage(ShardingStrategy strategy) {
    constexpr std::string_view kWords[] = {"0", "1", "2", "3"};
    return kWords[static_cast<std::size_t>(strategy)];
}

std::string split_word(const ParallelPlan& plan) {
    return !plan.pipeline_layout.empty()       ? "balanced"
           : plan.embedding_and_loss_as_layers ? "emb+loss"
                                               : "even";
}

std::string switch_words(const ParallelPlan& plan) {
    const bool overlap = plan.overlap_grad_reduce || plan.overlap_p2p || plan.tp_comm_overlap;
    const bool could = plan.model_parallel_size() * plan.data_parallel_size > 1;
    std::string text = could && !overlap ? "without overlap" : "";
    if (plan.rank_order == RankOrder::tp_cp_pp_dp) {
        text += (text.empty() ? "" : ", ") + std::string{"rank order tp-cp-pp-dp"};
    }
    return text;
}

std::string search_headline(const SearchResult& result) {
    const std::int64_t left = result.left_out.unsimulated();
    if (result.interrupted) {
        return fmt::format(
            "interrupted; the best of {} simulated plans; {} of {} {} that could be better were "
            "left",
            thousands(result.simulated_analytic),
            thousands(left),
            result.listed ? "all" : "the first",
            thousands(result.points));
    }
    if (left == 0) {
        return fmt::format("the best of {} plans", thousands(result.points));
    }
    return fmt::format(
        "the best of {} simulated plans; {} of all {} that could be better were left when "
        "search.simulations ran out",
        thousands(result.simulated_analytic),
        thousands(left),
        thousands(result.points));
}

std::vector<FaultClass> search_fault_classes(const Scenario& scenario, const SearchResult& result) {
    if (scenario.search.objective != Objective::goodput || result.best.empty()) {
        return {};
    }
    Scenario of_best = scenario;
    of_best.cluster = scenario.search.clusters[result.best.front().cluster].cluster;
    return fault_classes(of_best);
}

}  // namespace orrery

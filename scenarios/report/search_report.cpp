// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/search_report.h"

#include <fmt/format.h>

#include "models/plan_fields.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/utf8.h"
#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/report/console_report.h"
#include "scenarios/report/fault_classes_report.h"
#include "scenarios/report/search_clusters.h"
#include "scenarios/report/text_table.h"

namespace orrery {
namespace {

constexpr std::string_view kReplicas = plan_field<&ParallelPlan::data_parallel_size>.short_name;

// Right-aligned: two characters for tp, five for dp, three for the others.
std::string size_columns(const ParallelPlan& plan, bool heads) {
    std::string text;
    for (const auto& [name, size] : plan_sizes(plan)) {
        const std::size_t width = text.empty() ? 2 : name == kReplicas ? 5 : 3;
        const std::string cell = heads ? std::string{name} : std::to_string(size);
        text += fmt::format("{:>{}} ", cell, width);
    }
    return text;
}

std::string plan_heads() {
    return "   " + size_columns({}, true) +
           "zero recompute schedule         layers      time    MFU   memory\n";
}

std::string row(std::size_t number, const FoundPlan& found) {
    const ParallelPlan& p = found.plan;
    return fmt::format("{:>2} {}{:>4} {:<9} {:<16} {:<8} {:>7} {:>5.1f}% {:>8}\n",
                       number,
                       size_columns(p, false),
                       zero_stage(p.data_parallel_sharding_strategy),
                       word_of(p.recompute_granularity, kRecomputes),
                       word_of(p.schedule, kSchedules),
                       split_word(p),
                       to_short_text(found.answer.iteration),
                       found.answer.mfu * 100,
                       to_short_text(found.answer.memory.peak));
}

std::string notes(const Scenario& scenario, const FoundPlan& found) {
    std::string text;
    const std::string& label = scenario.search.clusters[found.cluster].label;
    if (!label.empty()) {
        text += "      on " + cut(label, kReportColumns - 10) + "\n";
    }
    if (const auto& sizes = found.plan.stage_tensor_model_parallel_sizes; !sizes.empty()) {
        text +=
            cut(fmt::format("      tp by stage: {}", fmt::join(sizes, " ")), kReportColumns) + "\n";
    }
    if (const std::string training = training_words(scenario, found); !training.empty()) {
        text += "      " + training + "\n";
    }
    if (scenario.search.objective == Objective::goodput) {
        text += fmt::format("      goodput {:.2f} %: as long a step without faults {}\n",
                            found.goodput * 100,
                            to_short_text(Time::seconds(found.objective)));
    }
    if (const std::string extra = switch_words(found.plan); !extra.empty()) {
        text += "      " + extra + "\n";
    }
    return text;
}

// Every plan of the space once.
std::string left_out_text(const SearchResult& result) {
    std::string text = "\nWhat became of the plans\n\n";
    const auto line = [&](std::string_view what, std::int64_t plans) {
        text += fmt::format("  {:<52}{:>12}\n", cut(std::string{what}, 52), thousands(plans));
    };
    for (const auto& [reason, plans] : result.left_out.rows()) {
        line(left_out_words(reason), plans);
    }
    line("simulated on the network", result.fit);
    line("in all", result.left_out.total() + result.fit);
    text += fmt::format("\nSimulated without contention: {}; on the network: {}, of which {} ",
                        thousands(result.simulated_analytic),
                        thousands(result.simulated),
                        thousands(result.simulated - result.fit));
    text += fmt::format("broke a limit\nand {} gave what another gave.\n", thousands(result.equal));
    return text;
}

// Plans that are closer than predictions are right.
std::string equal_plans_text(const SearchResult& result) {
    const std::size_t equal = equal_plans(result);
    return equal < 2 ? ""
                     : fmt::format(
                           "\nPlans 1 to {} are equal: they are within {:.1f} %, and the "
                           "model cannot tell such\nplans apart.\n",
                           equal,
                           kPlansDiffer * 100);
}

}  // namespace

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
    // A rule of the plan is named by its key.
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
            "interrupted; the best of {} simulated plans;\n{} of all {} that could be better were "
            "left",
            thousands(result.simulated_analytic),
            thousands(left),
            thousands(result.points));
    }
    if (left == 0) {
        return fmt::format("the best of {} plans", thousands(result.points));
    }
    return fmt::format(
        "the best of {} simulated plans;\n{} of all {} that could be better were left when "
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

std::string search_report(const Scenario& scenario, const SearchResult& result) {
    std::string text = fmt::format("{}: {}\n\n", cut(scenario.name, 60), search_headline(result));
    text += plan_heads();
    for (std::size_t i = 0; i < result.best.size(); ++i) {
        text += row(i + 1, result.best[i]);
        text += notes(scenario, result.best[i]);
    }
    text += equal_plans_text(result);
    if (result.clusters.size() > 1) {
        text +=
            "\nThe best plan of each cluster\n\n" + text_table(cluster_rows(scenario, result), 1);
    }
    for (const std::string& remark : search_remarks(scenario)) {
        text += "\n" + wrapped(remark, kReportColumns - 2, 2);
    }
    text += "\nThe front of time, memory and cost\n\n";
    text += plan_heads();
    for (std::size_t i = 0; i < result.pareto.size(); ++i) {
        text += row(i + 1, result.pareto[i]);
    }
    text += waterfall_report(result.best.front().answer);
    text += left_out_text(result);
    const FoundPlan& best = result.best.front();
    text += fmt::format("\nThe bound of the best plan lies {:.1f} % below its {}. ",
                        (1 - best.bound / best.objective) * 100,
                        words_of(scenario.search.objective).noun);
    text += result.bound_gap > 0
                ? fmt::format(
                      "{}: a plan\nthat was left out could be better by {:.1f} % at most.\n",
                      result.interrupted ? "The search was interrupted" : "The simulations ran out",
                      result.bound_gap * 100)
                : "No plan that was left\nout can be better.\n";
    return text + fault_classes_text(search_fault_classes(scenario, result),
                                     to_short_text(scenario.campaign.length));
}

std::string sensitivity_report(const std::vector<SensitiveFigure>& figures, double factor) {
    const double percent = (factor - 1) * 100;
    std::vector<TextRow> rows{{"What the answer hinges on",
                               "the best plan then",
                               fmt::format("{:.0f} % better", percent),
                               fmt::format("{:.0f} % worse", percent)}};
    for (const SensitiveFigure& figure : figures) {
        std::string others;
        for (const auto& [winner, when] : {std::pair{figure.winner_if_better, "better"},
                                           std::pair{figure.winner_if_worse, "worse"}}) {
            if (winner > 0) {
                others +=
                    fmt::format("{}plan {} if {}", others.empty() ? "" : ", ", winner + 1, when);
            }
        }
        rows.push_back({figure.figure,
                        others.empty() ? "the same" : others,
                        fmt::format("{:+.2f} %", figure.better * 100),
                        fmt::format("{:+.2f} %", figure.worse * 100)});
    }
    return "\n" + text_table(rows, 2) + "  changes of the best plan's step time\n";
}

}  // namespace orrery

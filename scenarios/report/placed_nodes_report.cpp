// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/report_words.h"
#include "scenarios/report/search_report.h"

namespace orrery {
namespace {

// Times by cause in both orders, for the causes that differ.
ReportSection causes_of_order(const PlacedNodes& placed) {
    std::array<double, kNumCauses> change{};
    for (const LostMfu& lost : placed.before.lost_mfu) {
        change[static_cast<std::size_t>(lost.cause)] -= lost.time.seconds();
    }
    for (const LostMfu& lost : placed.answer.lost_mfu) {
        change[static_cast<std::size_t>(lost.cause)] += lost.time.seconds();
    }
    ReportSection section{.title = "What changes",
                          .note = "Of the step in the scenario's own order."};
    section.table.columns = {
        {"cause"}, {"of the step", Unit::change}, {"time", Unit::words, 1, true}};
    const double whole = placed.before.iteration.seconds();
    for (std::size_t i = 0; i < change.size(); ++i) {
        if (std::abs(change[i]) >= 0.001 * whole) {
            section.table.rows.push_back(
                {words_for(static_cast<Cause>(i)),
                 change[i] / whole,
                 (change[i] < 0 ? "-" : "+") + to_short_text(Time::seconds(std::abs(change[i])))});
        }
    }
    return section;
}

}  // namespace

std::string order_text(std::span<const std::uint32_t> order) {
    return fmt::format("[{}]", fmt::join(order, ","));
}

Report placed_sections(const Scenario& scenario, const PlacedNodes& placed) {
    const double before = placed.before.iteration.seconds();
    const double after = placed.answer.iteration.seconds();
    Report report{.title = scenario.name};
    report.lines = {
        fmt::format("{} on {}", scenario.model.name, words_of(scenario.cluster)),
        fmt::format(
            "{} orders of the {} nodes simulated", placed.simulations, placed.order.size())};
    report.cards = {{to_short_text(placed.before.iteration), "in the scenario's order"},
                    {to_short_text(placed.answer.iteration), "in the best order"},
                    {fmt::format("{:.3f}", after > 0 ? before / after : 1), "times as fast"}};
    ReportSection order{.title = "The best order", .note = "A key for --set."};
    order.table.columns = {{"key"}, {"nodes, as ranks take them"}};
    order.table.rows = {{"cluster.node_order", order_text(placed.order)}};
    report.sections.push_back(std::move(order));
    ReportSection causes = causes_of_order(placed);
    if (!causes.table.rows.empty()) {
        report.sections.push_back(std::move(causes));
    }
    return report;
}

std::string placed_json(const Scenario& scenario, const PlacedNodes& placed) {
    const nlohmann::ordered_json json = {{"scenario", scenario.name},
                                         {"model", scenario.model.name},
                                         {"cluster", words_of(scenario.cluster)},
                                         {"node_order", placed.order},
                                         {"simulations", placed.simulations},
                                         {"interrupted", placed.interrupted},
                                         {"before_iteration_s", placed.before.iteration.seconds()},
                                         {"iteration_s", placed.answer.iteration.seconds()},
                                         {"tokens_per_s", placed.answer.tokens_per_s}};
    return json_text(json);
}

}  // namespace orrery

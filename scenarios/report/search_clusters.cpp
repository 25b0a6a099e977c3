// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/search_clusters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "network/fabric/fabric_remarks.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/utf8.h"
#include "scenarios/report/render/report_words.h"

namespace orrery {
namespace {

constexpr double kHoursPerDay = 24;
constexpr double kJoulesPerMwh = 3.6e9;
constexpr std::size_t kLabelMost = 44;

std::string amount(double value) {
    return value >= 1000 ? thousands(std::llround(value)) : fmt::format("{:.4g}", value);
}

std::string percents(const Behind& behind) {
    const std::string most = fmt::format("+{:.1f} %", behind.at_most * 100);
    const std::string least = fmt::format("+{:.1f}", behind.at_least * 100);
    return behind.at_least < behind.at_most ? least + " to " + most : most;
}

// Removes the columns in which every row is empty.
void drop_empty_columns(std::vector<TextRow>& rows) {
    for (std::size_t column = rows.front().size(); column-- > 0;) {
        const bool empty = std::all_of(
            rows.begin() + 1, rows.end(), [&](const TextRow& row) { return row[column].empty(); });
        for (TextRow& row : rows) {
            if (empty) {
                row.erase(row.begin() + static_cast<std::ptrdiff_t>(column));
            }
        }
    }
}

}  // namespace

ObjectiveWords words_of(Objective objective) {
    switch (objective) {
        case Objective::mfu:
            return {"mfu", "peak FLOP of the GPUs in a step", "time"};
        case Objective::cost:
            return {"cost", "currency of search.price_per_gpu_hour a token", "cost"};
        case Objective::energy:
            return {"energy", "J a token", "energy"};
        case Objective::goodput:
            return {"goodput", "s a step without faults that is as good", "goodput"};
        case Objective::step_time:
            break;
    }
    return {"step_time", "s", "time"};
}

double gpu_hours(const Scenario& scenario, const FoundPlan& found) {
    const ClusterSpec& cluster = scenario.search.clusters[found.cluster].cluster;
    return found.days * kHoursPerDay * static_cast<double>(cluster.num_ranks());
}

double training_money(const Scenario& scenario, const FoundPlan& found) {
    return found.money * scenario.search.tokens;
}

std::string training_words(const Scenario& scenario, const FoundPlan& found) {
    const double tokens = scenario.search.tokens;
    std::vector<std::string> words;
    if (tokens > 0) {
        words.push_back(fmt::format("{:.3g} days", found.days));
        words.push_back(amount(gpu_hours(scenario, found)) + " GPU-hours");
    }
    if (found.money > 0) {
        words.push_back(tokens > 0
                            ? "cost " + amount(training_money(scenario, found))
                            : fmt::format("cost {:.4g} a million tokens", found.money * 1e6));
    }
    if (found.joules > 0) {
        words.push_back(tokens > 0 ? amount(found.joules * tokens / kJoulesPerMwh) + " MWh"
                                   : fmt::format("{:.4g} J a token", found.joules));
    }
    return fmt::format("{}", fmt::join(words, ", "));
}

std::vector<std::string> search_remarks(const Scenario& scenario) {
    std::vector<std::string> remarks = scenario.model_remarks;
    for (const ClusterVariant& variant : scenario.search.clusters) {
        const std::string on = variant.label.empty() ? "" : variant.label + ": ";
        for (const std::string& remark : fabric_remarks(variant.cluster)) {
            remarks.push_back(on + remark);
        }
    }
    return remarks;
}

Behind behind(const SearchResult& result, const ClusterBest& cluster) {
    const double best = result.best.front().objective;
    const double here = cluster.plan->objective;
    return {.at_least = std::max(0.0, here * (1 - cluster.bound_gap) / best - 1),
            .at_most = here / best - 1};
}

std::vector<TextRow> cluster_rows(const Scenario& scenario, const SearchResult& result) {
    const double tokens = scenario.search.tokens;
    std::vector<TextRow> rows;
    rows.push_back(
        {"cluster", "time", "MFU", "memory", "days", "GPU-hours", "cost", "MWh", "behind"});
    for (std::size_t i = 0; i < result.clusters.size(); ++i) {
        const ClusterBest& cluster = result.clusters[i];
        TextRow row{cut(scenario.search.clusters[i].label, kLabelMost)};
        if (!cluster.plan) {
            row.resize(rows.front().size());
            row.back() = cluster.unsimulated > 0
                             ? fmt::format("{} unsimulated", thousands(cluster.unsimulated))
                             : "no plan is feasible";
            rows.push_back(std::move(row));
            continue;
        }
        const FoundPlan& found = *cluster.plan;
        const bool all = tokens > 0;
        row.push_back(to_short_text(found.answer.iteration));
        row.push_back(fmt::format("{:.1f} %", found.answer.mfu * 100));
        row.push_back(to_short_text(found.answer.memory.peak));
        row.push_back(all ? fmt::format("{:.3g}", found.days) : "");
        row.push_back(all ? amount(gpu_hours(scenario, found)) : "");
        row.push_back(all && found.money > 0 ? amount(training_money(scenario, found)) : "");
        row.push_back(all && found.joules > 0 ? amount(found.joules * tokens / kJoulesPerMwh) : "");
        const bool best = found.cluster == result.best.front().cluster;
        row.push_back(best ? "best" : percents(behind(result, cluster)));
        rows.push_back(std::move(row));
    }
    drop_empty_columns(rows);
    return rows;
}

}  // namespace orrery

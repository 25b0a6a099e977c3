// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/serving_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/base/parallel.h"
#include "engine/base/statistics.h"
#include "scenarios/studies/serve/highest_rate.h"
#include "scenarios/studies/serve/serving_study.h"
#include "scenarios/studies/validate/served/mlperf.h"
#include "scenarios/studies/validate/served/serving_control.h"
#include "scenarios/studies/validate/served/serving_set_up.h"

namespace orrery {

namespace {

// Output rate of a run whose requests all come at once, from the start of the request at the first
// quartile to the start of the last one. Outside this window the cache fills or empties, which
// hardly counts in a long run. A request's tokens are spread evenly from its first to its last.
double steady_output_rate(const ServingResult& result) {
    std::vector<double> begins;
    for (const RequestRecord& record : result.records) {
        if (record.finished()) {
            begins.push_back(record.first_scheduled.seconds());
        }
    }
    std::sort(begins.begin(), begins.end());
    const double begin = begins.empty() ? 0 : begins[begins.size() / 4];
    const double end = begins.empty() ? 0 : begins.back();
    double tokens = 0;
    for (const RequestRecord& record : result.records) {
        if (!record.finished()) {
            continue;
        }
        const double first = record.first_token.seconds();
        const double last = std::max(record.last_token.seconds(), first + 1e-9);
        const double inside = std::max(0.0, std::min(last, end) - std::max(first, begin));
        tokens += static_cast<double>(record.output_tokens) * inside / (last - first);
    }
    return end > begin ? tokens / (end - begin) : 0;
}

// GenAI-Perf without a number of requests, as in NVIDIA's guide to benchmarking NIM
// (--measurement-interval), measures in windows until three of them agree. The start, when all
// users come at once, is in none of them.
bool measures_in_windows(const ServingCase& row) {
    return row.load == "closed" && row.source.find("NVIDIA NIM") != std::string::npos;
}

// Figures of the requests that arrive when each user's first one has its first token.
ServedFigures figures_of_windows(const ServingResult& result, std::size_t users) {
    Time begin;
    for (std::size_t i = 0; i < std::min(users, result.records.size()); ++i) {
        begin = std::max(begin, result.records[i].first_token);
    }
    ServedFigures figures{.output_tokens_per_s = steady_output_rate(result)};
    double requests = 0;
    for (const RequestRecord& record : result.records) {
        if (record.finished() && record.arrival >= begin) {
            requests += 1;
            figures.ttft_s += record.time_to_first_token().seconds();
            figures.tpot_s += record.time_per_output_token().seconds();
            figures.e2e_s += record.end_to_end().seconds();
        }
    }
    for (double* mean : {&figures.ttft_s, &figures.tpot_s, &figures.e2e_s}) {
        *mean = requests > 0 ? *mean / requests : 0;
    }
    return figures;
}

std::vector<ServingMetric> metrics_of(const ServingCase& row,
                                      const ServedFigures& predicted,
                                      const ServedFigures& control) {
    struct Metric {
        const char* name;
        double ServedFigures::*predicted;
        double ServingCase::*measured;
    };
    constexpr Metric kMetrics[] = {
        {"ttft_s", &ServedFigures::ttft_s, &ServingCase::ttft_s},
        {"tpot_s", &ServedFigures::tpot_s, &ServingCase::tpot_s},
        {"e2e_s", &ServedFigures::e2e_s, &ServingCase::e2e_s},
        {"output_tokens_per_s",
         &ServedFigures::output_tokens_per_s,
         &ServingCase::output_tokens_per_s},
    };
    std::vector<ServingMetric> metrics;
    for (const Metric& metric : kMetrics) {
        // Latencies of an overloaded server depend on the length of the run.
        const bool latency = metric.measured != &ServingCase::output_tokens_per_s;
        if (row.*metric.measured > 0 && predicted.*metric.predicted > 0 &&
            !(latency && row.load == "offline")) {
            metrics.push_back({.case_name = row.name,
                               .family = row.family,
                               .metric = metric.name,
                               .measured = row.*metric.measured,
                               .predicted = predicted.*metric.predicted,
                               .control = control.*metric.predicted});
        }
    }
    return metrics;
}

// Latencies of a row whose published rate is the highest one that meets the objectives. They are
// those of the simulated system at its own highest rate: at the published rate, an error of a few
// percent in the step decides between an idle system and an endless queue. The search stops a third
// above the published rate, because the published run then did not go to its limit; nine of ten
// published throughputs are predicted within a third. The third was chosen among some twenty rules
// on these rows (docs/explanation/accuracy-serving.md).
Result<ServingAnswer> latencies_of(const ServingCase& row,
                                   const ServingSetUp& set_up,
                                   const ServingAnswer& at_published_rate) {
    if (!row.at_highest_rate()) {
        return at_published_rate;
    }
    // Close to saturation latencies grow by a tenth per percent of the rate.
    constexpr int kBisections = 5;
    constexpr double kMostAbove = 4.0 / 3;
    auto highest = find_highest_rate(set_up.scenario,
                                     set_up.scenario.serving,
                                     set_up.requests,
                                     {.ttft = Time::seconds(row.ttft_objective_s) - set_up.held,
                                      .tpot = Time::seconds(row.tpot_objective_s)},
                                     kBisections,
                                     kMostAbove,
                                     &at_published_rate);
    if (!highest) {
        return tl::unexpected(highest.error());
    }
    return std::move(highest->answer);
}

Result<std::vector<ServingMetric>> predict_row(const ServingCase& row,
                                               const std::vector<PublishedModel>& models,
                                               const ServingValidationOptions& options) {
    const PublishedModel* model = served_model(models, row.model);
    if (model == nullptr) {
        return fail(row.where, fmt::format("no model {}", row.model));
    }
    const auto set_up = set_up_of(row, *model, options.catalogue, options.traces);
    if (!set_up) {
        return tl::unexpected(set_up.error());
    }
    const Scenario& scenario = set_up->scenario;
    ServingResult result;
    const auto answer = serve_scenario(
        scenario, scenario.serving, set_up->requests, {.users = scenario.workload.users}, &result);
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    if (answer->requests == 0) {
        return fail(row.where, "no request fits into the cache");
    }
    // MLPerf's runs last at least ten minutes (inference rules, "Scenarios"). The other runs have
    // the stated number of requests and begin and end empty.
    const bool steady = row.load == "offline" && is_mlperf(row) && !runs_whole_data_set(row);
    const double rate = steady ? steady_output_rate(result)
                        : is_mlperf(row) && row.load == "poisson"
                            ? mlperf_token_rate(result)
                            : answer->output_tokens_per_s;
    const auto latencies = latencies_of(row, *set_up, *answer);
    if (!latencies) {
        return tl::unexpected(latencies.error());
    }
    const double held_s = set_up->held.seconds();
    ServedFigures predicted{.ttft_s = latencies->ttft_s.mean + held_s,
                            .tpot_s = latencies->tpot_s.mean,
                            .e2e_s = latencies->e2e_s.mean + held_s,
                            .output_tokens_per_s = rate * static_cast<double>(row.replicas)};
    if (measures_in_windows(row)) {
        predicted = figures_of_windows(result, static_cast<std::size_t>(row.concurrency));
    }
    const bool nvlink = scenario.cluster.node.intra_node != IntraNodeKind::pcie;
    return metrics_of(row, predicted, closed_form(row, *model, scenario.device, nvlink));
}

void add_families(ServingValidation& validation) {
    struct Errors {
        std::vector<double> errors;
        std::vector<double> of_control;
    };
    std::map<std::pair<std::string, std::string>, Errors> errors;
    for (const ServingMetric& row : validation.rows) {
        Errors& of = errors[{row.metric, row.family}];
        of.errors.push_back(row.error());
        of.of_control.push_back(std::abs(row.control_error()));
    }
    std::map<std::string, std::vector<ServingFamilyError>> by_metric;
    for (auto& [key, of] : errors) {
        std::vector<double> absolute;
        for (const double error : of.errors) {
            absolute.push_back(std::abs(error));
        }
        validation.families.push_back({.family = key.second,
                                       .metric = key.first,
                                       .rows = of.errors.size(),
                                       .median = median(absolute),
                                       .bias = median(of.errors),
                                       .control_median = median(of.of_control)});
        by_metric[key.first].push_back(validation.families.back());
    }
    for (const auto& [metric, families] : by_metric) {
        ServingFamilyError all{.metric = metric};
        for (const ServingFamilyError& family : families) {
            all.rows += family.rows;
            all.median += family.median / static_cast<double>(families.size());
            all.bias += family.bias / static_cast<double>(families.size());
            all.control_median += family.control_median / static_cast<double>(families.size());
        }
        validation.balanced.push_back(all);
    }
}

}  // namespace

ServingValidation validate_serving(const std::vector<ServingCase>& cases,
                                   const std::vector<PublishedModel>& models,
                                   const ServingValidationOptions& options) {
    std::vector<Result<std::vector<ServingMetric>>> outcomes(cases.size());
    for_each_index(
        cases.size(),
        options.jobs,
        [&](std::size_t i) { outcomes[i] = predict_row(cases[i], models, options); },
        [&](std::size_t done) {
            if (options.progress) {
                options.progress(static_cast<double>(done) / static_cast<double>(cases.size()));
            }
        });
    ServingValidation validation;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        if (outcomes[i]) {
            validation.rows.insert(validation.rows.end(), outcomes[i]->begin(), outcomes[i]->end());
        } else {
            validation.skipped.push_back(
                {cases[i].name, cases[i].family, outcomes[i].error().what});
        }
    }
    add_families(validation);
    return validation;
}

}  // namespace orrery

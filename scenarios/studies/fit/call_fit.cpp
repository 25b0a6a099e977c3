// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/call_fit.h"

#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "scenarios/studies/fit/row_samples.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {
namespace {

// Costs of a call at which the step is simulated. Both are far above the GPU's time for such small
// ops.
constexpr double kProbe = 30;
constexpr double kSecondProbe = 60;
constexpr const char* kSource = "fit: published/host_bound.csv";
constexpr const char* kLatest = "hopper";
constexpr const char* kCallTerm = "call";

Result<double> step_s(const Scenario& scenario, double call) {
    EfficiencyTable table;
    table.set("host.call", "*", "*", {.value = call, .sigma = 0, .source = kSource});
    SimulationOptions options;
    options.step_table = std::move(table);
    const Result<Answer> answer = simulate_scenario(scenario, options);
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    return answer->iteration.seconds();
}

// Relative standard deviation. A single value gets that of the step's factors.
double spread(const std::vector<double>& values, double median) {
    if (values.size() < 2) {
        return 0.05;
    }
    double sum = 0;
    for (const double value : values) {
        sum += (value / median - 1) * (value / median - 1);
    }
    return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

// Nothing if the row is not expressible, has a pipeline, or is not bound by the host.
Result<std::optional<CallSample>> sample_call(const PublishedCase& row,
                                              const Catalogue& catalogue,
                                              const RowTerms& known) {
    Result<Scenario> scenario = scenario_of(row, catalogue);
    if (!scenario || scenario->plan.pipeline_model_parallel_size > 1) {
        return std::optional<CallSample>{};
    }
    CallSample sample{.name = row.name,
                      .generation = scenario->device.generation,
                      .dtype = std::string{dtype_class(scenario->plan.precision)}};
    if (const auto terms = known.find(row.name); terms != known.end()) {
        sample.call = term(terms->second, kCallTerm);
        return sample;
    }
    scenario->network = NetworkFidelity::analytic;
    const Result<double> at = step_s(*scenario, kProbe);
    const Result<double> above = at ? step_s(*scenario, kSecondProbe) : at;
    if (!above) {
        return tl::unexpected(above.error());
    }
    const double slope = (*above - *at) / (kSecondProbe - kProbe);
    if (slope <= 0) {
        return std::optional<CallSample>{};
    }
    sample.call = rounded_term(kProbe + (row.measured_s - *at) / slope);
    return sample;
}

}  // namespace

Result<std::vector<CallSample>> sample_calls(const std::vector<PublishedCase>& cases,
                                             const Catalogue& catalogue,
                                             std::uint32_t jobs,
                                             const RowTerms& known) {
    return samples_of_rows<CallSample>(
        cases, jobs, [&](const PublishedCase& row) { return sample_call(row, catalogue, known); });
}

RowTerms terms_of(const std::vector<CallSample>& samples) {
    RowTerms rows;
    for (const CallSample& sample : samples) {
        rows[sample.name] = {{kCallTerm, sample.call}};
    }
    return rows;
}

void fit_calls(const std::vector<CallSample>& samples, EfficiencyTable& table) {
    std::map<std::pair<std::string, std::string>, std::vector<double>> classes;
    for (const CallSample& sample : samples) {
        classes[{sample.generation, sample.dtype}].push_back(sample.call);
    }
    for (const auto& [key, calls] : classes) {
        const double median = summarise(calls).median;
        const EfficiencyParameter parameter{
            .value = median, .sigma = spread(calls, median), .source = kSource};
        const auto& [generation, dtype] = key;
        table.set("host.call", generation, dtype, parameter);
        if (generation == kLatest) {
            table.set("host.call", "*", dtype == "fp16" ? "*" : dtype, parameter);
        }
    }
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/validate/step_fit.h"

#include <algorithm>
#include <cmath>

#include "kernels/attention/attention.h"
#include "kernels/cost_model.h"
#include "models/lowering.h"
#include "scenarios/simulate/kernel_timings.h"
#include "scenarios/simulate/simulate_scenario.h"
#include "scenarios/validate/control.h"

namespace orrery {
namespace {

constexpr double kErrorCap = 0.25;
constexpr double kPriorWeight = 0.02;  // of (factor - 1)^2
constexpr double kRestartSigma = 0.13;
constexpr const char* kRestartSource = "derived: arXiv 2402.15627 table 3: blocking exchanges";

// The factors that the table gets. Generations and element types that no row tests keep 1.
struct Parameter {
    std::string name;
    std::string generation;
    std::string dtype;
    double value = 1;
    double step = 0.1;
    double smallest = kFactorMin;
    double largest = kFactorMax;
    bool is_factor() const { return smallest > 0; }
};
std::vector<Parameter> parameters() {
    return {{"sustained.gemm", "ampere", "fp16"},
            {"sustained.gemm", "hopper", "fp16"},
            {"sustained.gemm", "hopper", "fp8"},
            {"sustained.attention", "*", "*"},
            {"sustained.attention.flash_1", "ampere", "*"},
            {"sustained.attention.flash_1", "hopper", "*"},
            {"sustained.attention.flash_1.small_heads", "*", "*"},
            {"sustained.memory", "*", "*"},
            {"sustained.attention.flash_1.growth", "*", "*", 0, 0.02, 0, 0.3},
            {"noise.sigma", "*", "*", 0.01, 0.005, 0, kNoiseMax}};
}

EfficiencyTable table_of(const std::vector<Parameter>& values) {
    EfficiencyTable table;
    for (const Parameter& p : values) {
        table.set(p.name,
                  p.generation,
                  p.dtype,
                  {.value = p.value, .sigma = 0.05, .source = "fit: published/training.csv"});
    }
    return table;
}

EfficiencyTable table_of_fit(const std::vector<Parameter>& values) {
    EfficiencyTable table = table_of(values);
    table.set("host.restart_us",
              "*",
              "*",
              {.value = kRestart_us, .sigma = kRestartSigma, .source = kRestartSource});
    return table;
}

// How far the host's restarts are tried, to see what the step makes of them.
constexpr double kProbe_us = 500;

bool restarts(const Scenario& scenario) {
    return scenario.plan.pipeline_model_parallel_size > 1 && !scenario.plan.overlap_p2p;
}

StepSample decompose(const PublishedCase& row,
                     const Scenario& scenario,
                     const Answer& answer,
                     const EfficiencyTable& kernels) {
    StepSample sample{.name = row.name,
                      .family = row.family,
                      .stack = row.stack,
                      .generation = scenario.device.generation,
                      .dtype = std::string{dtype_class(scenario.plan.precision)},
                      .measured_s = row.measured_s,
                      .num_gpus = row.num_gpus,
                      .kernels = {}};
    const Program program = lower(scenario.model, scenario.plan);
    const CostModel cost{scenario.device, kernels};
    const std::vector<std::int64_t> counts = kernel_counts(program);
    const double slowest = slowest_server(scenario.cluster.slow_node_share,
                                          scenario.cluster.slow_node_slowdown,
                                          scenario.cluster.num_servers());
    double kernel_time = 0;
    double attention_time = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
        const KernelCall& call = program.kernels[k];
        const double seconds = slowest * cost.time(call).duration.seconds() *
                               static_cast<double>(counts[k]) /
                               static_cast<double>(program.roles.size());
        sample.kernels[{std::string{StepEfficiency::factor_name(call)},
                        std::string{dtype_class(call.dtype)}}] += seconds;
        sample.kinds[{call.kind, std::string{dtype_class(call.dtype)}}] += seconds;
        kernel_time += seconds;
        if (call.kind == KernelKind::attention_forward ||
            call.kind == KernelKind::attention_backward) {
            attention_time += seconds;
            sample.keys += seconds * static_cast<double>(attention_shape(call).seq_kv);
        }
    }
    sample.keys = attention_time > 0 ? sample.keys / attention_time : 0;
    for (const LostMfu& lost : answer.lost_mfu) {
        if (lost.cause == Cause::pipeline_bubble || lost.cause == Cause::stage_imbalance) {
            sample.bubble += lost.time.seconds();
        }
    }
    sample.communication = answer.iteration.seconds() - kernel_time - sample.bubble;
    return sample;
}

double loss(const std::vector<StepSample>& samples, const std::vector<Parameter>& values) {
    const EfficiencyTable table = table_of_fit(values);
    std::map<std::string, std::pair<double, int>> families;
    for (const StepSample& sample : samples) {
        const double error = std::abs(std::log(predict_step(sample, table) / sample.measured_s));
        auto& [sum, count] = families[sample.family];
        sum += std::min(error, kErrorCap);
        ++count;
    }
    double total = 0;
    for (const auto& [family, errors] : families) {
        total += errors.first / errors.second;
    }
    total /= static_cast<double>(std::max<std::size_t>(families.size(), 1));
    for (const Parameter& p : values) {
        total += p.is_factor() ? kPriorWeight * (p.value - 1) * (p.value - 1) : 0;
    }
    return total;
}

// Pattern search: tries a step up and down in every parameter, halves the steps that help no more.
std::vector<Parameter> minimise(const std::vector<StepSample>& samples) {
    std::vector<Parameter> best = parameters();
    double best_loss = loss(samples, best);
    for (int round = 0; round < 60; ++round) {
        for (std::size_t i = 0; i < best.size(); ++i) {
            bool improved = false;
            for (const double direction : {1.0, -1.0}) {
                std::vector<Parameter> tried = best;
                Parameter& p = tried[i];
                p.value = std::clamp(p.value + direction * p.step, p.smallest, p.largest);
                const double tried_loss = loss(samples, tried);
                if (tried_loss < best_loss) {
                    best = std::move(tried);
                    best_loss = tried_loss;
                    improved = true;
                    break;
                }
            }
            best[i].step *= improved ? 1.0 : 0.7;
        }
    }
    return best;
}

}  // namespace

double predict_step(const StepSample& sample, const EfficiencyTable& table) {
    double before = 0;
    double after = 0;
    for (const auto& [key, seconds] : sample.kernels) {
        const auto& [name, dtype] = key;
        const double growth =
            table.value_or(StepEfficiency::growth_name(name), sample.generation, "*", 0.0);
        const double keys = sample.keys > 0 ? sample.keys : StepEfficiency::kGrowthOrigin;
        before += seconds;
        after += seconds * table.value_or(name, sample.generation, dtype, 1.0) *
                 std::pow(keys / StepEfficiency::kGrowthOrigin, -growth);
    }
    after *= 1 + table.value_or("noise.sigma", sample.generation, "*", 0.0) *
                     expected_maximum_of_normals(sample.num_gpus);
    const double bubble = before > 0 ? sample.bubble * after / before : 0.0;
    const double restart_s = table.value_or("host.restart_us", sample.generation, "*", 0.0) * 1e-6;
    return after + bubble + sample.communication + sample.restarts * restart_s;
}

Result<std::vector<StepSample>> sample_steps(const std::vector<PublishedCase>& cases,
                                             const Catalogue& catalogue) {
    const auto kernels =
        read_efficiency_table((default_catalogue() / "kernel_efficiency.csv").string());
    if (!kernels) {
        return tl::unexpected(kernels.error().front());
    }
    std::vector<StepSample> samples;
    std::vector<MeasuredScenario> measured;
    for (const PublishedCase& row : cases) {
        Result<Scenario> scenario = scenario_of(row, catalogue);
        if (!scenario) {
            continue;
        }
        scenario->network = NetworkFidelity::analytic;
        SimulationOptions options;
        options.step_table = EfficiencyTable{};
        const Result<Answer> answer = simulate_scenario(*scenario, options);
        if (!answer) {
            return tl::unexpected(answer.error());
        }
        measured.push_back({*scenario, row.family, row.measured_s});
        samples.push_back(decompose(row, *scenario, *answer, *kernels));
        if (restarts(*scenario)) {
            options.step_table = table_of({{"host.restart_us", "*", "*", kProbe_us}});
            const Result<Answer> slower = simulate_scenario(*scenario, options);
            if (!slower) {
                return tl::unexpected(slower.error());
            }
            samples.back().restarts =
                (slower->iteration - answer->iteration).seconds() / (kProbe_us * 1e-6);
        }
    }
    const Control control{measured};
    for (std::size_t i = 0; i < measured.size(); ++i) {
        samples[i].control_s = control.predicted_s(measured[i].scenario);
    }
    return samples;
}

Result<StepFit> fit_step_efficiency(const std::vector<PublishedCase>& cases,
                                    const Catalogue& catalogue) {
    Result<std::vector<StepSample>> samples = sample_steps(cases, catalogue);
    if (!samples) {
        return tl::unexpected(samples.error());
    }
    EfficiencyTable table = fit_factors(*samples);
    return StepFit{std::move(table), *std::move(samples)};
}

EfficiencyTable fit_factors(const std::vector<StepSample>& samples) {
    return table_of_fit(minimise(samples));
}

EfficiencyTable fit_factors(const std::vector<StepSample>& samples,
                            const std::string& without_family) {
    std::vector<StepSample> kept;
    for (const StepSample& sample : samples) {
        if (sample.family != without_family) {
            kept.push_back(sample);
        }
    }
    return fit_factors(kept);
}

}  // namespace orrery

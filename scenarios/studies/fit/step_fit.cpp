// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/step_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "engine/base/check.h"
#include "engine/base/statistics.h"
#include "kernels/catalogue.h"
#include "kernels/cost_model.h"
#include "models/lowering/lowering.h"
#include "scenarios/studies/fit/row_samples.h"
#include "scenarios/studies/simulate/kernel_timings.h"
#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/simulate/step_costs.h"
#include "scenarios/studies/validate/control.h"

namespace orrery {
namespace {

constexpr double kErrorCap = 0.25;
constexpr double kPriorWeight = 0.02;  // weight of (factor - 1)^2
constexpr double kRestartSigma = 0.13;
constexpr const char* kRestartSource = "derived: arXiv 2402.15627 table 3: blocking exchanges";

// Factors of the table. Element types without rows keep 1.
struct StepParameter {
    std::string name;
    std::string generation;
    std::string dtype;
    double value = 1;
    double step = 0.1;
    double smallest = kFactorMin;
    double largest = kFactorMax;
    bool is_factor() const { return smallest > 0; }
};
std::vector<StepParameter> parameters() {
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

// Products are slower in a step than alone on every fitted generation. A generation without fitted
// steps gets the geometric mean of the fitted ones.
void add_mean_of_generations(const std::vector<StepParameter>& values, EfficiencyTable& table) {
    constexpr const char* kProducts = "sustained.gemm";
    for (const char* dtype : {"fp16", "fp8"}) {
        std::vector<double> logs;
        for (const StepParameter& p : values) {
            if (p.name == kProducts && p.dtype == dtype) {
                logs.push_back(std::log(p.value));
            }
        }
        if (!logs.empty()) {
            const Moments of_logs = moments(logs);
            table.set(kProducts,
                      "*",
                      dtype,
                      {.value = std::exp(of_logs.mean),
                       .sigma = std::hypot(0.05, of_logs.deviation()),
                       .source = "rule: mean of the fitted generations"});
        }
    }
}

EfficiencyTable table_of(const std::vector<StepParameter>& values) {
    EfficiencyTable table;
    for (const StepParameter& p : values) {
        table.set(p.name,
                  p.generation,
                  p.dtype,
                  {.value = p.value, .sigma = 0.05, .source = "fit: published/training.csv"});
    }
    add_mean_of_generations(values, table);
    return table;
}

EfficiencyTable table_of_fit(const std::vector<StepParameter>& values) {
    EfficiencyTable table = table_of(values);
    table.set("host.restart_us",
              "*",
              "*",
              {.value = kRestart_us, .sigma = kRestartSigma, .source = kRestartSource});
    return table;
}

// Cost of a restart at which the step is simulated, to find the number of restarts in it.
constexpr double kProbe_us = 500;

bool restarts(const Scenario& scenario) {
    return scenario.plan.pipeline_model_parallel_size > 1 && !scenario.plan.overlap_p2p;
}

constexpr std::array<std::pair<const char*, double StepSample::*>, 7> kTermsOfSteps{
    {{"keys", &StepSample::keys},
     {"bubble", &StepSample::bubble},
     {"restarts", &StepSample::restarts},
     {"communication", &StepSample::communication},
     {"beside_kernels", &StepSample::beside_kernels},
     {"distance", &StepSample::distance},
     {"assumed", &StepSample::assumed}}};

void set_terms(const Terms& terms, StepSample& sample) {
    for (const auto& [name, member] : kTermsOfSteps) {
        sample.*member = term(terms, name);
    }
    sample.kernels.clear();
    for (const auto& [name, value] : terms) {
        if (const std::size_t slash = name.find('/'); slash != std::string::npos) {
            sample.kernels[{name.substr(0, slash), name.substr(slash + 1)}] = value;
        }
    }
}

StepSample sample_without_terms(const PublishedCase& row, const Scenario& scenario) {
    return {.name = row.name,
            .family = row.family,
            .stack = row.stack,
            .generation = scenario.device.generation,
            .dtype = std::string{dtype_class(scenario.plan.precision)},
            .measured_s = row.measured_s,
            .num_gpus = row.num_gpus,
            .kernels = {}};
}

StepSample decompose(const PublishedCase& row,
                     const Scenario& scenario,
                     const Answer& answer,
                     const EfficiencyTable& kernels) {
    StepSample sample = sample_without_terms(row, scenario);
    const Program program = lower(scenario.model, scenario.plan);
    const CostModel cost{scenario.device, kernels};
    const std::vector<std::int64_t> counts = kernel_counts(program);
    const double slowest = slowest_server(scenario.cluster.slow_node_share,
                                          scenario.cluster.slow_node_slowdown,
                                          scenario.cluster.num_servers());
    double kernel_time = 0;
    double attention_time = 0;
    double far = 0;
    for (std::size_t k = 0; k < counts.size(); ++k) {
        const KernelCall& call = program.kernels[k];
        const KernelTime time = cost.time(call);
        const double seconds = slowest * time.duration.seconds() * static_cast<double>(counts[k]) /
                               static_cast<double>(program.roles.size());
        sample.kernels[{std::string{StepEfficiency::factor_name(call)},
                        std::string{dtype_class(call.dtype)}}] += seconds;
        sample.kinds[{call.kind, std::string{dtype_class(call.dtype)}}] += seconds;
        far += seconds * time.distance_sigma;
        kernel_time += seconds;
        if (descriptor_of(call.kind).efficiency == EfficiencyClass::attention) {
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
    sample.distance = far / answer.iteration.seconds();
    return sample;
}

// Step time in seconds. `of` gives factor(i) and growth(i) of the sample's i-th part, the noise of
// its devices, and the time of a host's restart.
template <class Factors>
double predict(const StepSample& sample, const Factors& of) {
    const double keys = sample.keys > 0 ? sample.keys : StepEfficiency::kGrowthOrigin;
    double before = 0;
    double after = 0;
    std::size_t i = 0;
    for (const auto& [key, seconds] : sample.kernels) {
        before += seconds;
        after +=
            seconds * of.factor(i) * std::pow(keys / StepEfficiency::kGrowthOrigin, -of.growth(i));
        ++i;
    }
    after *= 1 + of.noise();
    const double bubble = before > 0 ? sample.bubble * after / before : 0.0;
    return after + bubble + sample.communication + sample.restarts * of.restart_s();
}

class TableFactors {
public:
    TableFactors(const EfficiencyTable& table, const StepSample& sample) : sample_(sample) {
        const std::string& generation = sample.generation;
        for (const auto& [key, seconds] : sample.kernels) {
            const auto& [name, dtype] = key;
            factors_.push_back(table.value_or(name, generation, dtype, 1.0));
            growths_.push_back(
                table.value_or(StepEfficiency::growth_name(name), generation, "*", 0.0));
        }
        sigma_ = table.value_or("noise.sigma", generation, "*", 0.0);
        restart_s_ = table.value_or("host.restart_us", generation, "*", 0.0) * 1e-6;
    }
    double factor(std::size_t i) const { return factors_[i]; }
    double growth(std::size_t i) const { return growths_[i]; }
    double noise() const { return sigma_ * expected_maximum_of_normals(sample_.num_gpus); }
    double restart_s() const { return restart_s_; }

private:
    const StepSample& sample_;
    std::vector<double> factors_;
    std::vector<double> growths_;
    double sigma_ = 0;
    double restart_s_ = 0;
};

// Samples with numbers of parameters instead of their names, because a search predicts each sample
// hundreds of times.
class SearchedSteps {
public:
    explicit SearchedSteps(const std::vector<StepSample>& samples) {
        std::vector<StepParameter> numbered = parameters();
        for (std::size_t i = 0; i < numbered.size(); ++i) {
            numbered[i].value = static_cast<double>(i);
        }
        const EfficiencyTable numbers = table_of(numbered);
        const auto number = [&](std::string_view name, const StepSample& s, std::string_view type) {
            return static_cast<std::int32_t>(numbers.value_or(name, s.generation, type, kNone));
        };
        std::map<std::string, std::size_t> families;
        for (const StepSample& sample : samples) {
            families.try_emplace(sample.family, 0);
        }
        for (auto& [family, index] : families) {
            index = num_families_++;
        }
        for (const StepSample& sample : samples) {
            Step step{.sample = &sample,
                      .family = families.at(sample.family),
                      .noise = number("noise.sigma", sample, "*"),
                      .largest_noise = expected_maximum_of_normals(sample.num_gpus)};
            for (const auto& [key, seconds] : sample.kernels) {
                const auto& [name, dtype] = key;
                step.factors.push_back(number(name, sample, dtype));
                step.growths.push_back(number(StepEfficiency::growth_name(name), sample, "*"));
            }
            steps_.push_back(std::move(step));
        }
    }

    double loss(const std::vector<StepParameter>& values) const {
        std::vector<double> sums(num_families_);
        std::vector<double> counts(num_families_);
        for (const Step& step : steps_) {
            const double predicted = predict(*step.sample, Numbered{step, values});
            const double error = std::abs(std::log(predicted / step.sample->measured_s));
            sums[step.family] += std::min(error, kErrorCap);
            ++counts[step.family];
        }
        double total = 0;
        for (std::size_t family = 0; family < num_families_; ++family) {
            total += sums[family] / counts[family];
        }
        total /= static_cast<double>(std::max<std::size_t>(num_families_, 1));
        for (const StepParameter& p : values) {
            total += p.is_factor() ? kPriorWeight * (p.value - 1) * (p.value - 1) : 0;
        }
        return total;
    }

private:
    static constexpr std::int32_t kNone = -1;
    struct Step {
        const StepSample* sample;
        std::size_t family;
        std::int32_t noise;
        double largest_noise;
        std::vector<std::int32_t> factors{};
        std::vector<std::int32_t> growths{};
    };
    struct Numbered {
        const Step& step;
        const std::vector<StepParameter>& values;
        double value(std::int32_t number, double otherwise) const {
            return number == kNone ? otherwise : values[static_cast<std::size_t>(number)].value;
        }
        double factor(std::size_t i) const { return value(step.factors[i], 1.0); }
        double growth(std::size_t i) const { return value(step.growths[i], 0.0); }
        double noise() const { return value(step.noise, 0.0) * step.largest_noise; }
        double restart_s() const { return kRestart_us * 1e-6; }
    };

    std::vector<Step> steps_;
    std::size_t num_families_ = 0;
};

// Pattern search: tries a step up and down in every parameter and halves the step if neither helps.
std::vector<StepParameter> minimise(const std::vector<StepSample>& samples) {
    const SearchedSteps steps{samples};
    std::vector<StepParameter> best = parameters();
    double best_loss = steps.loss(best);
    for (int round = 0; round < 60; ++round) {
        for (std::size_t i = 0; i < best.size(); ++i) {
            const double from = best[i].value;
            bool improved = false;
            for (const double direction : {1.0, -1.0}) {
                StepParameter& p = best[i];
                p.value = std::clamp(from + direction * p.step, p.smallest, p.largest);
                const double tried_loss = steps.loss(best);
                if (tried_loss < best_loss) {
                    best_loss = tried_loss;
                    improved = true;
                    break;
                }
                p.value = from;
            }
            best[i].step *= improved ? 1.0 : 0.7;
        }
    }
    return best;
}

// Nothing if the row is not expressible.
Result<std::optional<StepSample>> sample_step(const PublishedCase& row,
                                              const Catalogue& catalogue,
                                              const EfficiencyTable& kernels,
                                              const EfficiencyTable& host,
                                              const RowTerms& known) {
    // The factors describe dense steps. Routing and grouped products have none.
    if (row.model.num_experts > 0) {
        return std::optional<StepSample>{};
    }
    Result<Scenario> scenario = scenario_of(row, catalogue);
    if (!scenario) {
        return std::optional<StepSample>{};
    }
    if (const auto terms = known.find(row.name); terms != known.end()) {
        StepSample sample = sample_without_terms(row, *scenario);
        set_terms(terms->second, sample);
        return sample;
    }
    scenario->network = NetworkFidelity::analytic;
    SimulationOptions options;
    options.step_table = host;
    const Result<Answer> answer = simulate_scenario(*scenario, options);
    if (!answer) {
        return tl::unexpected(answer.error());
    }
    StepSample sample = decompose(row, *scenario, *answer, kernels);
    const double launches = StepEfficiency{host, scenario->device}.launch_sigma(scenario->plan);
    sample.fits = answer->memory.fits;
    sample.beside_kernels =
        sigma_beside_kernels(answer->critical_path, answer->iteration, launches);
    if (restarts(*scenario)) {
        options.step_table->set(
            "host.restart_us", "*", "*", {.value = kProbe_us, .sigma = 0, .source = {}});
        const Result<Answer> slower = simulate_scenario(*scenario, options);
        if (!slower) {
            return tl::unexpected(slower.error());
        }
        sample.restarts = (slower->iteration - answer->iteration).seconds() / (kProbe_us * 1e-6);
    }
    set_terms(terms_of(sample), sample);
    return sample;
}

}  // namespace

Terms terms_of(const StepSample& sample) {
    Terms terms;
    const auto add = [&](const std::string& name, double value) {
        if (const double rounded = rounded_term(value); rounded != 0) {
            terms[name] = rounded;
        }
    };
    for (const auto& [key, seconds] : sample.kernels) {
        add(key.first + "/" + key.second, seconds);
    }
    for (const auto& [name, member] : kTermsOfSteps) {
        add(name, sample.*member);
    }
    return terms;
}

double predict_step(const StepSample& sample, const EfficiencyTable& table) {
    return predict(sample, TableFactors{table, sample});
}

Result<std::vector<StepSample>> sample_steps(const std::vector<PublishedCase>& cases,
                                             const Catalogue& catalogue,
                                             std::uint32_t jobs,
                                             const EfficiencyTable& host,
                                             const RowTerms& known) {
    const auto kernels =
        read_efficiency_table((default_catalogue() / "kernel_efficiency.csv").string());
    if (!kernels) {
        return tl::unexpected(kernels.error().front());
    }
    auto samples = samples_of_rows<StepSample>(cases, jobs, [&](const PublishedCase& row) {
        return sample_step(row, catalogue, *kernels, host, known);
    });
    if (!samples) {
        return samples;
    }
    std::vector<MeasuredScenario> measured;
    for (const PublishedCase& row : cases) {  // samples are in their order
        if (measured.size() < samples->size() && (*samples)[measured.size()].name == row.name) {
            measured.push_back({scenario_of(row, catalogue).value(), row.family, row.measured_s});
        }
    }
    ORRERY_CHECK(measured.size() == samples->size());
    const Control control{measured};
    for (std::size_t i = 0; i < measured.size(); ++i) {
        (*samples)[i].control_s = control.predicted_s(measured[i].scenario);
    }
    return samples;
}

Result<StepFit> fit_step_efficiency(const std::vector<PublishedCase>& cases,
                                    const Catalogue& catalogue,
                                    std::uint32_t jobs,
                                    const RowTerms& known) {
    Result<std::vector<StepSample>> samples = sample_steps(cases, catalogue, jobs, {}, known);
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

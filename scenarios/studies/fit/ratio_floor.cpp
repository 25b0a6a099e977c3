// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/fit/ratio_floor.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "scenarios/studies/simulate/step_efficiency.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {
namespace {

struct Factor {
    double value = 1;
    double step = 0;
    double smallest = kFactorMin;
    double largest = kFactorMax;
};

// A step as a sum of parts with a factor each.
struct Parts {
    std::vector<std::pair<std::size_t, double>> kernels{};  // factor, seconds
    double kernel_s = 0;
    double communication_s = 0;
    double bubble_s = 0;
    double restarts_s = 0;  // of the host
    std::size_t communication = 0;
    std::size_t bubble = 0;
    double largest_noise = 0;  // largest noise of all devices, in standard deviations
    double measured_s = 0;
};

using Pairs = std::vector<std::pair<std::size_t, std::size_t>>;  // steps of one family

class FloorSearch {
public:
    FloorSearch(const std::vector<StepSample>& samples, const std::vector<ValidatedCase>& cases) {
        factors_.push_back({.value = 0, .smallest = 0, .largest = kNoiseMax});
        for (const StepSample& sample : samples) {
            add(sample);
        }
        find_pairs(cases);
    }

    void minimise() {
        constexpr int kRounds = 25;
        // Minimises the mean of the pairs' errors first, then the median. A median changes in
        // jumps, at which a search stops early.
        for (const bool medians : {false, true}) {
            double best = loss(medians);
            for (Factor& factor : factors_) {
                factor.step = factor.largest / 10;
            }
            for (int round = 0; round < kRounds; ++round) {
                for (Factor& factor : factors_) {
                    improve(factor, medians, best);
                }
            }
        }
    }

    double predicted_s(std::size_t i) const {
        const Parts& step = steps_[i];
        double kernels = 0;
        for (const auto& [factor, seconds] : step.kernels) {
            kernels += factors_[factor].value * seconds;
        }
        kernels *= 1 + factors_[kNoise].value * step.largest_noise;
        const double slower = step.kernel_s > 0 ? kernels / step.kernel_s : 1;
        return kernels + factors_[step.communication].value * step.communication_s +
               factors_[step.bubble].value * step.bubble_s * slower + step.restarts_s;
    }
    std::size_t num_factors() const { return factors_.size(); }

private:
    static constexpr std::size_t kNoise = 0;
    static constexpr double kErrorCap = 0.3;  // of a pair, in the mean

    std::size_t factor_of(const std::string& generation,
                          const std::string& part,
                          const std::string& dtype) {
        const auto [found, fresh] =
            numbers_.try_emplace({generation, part, dtype}, factors_.size());
        if (fresh) {
            factors_.emplace_back();
        }
        return found->second;
    }

    void add(const StepSample& sample) {
        Parts step{.communication_s = sample.communication,
                   .bubble_s = sample.bubble,
                   .restarts_s = sample.restarts * kRestart_us * 1e-6,
                   .largest_noise = expected_maximum_of_normals(sample.num_gpus),
                   .measured_s = sample.measured_s};
        std::string precision = "fp16";
        for (const auto& [kind, seconds] : sample.kinds) {
            step.kernels.emplace_back(
                factor_of(sample.generation, std::string{name(kind.first)}, kind.second), seconds);
            step.kernel_s += seconds;
            precision = kind.second == "fp8" ? "fp8" : precision;
        }
        step.communication = factor_of(sample.generation, "communication", precision);
        step.bubble = factor_of(sample.generation, "bubble", "");
        steps_.push_back(std::move(step));
    }

    void find_pairs(const std::vector<ValidatedCase>& cases) {
        std::map<std::string, Pairs> families;
        for (std::size_t i = 0; i < cases.size(); ++i) {
            for (std::size_t j = i + 1; j < cases.size(); ++j) {
                if (efficiencies_differ(cases[i], cases[j])) {
                    families[cases[i].family].emplace_back(i, j);
                }
            }
        }
        for (auto& [family, pairs] : families) {
            pairs_.push_back(std::move(pairs));
        }
    }

    double loss(bool medians) const {
        std::vector<double> off;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            off.push_back(predicted_s(i) / steps_[i].measured_s);
        }
        double sum = 0;
        for (const Pairs& pairs : pairs_) {
            std::vector<double> errors;
            double mean = 0;
            for (const auto& [a, b] : pairs) {
                errors.push_back(std::abs(off[a] / off[b] - 1));
                mean += std::min(errors.back(), kErrorCap);
            }
            mean /= static_cast<double>(errors.size());
            sum += medians ? summarise(std::move(errors)).median : mean;
        }
        return pairs_.empty() ? 0 : sum / static_cast<double>(pairs_.size());
    }

    void improve(Factor& factor, bool medians, double& best) {
        const double from = factor.value;
        for (const double direction : {1.0, -1.0}) {
            factor.value =
                std::clamp(from + direction * factor.step, factor.smallest, factor.largest);
            const double tried = factor.value == from ? best : loss(medians);
            if (tried < best) {
                best = tried;
                return;
            }
        }
        factor.value = from;
        factor.step *= 0.6;
    }

    std::vector<Factor> factors_;
    std::map<std::tuple<std::string, std::string, std::string>, std::size_t> numbers_;
    std::vector<Parts> steps_;
    std::vector<Pairs> pairs_;
};

}  // namespace

RatioFloor ratio_floor(const std::vector<StepSample>& samples) {
    Validation validation;
    for (const StepSample& sample : samples) {
        validation.rows.push_back({.name = sample.name,
                                   .family = sample.family,
                                   .measured_s = sample.measured_s,
                                   .control_s = sample.control_s,
                                   .stack = sample.stack});
    }
    FloorSearch search{samples, validation.rows};
    search.minimise();
    for (std::size_t i = 0; i < samples.size(); ++i) {
        validation.rows[i].predicted_s = search.predicted_s(i);
    }
    summarise_families(validation);
    return {.factors = search.num_factors(),
            .ratio_error = validation.ratio_error,
            .balanced_error = validation.balanced_error};
}

}  // namespace orrery

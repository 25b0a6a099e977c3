// SPDX-License-Identifier: Apache-2.0
#include "scenarios/validate/unseen_fit.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "scenarios/validate/validation.h"

namespace orrery {
namespace {

constexpr double kSpreadShare = 0.9;
constexpr double kSpreadSigma = 0.2;  // of a spread that some fifteen families tell

void add_step_error(const StepSample& sample, const EfficiencyTable& table, FamilyErrors& errors) {
    errors[sample.family].push_back(
        std::abs(std::log(predict_step(sample, table) / sample.measured_s)));
}

// Every sample as factors predict it that were fitted on the samples of another key.
template <class Key>
FamilyErrors errors_left_out(const std::vector<StepSample>& samples, const Key& key_of) {
    std::set<std::string> keys;
    for (const StepSample& sample : samples) {
        keys.insert(key_of(sample));
    }
    FamilyErrors errors;
    for (const std::string& key : keys) {
        std::vector<StepSample> kept;
        std::ranges::copy_if(samples, std::back_inserter(kept), [&](const StepSample& sample) {
            return key_of(sample) != key;
        });
        const EfficiencyTable table = fit_factors(kept);
        for (const StepSample& sample : samples) {
            if (key_of(sample) == key) {
                add_step_error(sample, table, errors);
            }
        }
    }
    return errors;
}

}  // namespace

double spread_between(const FamilyErrors& errors) {
    std::vector<std::pair<double, double>> weighed;  // error, weight
    for (const auto& [family, of_family] : errors) {
        for (const double error : of_family) {
            weighed.emplace_back(error,
                                 1.0 / static_cast<double>(of_family.size() * errors.size()));
        }
    }
    std::ranges::sort(weighed);
    double below = 0;
    for (const auto& [error, weight] : weighed) {
        below += weight;
        if (below >= kSpreadShare) {
            return error / kQuantile95;
        }
    }
    return weighed.empty() ? 0 : weighed.back().first / kQuantile95;
}

UnseenErrors unseen_errors(const std::vector<StepSample>& fitted,
                           const std::vector<StepSample>& others) {
    UnseenErrors errors{
        .family = errors_left_out(fitted, [](const StepSample& s) { return s.family; }),
        .software =
            errors_left_out(fitted, [](const StepSample& s) { return software_of(s.stack); }),
        .device = errors_left_out(fitted, [](const StepSample& s) { return s.generation; })};
    std::set<std::string> seen;
    std::set<std::string> generations;
    for (const StepSample& sample : fitted) {
        seen.insert(software_of(sample.stack));
        generations.insert(sample.generation);
    }
    const EfficiencyTable table = fit_factors(fitted);
    for (const StepSample& sample : others) {
        if (!generations.contains(sample.generation)) {
            add_step_error(sample, table, errors.device);
        } else if (!seen.contains(software_of(sample.stack))) {
            add_step_error(sample, table, errors.software);
        }
    }
    return errors;
}

void set_residuals(const std::vector<StepSample>& fitted,
                   const UnseenErrors& errors,
                   EfficiencyTable& table) {
    const auto set = [&](const char* name, double value, const char* source) {
        table.set(name, "*", "*", {.value = value, .sigma = kSpreadSigma, .source = source});
    };
    // More that was not seen is never less uncertain.
    const double family = spread_between(errors.family);
    const double software = std::max(family, spread_between(errors.software));
    set("step.residual", family, "fit: families left out");
    set("step.residual.software", software, "fit: software left out");
    set("step.residual.device",
        std::max(software, spread_between(errors.device)),
        "fit: generations left out");
    std::map<std::tuple<std::string, std::string, std::string>, std::set<std::string>> families;
    for (const StepSample& sample : fitted) {
        families[{software_of(sample.stack), sample.generation, sample.dtype}].insert(
            sample.family);
    }
    for (const auto& [key, of_software] : families) {
        const auto& [software_name, generation, dtype] = key;
        table.set("step.seen." + software_name,
                  generation,
                  dtype,
                  {.value = static_cast<double>(of_software.size()),
                   .sigma = 0,
                   .source = "families that were fitted on"});
    }
}

double left_out_coverage(const FamilyErrors& errors) {
    double sum = 0;
    for (const auto& [family, of_family] : errors) {
        FamilyErrors others = errors;
        others.erase(family);
        const double half_width = kQuantile95 * spread_between(others);
        sum += static_cast<double>(std::ranges::count_if(
                   of_family, [&](double error) { return error <= half_width; })) /
               static_cast<double>(of_family.size());
    }
    return errors.empty() ? 0 : sum / static_cast<double>(errors.size());
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/control.h"

#include <fmt/format.h>

#include <cmath>

#include "models/plan/flops.h"
#include "scenarios/studies/validate/validation.h"

namespace orrery {
namespace {

std::string class_of(const Scenario& scenario) {
    return fmt::format("{} {}", scenario.device.generation, name(scenario.plan.precision));
}

// Step time at an MFU of 1.
double ideal_s(const Scenario& scenario) {
    const ModelFlops flops = model_flops(scenario.model, scenario.plan);
    const double peak = scenario.device.peak(scenario.plan.precision).per_second();
    return flops.full_attention.count() / (peak * scenario.cluster.num_ranks());
}

struct ControlRow {
    std::string family;
    double mfu = 0;  // measured
};

// Error of one class under a constant MFU: the mean over families of their median errors.
double balanced_error(const std::vector<ControlRow>& rows, double mfu) {
    std::map<std::string, std::vector<double>> families;
    for (const ControlRow& row : rows) {
        families[row.family].push_back(std::abs(row.mfu / mfu - 1));
    }
    double sum = 0;
    for (auto& [family, errors] : families) {
        sum += summarise(std::move(errors)).median;
    }
    return sum / static_cast<double>(families.size());
}

}  // namespace

Control::Control(const std::vector<MeasuredScenario>& rows) {
    std::map<std::string, std::vector<ControlRow>> classes;
    for (const MeasuredScenario& row : rows) {
        const double mfu = ideal_s(row.scenario) / row.measured_s;
        classes[class_of(row.scenario)].push_back({row.family, mfu});
    }
    double sum = 0;
    for (const auto& [name, members] : classes) {
        double best = 0.4;
        double least = balanced_error(members, best);
        // A family's median changes only where the constant passes a measured value or the middle
        // of two values. The minimum over a fine grid is therefore exact to the grid's step.
        for (int permille = 50; permille <= 950; ++permille) {
            const double mfu = permille / 1000.0;
            if (const double error = balanced_error(members, mfu); error < least) {
                least = error;
                best = mfu;
            }
        }
        mfu_[name] = best;
        sum += best;
    }
    if (!mfu_.empty()) {
        otherwise_ = sum / static_cast<double>(mfu_.size());
    }
}

double Control::predicted_s(const Scenario& scenario) const {
    const auto found = mfu_.find(class_of(scenario));
    return ideal_s(scenario) / (found == mfu_.end() ? otherwise_ : found->second);
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/step_response.h"

#include <algorithm>
#include <cmath>

#include "scenarios/studies/simulate/simulate_scenario.h"
#include "scenarios/studies/simulate/step_costs.h"

namespace orrery {
namespace {

// Factors at which the curves are sampled. Curves of kernels are almost straight. Transfers and
// calls become exposed behind kernels as they slow down, so they have two samples.
constexpr double kKernelProbe = 1.3;
constexpr std::array kTransferProbes{2.0, 5.0};
constexpr std::array kCallProbes{1.5, 3.0};

constexpr std::size_t kProducts = 0;
constexpr std::size_t kElementWise = 1;
constexpr std::size_t kCommunication = 2;
constexpr std::size_t kHostCalls = 3;

class Probe {
public:
    Probe(const Scenario& scenario, EfficiencyTable table)
        : scenario_(scenario), table_(std::move(table)) {
        scenario_.network = NetworkFidelity::analytic;
    }
    Result<Answer> at(const Calibration& facts) const {
        EfficiencyTable table = table_;
        apply_calibration(facts, table);
        return simulate_scenario(scenario_, {.step_table = std::move(table)});
    }
    Result<Answer> at(std::size_t factor, double value) const {
        Calibration facts{.generation = scenario_.device.generation};
        facts.*kCalibrationFactors[factor].member = value;
        return at(facts);
    }

private:
    Scenario scenario_;
    EfficiencyTable table_;
};

// Adds the points of the samples to a curve whose step at factor 1 is known.
template <class Probes>
Result<void> add_points(const Probe& probe,
                        std::size_t factor,
                        const Probes& probes,
                        ResponseCurve& curve) {
    for (const double value : probes) {
        const Result<Answer> answer = probe.at(factor, value);
        if (!answer) {
            return unexpected<Error>(answer.error());
        }
        curve.add(value, answer->iteration.seconds());
    }
    return {};
}

}  // namespace

double ResponseCurve::change(double factor) const {
    if (points_.size() < 2) {
        return 0;
    }
    double at_one = 0;
    const auto at = [&](double x) {
        std::size_t i = 1;
        while (i + 1 < points_.size() && points_[i].first < x) {
            ++i;
        }
        const auto& [x0, y0] = points_[i - 1];
        const auto& [x1, y1] = points_[i];
        return y0 + (y1 - y0) * (x - x0) / (x1 - x0);
    };
    at_one = at(1);
    return at(factor) - at_one;
}

double StepResponse::under(const Calibration& facts) const {
    // The factor that all facts share: their mean, weighted by the step's time in kernels.
    const double products = curves[kProducts].change(2);
    const double others = curves[kElementWise].change(2);
    const double kernels = products + others;
    const double share = kernels > 0 ? products / kernels : 1;
    const double shared =
        std::exp(share * std::log(facts.products) + (1 - share) * std::log(facts.element_wise));
    double seconds = analytic_s;
    for (std::size_t f = 0; f < kCalibrationFactors.size(); ++f) {
        seconds += curves[f].change(facts.*kCalibrationFactors[f].member / shared);
    }
    return std::max(seconds, 0.05 * analytic_s) * shared * predicted_s / analytic_s +
           facts.step.seconds();
}

Result<StepResponse> step_response(const PublishedCase& row,
                                   const ValidatedCase& validated,
                                   const Catalogue& catalogue) {
    const Result<Scenario> scenario = scenario_of(row, catalogue);
    if (!scenario) {
        return unexpected<Error>(scenario.error());
    }
    const auto table =
        read_efficiency_table((default_catalogue() / "step_efficiency.csv").string());
    if (!table) {
        return unexpected<Error>(table.error().front());
    }
    const Probe probe{*scenario, *table};
    const Result<Answer> here = probe.at(Calibration{.generation = scenario->device.generation});
    const Result<Answer> slower = probe.at(kProducts, kKernelProbe);
    if (!here || !slower) {
        return unexpected<Error>(here ? slower.error() : here.error());
    }
    const double base = here->iteration.seconds();
    StepResponse response{.predicted_s = validated.simulated_s(),
                          .measured_s = validated.measured_s,
                          .sigma = validated.sigma,
                          .analytic_s = base};
    const double transfers = communication_on(here->critical_path).seconds();
    const double calls = here->critical_path[Cause::launch].seconds();
    const double products = (slower->iteration.seconds() - base) / (kKernelProbe - 1);
    response.curves[kProducts].add(1, base);
    response.curves[kProducts].add(2, base + products);
    response.curves[kElementWise].add(1, base);
    response.curves[kElementWise].add(2, base + std::max(0.0, base - transfers - calls - products));
    if (row.num_gpus > 1) {
        ResponseCurve& curve = response.curves[kCommunication];
        curve.add(0, base - transfers);
        curve.add(1, base);
        if (const auto done = add_points(probe, kCommunication, kTransferProbes, curve); !done) {
            return unexpected<Error>(done.error());
        }
    }
    if (scenario->plan.ops_are_calls()) {
        ResponseCurve& curve = response.curves[kHostCalls];
        curve.add(0, base - calls);
        curve.add(1, base);
        if (const auto done = add_points(probe, kHostCalls, kCallProbes, curve); !done) {
            return unexpected<Error>(done.error());
        }
    }
    return response;
}

}  // namespace orrery

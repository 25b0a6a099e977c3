// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_efficiency.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "kernels/catalogue.h"
#include "scenarios/format/specs/calibration.h"
#include "scenarios/studies/simulate/software.h"

namespace orrery {
namespace {

constexpr std::string_view kSeen = "step.seen.";

// Quantile of the standard normal distribution by bisection on erfc: equal on all platforms.
double normal_quantile(double p) {
    double low = -10;
    double high = 10;
    for (int i = 0; i < 100; ++i) {
        const double middle = (low + high) / 2;
        (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
    }
    return (low + high) / 2;
}

constexpr std::int64_t kSmallHead = 64;

bool is_attention(const KernelCall& call) {
    return descriptor_of(call.kind).efficiency == EfficiencyClass::attention;
}

}  // namespace

std::string_view name(Unseen unseen) {
    constexpr std::array<std::string_view, 5> kNames{
        "nothing", "software", "lineage", "device", "experts"};
    return kNames[static_cast<std::size_t>(unseen)];
}

std::string residual_name(Unseen unseen) {
    return unseen == Unseen::nothing ? "step.residual"
                                     : fmt::format("step.residual.{}", name(unseen));
}

std::string shift_name(Unseen unseen) {
    return fmt::format("step.shift.{}", name(unseen));
}

void SeenSteps::add(std::string_view software,
                    std::string_view generation,
                    std::string_view dtype) {
    steps_.emplace(std::string{generation} + ' ' + std::string{dtype}, software_of(software));
}

Unseen SeenSteps::software(std::string_view software) const {
    return among(steps_.begin(), steps_.end(), software);
}

Unseen SeenSteps::step(std::string_view software,
                       std::string_view generation,
                       std::string_view dtype) const {
    const std::string device = std::string{generation} + ' ' + std::string{dtype};
    const auto [first, last] =
        std::pair{steps_.lower_bound({device, {}}), steps_.lower_bound({device + ' ', {}})};
    return first == last ? Unseen::device : among(first, last, software);
}

Unseen SeenSteps::among(Steps::const_iterator first,
                        Steps::const_iterator last,
                        std::string_view stack) {
    const std::string software = software_of(stack);
    const std::string lineage = lineage_of(stack);
    Unseen unseen = Unseen::lineage;
    for (; first != last; ++first) {
        if (first->second == software) {
            return Unseen::nothing;
        }
        if (lineage_of(first->second) == lineage) {
            unseen = Unseen::software;
        }
    }
    return unseen;
}

double expected_maximum_of_normals(std::int64_t n) {
    if (n < 2) {
        return 0;
    }
    const auto count = static_cast<double>(n);
    return normal_quantile((count - 0.375) / (count + 0.25));
}

double slowest_server(double slow_share, double slowdown, std::int64_t num_servers) {
    return 1 + slowdown * (1 - std::pow(1 - slow_share, static_cast<double>(num_servers)));
}

std::string_view StepEfficiency::factor_name(const KernelCall& call) {
    if (is_attention(call)) {
        const AttentionShape shape = attention_shape(call);
        if (shape.generation != AttentionGeneration::flash_1) {
            return "sustained.attention";
        }
        return shape.head_dim <= kSmallHead ? "sustained.attention.flash_1.small_heads"
                                            : "sustained.attention.flash_1";
    }
    return descriptor_of(call.kind).efficiency == EfficiencyClass::product ? "sustained.gemm"
                                                                           : "sustained.memory";
}

std::string StepEfficiency::growth_name(std::string_view factor_name) {
    return factor_name.starts_with("sustained.attention.flash_1")
               ? "sustained.attention.flash_1.growth"
               : std::string{factor_name} + ".growth";
}

double StepEfficiency::factor(const KernelCall& call) const {
    if (call.tier != MemoryTier::hbm) {
        return 1.0;  // the factors were not fitted on the host's processors
    }
    const std::string_view name = factor_name(call);
    const bool product = name != "sustained.memory";
    const double calibrated = calibrated_factor(
        table_, calibration_factor(product ? "products" : "element_wise"), device_.generation);
    const double factor =
        calibrated * table_.value_or(name, device_.generation, dtype_class(call.dtype), 1.0);
    if (!is_attention(call)) {
        return factor;
    }
    const double growth = table_.value_or(growth_name(name), device_.generation, "*", 0.0);
    const auto keys = static_cast<double>(attention_shape(call).seq_kv);
    return factor * std::pow(keys / kGrowthOrigin, -growth);
}

double StepEfficiency::slowest_of(std::int64_t num_devices) const {
    const double sigma = table_.value_or("noise.sigma", device_.generation, "*", 0.0);
    return 1 + sigma * expected_maximum_of_normals(num_devices);
}

// Widens the residual: a further unseen property never reduces the uncertainty.
void StepEfficiency::widen(StepResidual& residual, Unseen unseen) const {
    const double sigma = table_.value_or(residual_name(unseen), device_.generation, "*", 0.0);
    if (sigma > residual.sigma) {
        residual.sigma = sigma;
        residual.widest = unseen;
        residual.shift = table_.value_or(shift_name(unseen), device_.generation, "*", 0.0);
    }
}

StepResidual StepEfficiency::residual(std::string_view software,
                                      Dtype precision,
                                      bool experts) const {
    const std::string& generation = device_.generation;
    SeenSteps seen;
    for (const auto& [key, parameter] : table_.rows()) {
        const auto& [row, of, type] = key;
        if (row.starts_with(kSeen)) {
            seen.add(std::string_view{row}.substr(kSeen.size()), of, type);
        }
    }
    const EfficiencyParameter* calibrated =
        table_.find(std::string{kCalibratedSpreadRow} + software_of(software),
                    generation,
                    dtype_class(precision));
    if (calibrated != nullptr) {
        return {calibrated->value, Unseen::nothing};
    }
    const double known = table_.value_or("step.residual", generation, "*", 0.0);
    if (seen.empty()) {
        return {known, Unseen::nothing};
    }
    const Unseen unseen = seen.step(software, generation, dtype_class(precision));
    const Unseen of_software = unseen == Unseen::device ? seen.software(software) : unseen;
    StepResidual residual{known, unseen};
    for (const Unseen wider : {Unseen::software, Unseen::lineage, Unseen::device}) {
        if (wider == unseen || wider <= of_software) {
            widen(residual, wider);
        }
    }
    if (experts) {
        widen(residual, Unseen::experts);
        residual.unseen = unseen == Unseen::nothing ? Unseen::experts : unseen;
    }
    return residual;
}

Time StepEfficiency::restart() const {
    const bool on_host = device_.generation == "cpu";
    return on_host ? Time{}
                   : Time::seconds(
                         table_.value_or("host.restart_us", device_.generation, "*", 0.0) * 1e-6);
}

const EfficiencyParameter* StepEfficiency::call_of(const ParallelPlan& plan) const {
    return plan.ops_are_calls() && device_.generation != "cpu"
               ? table_.find("host.call", device_.generation, dtype_class(plan.precision))
               : nullptr;
}

Time StepEfficiency::launch_cost(const ParallelPlan& plan) const {
    if (plan.cuda_graphs) {
        return device_.graph_launch_cost;
    }
    const EfficiencyParameter* call = call_of(plan);
    const double calibrated =
        calibrated_factor(table_, calibration_factor("host_calls"), device_.generation);
    const double calls = calibrated * (call == nullptr ? 1.0 : call->value);
    return calls == 1 ? device_.launch_cost : Time::seconds(device_.launch_cost.seconds() * calls);
}

double StepEfficiency::launch_sigma(const ParallelPlan& plan) const {
    const EfficiencyParameter* call = call_of(plan);
    return call == nullptr ? 0 : call->sigma;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The estimator. kernels/fit_parameters.cpp has the parameters, their priors and the rules between
// generations.
#include "kernels/fit.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/base/check.h"
#include "engine/base/statistics.h"
#include "kernels/efficiency.h"
#include "kernels/fit_parameters.h"
#include "kernels/gemm_range.h"

namespace orrery {

namespace {

constexpr double kRowSigma = 0.08;           // of a row's log time about the curve
constexpr double kSourceSigma = 0.05;        // of a source's factor
constexpr double kClockResolution = 0.3e-6;  // tables are printed to 1 us
constexpr double kHuber = 1.345;             // 95 % efficiency on normal errors (Huber, 1964)
constexpr int kIterations = 60;
constexpr double kStep = 1e-4;  // of the numeric derivative, in log space

double predict(const Measurement& row, const EfficiencyCurves& curves) {
    double seconds = 0;
    for (const KernelCall& call : row.calls) {
        seconds += curves.time(call).seconds;
    }
    return seconds;
}

using Curves = std::map<std::string, EfficiencyCurves>;

Curves curves_of(const EfficiencyTable& table, const std::map<std::string, DeviceSpec>& devices) {
    Curves curves;
    for (const auto& [name, device] : devices) {
        curves.emplace(name, EfficiencyCurves(table, device, Load::burst));
    }
    return curves;
}

// The best of many shapes, each timed for milliseconds: faster than power allows for longer.
constexpr const char* kBestProducts = "gemm-best";

bool is_burst(const Measurement& row,
              const std::map<std::string, DeviceSpec>& devices,
              const EfficiencyTable& table) {
    return row.source == kBestProducts &&
           table.find("gemm.timed_at_watts", devices.at(row.device).generation, "*") != nullptr;
}

// [gemm.burst]: part of the peak that the best products reach for a while. They are compared with
// the fitted curve, since their k and tiles cost a part of it, too.
void set_gemm_burst(const std::vector<Measurement>& rows,
                    const std::map<std::string, DeviceSpec>& devices,
                    EfficiencyTable& table) {
    std::map<std::string, std::vector<double>> bursts;
    for (const Measurement& row : rows) {
        const DeviceSpec& device = devices.at(row.device);
        if (!is_burst(row, devices, table) || dtype_class(row.calls.at(0).dtype) != "fp16") {
            continue;
        }
        const EfficiencyCurves curves(table, device, Load::burst);
        bursts[device.generation].push_back(
            std::log(curves.asymptote(Dtype::bf16) * predict(row, curves) / row.seconds));
    }
    for (const auto& [generation, logs] : bursts) {
        const Moments of_logs = moments(logs);
        table.set("gemm.burst",
                  generation,
                  "fp16",
                  {.value = std::exp(of_logs.mean),
                   .sigma = std::max(kSourceSigma, of_logs.deviation()),
                   .source = std::string{"fit: "} + kBestProducts});
    }
}

// The fit of one family. The unknowns are the logarithms of its parameters, then of the sources'
// factors.
class FamilyFit {
public:
    FamilyFit(const std::string& family,
              const std::vector<Measurement>& rows,
              const std::map<std::string, DeviceSpec>& devices,
              EfficiencyTable table)
        : parameters_(fit_parameters(family)), table_(std::move(table)) {
        std::set<std::string> sources;
        for (const Measurement& row : rows) {
            if (row.family == family && !is_burst(row, devices, table_)) {
                rows_.push_back(&row);
                sources.insert(row.source);
                devices_.insert(*devices.find(row.device));
            }
        }
        sources_.assign(sources.begin(), sources.end());
        unknowns_ =
            Eigen::VectorXd::Zero(static_cast<Eigen::Index>(parameters_.size() + sources_.size()));
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            unknowns_[static_cast<Eigen::Index>(i)] = std::log(parameters_[i].prior);
        }
    }

    void solve() {
        double damping = 1e-3;
        Eigen::VectorXd residuals = residuals_at(unknowns_);
        for (int i = 0; i < kIterations; ++i) {
            const Eigen::MatrixXd jacobian = jacobian_at(unknowns_, residuals);
            const Eigen::VectorXd weights = huber_weights(residuals);
            normal_ = jacobian.transpose() * weights.asDiagonal() * jacobian;
            const Eigen::VectorXd gradient =
                jacobian.transpose() * weights.asDiagonal() * residuals;
            Eigen::MatrixXd damped = normal_;
            damped.diagonal() *= 1 + damping;
            const Eigen::VectorXd step = damped.ldlt().solve(-gradient);
            const Eigen::VectorXd trial = unknowns_ + step;
            const Eigen::VectorXd at_trial = residuals_at(trial);
            if (loss(at_trial) < loss(residuals)) {
                const double gain = loss(residuals) - loss(at_trial);
                unknowns_ = trial;
                residuals = at_trial;
                damping = std::max(damping / 3, 1e-9);
                if (gain < 1e-7) {
                    break;
                }
            } else if (damping > 1e6) {
                break;
            } else {
                damping *= 4;
            }
        }
        store();
    }

    const EfficiencyTable& table() const { return table_; }
    std::map<std::string, double> source_factors() const {
        std::map<std::string, double> factors;
        for (std::size_t i = 0; i < sources_.size(); ++i) {
            factors[sources_[i]] =
                std::exp(unknowns_[static_cast<Eigen::Index>(parameters_.size() + i)]);
        }
        return factors;
    }

private:
    EfficiencyTable table_at(const Eigen::VectorXd& unknowns) const {
        EfficiencyTable table = table_;
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            const FitParameter& parameter = parameters_[i];
            table.set(parameter.name,
                      parameter.generation,
                      parameter.dtype,
                      {.value = std::exp(unknowns[static_cast<Eigen::Index>(i)]),
                       .sigma = parameter.prior_sigma,
                       .source = parameter.prior_source});
        }
        return table;
    }

    // The rows first, then one residual per prior.
    Eigen::VectorXd residuals_at(const Eigen::VectorXd& unknowns) const {
        const Curves curves = curves_of(table_at(unknowns), devices_);
        const auto num_rows = static_cast<Eigen::Index>(rows_.size());
        Eigen::VectorXd residuals(num_rows + unknowns.size());
        for (Eigen::Index i = 0; i < num_rows; ++i) {
            const Measurement& row = *rows_[static_cast<std::size_t>(i)];
            const auto source = std::find(sources_.begin(), sources_.end(), row.source);
            const double factor = unknowns[static_cast<Eigen::Index>(parameters_.size()) +
                                           (source - sources_.begin())];
            const double sigma = std::hypot(kRowSigma, kClockResolution / row.seconds);
            residuals[i] =
                (std::log(predict(row, curves.at(row.device)) / row.seconds) + factor) / sigma;
        }
        for (Eigen::Index i = 0; i < unknowns.size(); ++i) {
            const auto index = static_cast<std::size_t>(i);
            residuals[num_rows + i] = index < parameters_.size()
                                          ? (unknowns[i] - std::log(parameters_[index].prior)) /
                                                parameters_[index].prior_sigma
                                          : unknowns[i] / kSourceSigma;
        }
        return residuals;
    }

    Eigen::MatrixXd jacobian_at(const Eigen::VectorXd& unknowns,
                                const Eigen::VectorXd& residuals) const {
        Eigen::MatrixXd jacobian(residuals.size(), unknowns.size());
        for (Eigen::Index i = 0; i < unknowns.size(); ++i) {
            Eigen::VectorXd moved = unknowns;
            moved[i] += kStep;
            jacobian.col(i) = (residuals_at(moved) - residuals) / kStep;
        }
        return jacobian;
    }

    // For the rows only: priors are not data and keep their weight.
    Eigen::VectorXd huber_weights(const Eigen::VectorXd& residuals) const {
        Eigen::VectorXd weights = Eigen::VectorXd::Ones(residuals.size());
        for (Eigen::Index i = 0; i < static_cast<Eigen::Index>(rows_.size()); ++i) {
            weights[i] = std::min(1.0, kHuber / std::max(std::abs(residuals[i]), 1e-12));
        }
        return weights;
    }

    double loss(const Eigen::VectorXd& residuals) const {
        double sum = 0;
        for (Eigen::Index i = 0; i < residuals.size(); ++i) {
            const double r = std::abs(residuals[i]);
            const bool row = i < static_cast<Eigen::Index>(rows_.size());
            sum += row && r > kHuber ? kHuber * (r - kHuber / 2) : r * r / 2;
        }
        return sum;
    }

    void store() {
        table_ = table_at(unknowns_);
        const Eigen::MatrixXd covariance =
            normal_.ldlt().solve(Eigen::MatrixXd::Identity(normal_.rows(), normal_.cols()));
        std::string sources = "fit:";
        for (const std::string& source : sources_) {
            sources += " " + source;
        }
        for (std::size_t i = 0; i < parameters_.size(); ++i) {
            const FitParameter& parameter = parameters_[i];
            const auto at = static_cast<Eigen::Index>(i);
            const double sigma = std::sqrt(std::max(covariance(at, at), 0.0));
            const bool informed = sigma < 0.9 * parameter.prior_sigma;
            table_.set(parameter.name,
                       parameter.generation,
                       parameter.dtype,
                       {.value = std::exp(unknowns_[at]),
                        .sigma = informed ? sigma : parameter.prior_sigma,
                        .source = informed ? sources : parameter.prior_source});
        }
    }

    std::vector<FitParameter> parameters_;
    std::map<std::string, DeviceSpec> devices_;  // of the rows
    EfficiencyTable table_;
    std::vector<const Measurement*> rows_;
    std::vector<std::string> sources_;
    Eigen::VectorXd unknowns_;
    Eigen::MatrixXd normal_;
};

// Robust standard deviation of the log error: 1.4826 median |r|, but at least the value that a
// normal distribution with the same 90th percentile has.
double residual_sigma(const std::vector<FitResidual>& residuals,
                      const std::map<std::string, DeviceSpec>& devices,
                      const std::string& family,
                      const std::string& generation) {
    std::vector<double> errors;
    for (const FitResidual& residual : residuals) {
        if (residual.family == family && devices.at(residual.device).generation == generation) {
            errors.push_back(std::abs(std::log1p(residual.error())));
        }
    }
    std::sort(errors.begin(), errors.end());
    return errors.size() < 5
               ? 0.0
               : std::max(1.4826 * quantile(errors, 0.5), quantile(errors, 0.9) / 1.645);
}

}  // namespace

std::vector<FitResidual> residuals_of(const EfficiencyTable& table,
                                      const std::vector<Measurement>& rows,
                                      const std::map<std::string, DeviceSpec>& devices) {
    const Curves curves = curves_of(table, devices);
    std::vector<FitResidual> residuals;
    for (const Measurement& row : rows) {
        const EfficiencyCurves& curve = curves.at(row.device);
        const double clock =
            is_burst(row, devices, table)
                ? burst_over_sustained(
                      table, devices.at(row.device).generation, curve.asymptote(Dtype::bf16))
                : 1;
        residuals.push_back({.name = row.name,
                             .family = row.family,
                             .source = row.source,
                             .device = row.device,
                             .measured_seconds = row.seconds,
                             .predicted_seconds = clock * predict(row, curve)});
    }
    return residuals;
}

FitReport fit_efficiency(const std::vector<Measurement>& rows,
                         const std::map<std::string, DeviceSpec>& devices) {
    FitReport report;
    report.table = fixed_parameters();
    // Bandwidth first, because the other two families depend on it.
    for (const std::string family : {"memory", "gemm", "attention"}) {
        FamilyFit fit(family, rows, devices, report.table);
        fit.solve();
        report.table = fit.table();
        for (const auto& [source, factor] : fit.source_factors()) {
            report.source_factors[family + " " + source] = factor;
        }
    }
    set_gemm_burst(rows, devices, report.table);
    set_gemm_ranges(rows, devices, report.table);
    apply_generation_rules(report.table);
    report.residuals = residuals_of(report.table, rows, devices);
    const std::map<std::string, std::string> family_names{{"memory", "memory.residual"},
                                                          {"gemm", "gemm.residual"},
                                                          {"attention", "attention.residual"}};
    for (const auto& [family, name] : family_names) {
        for (const std::string generation : {"ampere", "hopper", "blackwell"}) {
            const double sigma = residual_sigma(report.residuals, devices, family, generation);
            if (sigma > 0) {
                set_residual(report.table, name, generation, sigma);
            }
        }
    }
    return report;
}

std::map<std::string, FitSummary> summarise(const std::vector<FitResidual>& residuals) {
    std::map<std::string, std::vector<double>> groups;
    for (const FitResidual& residual : residuals) {
        groups[residual.family + " " + residual.device].push_back(residual.error());
    }
    std::map<std::string, FitSummary> summaries;
    for (const auto& [name, errors] : groups) {
        std::vector<double> absolute = errors;
        for (double& error : absolute) {
            error = std::abs(error);
        }
        std::sort(absolute.begin(), absolute.end());
        summaries[name] = {.rows = errors.size(),
                           .median_error = median(errors),
                           .median_absolute_error = quantile(absolute, 0.5),
                           .p90_absolute_error = quantile(absolute, 0.9)};
    }
    return summaries;
}

}  // namespace orrery

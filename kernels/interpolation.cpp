// SPDX-License-Identifier: Apache-2.0
#include "kernels/interpolation.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>

namespace orrery {

namespace {

constexpr std::size_t kNumNeighbours = 24;
constexpr std::size_t kMaxTrainingRows = 64;
constexpr std::size_t kMinTrainingRows = 8;
constexpr double kShared = 0.3;  // part of the predictable variance that a whole group shares

double squared_distance(const std::array<double, 7>& a, const std::array<double, 7>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sum;
}

double covariance(const Smoothness& smoothness, const ShapePosition& a, const ShapePosition& b) {
    const double scaled = squared_distance(a, b) / (2 * smoothness.length * smoothness.length);
    return (1 - smoothness.nugget) * (kShared + (1 - kShared) * std::exp(-scaled));
}

Eigen::MatrixXd covariance_matrix(const Smoothness& smoothness,
                                  const std::vector<const MeasuredShape*>& rows,
                                  double curve_sigma) {
    const double prior = std::pow(smoothness.amplitude * curve_sigma, 2);
    const auto n = static_cast<Eigen::Index>(rows.size());
    Eigen::MatrixXd matrix(n, n);
    for (Eigen::Index i = 0; i < n; ++i) {
        const MeasuredShape& a = *rows[static_cast<std::size_t>(i)];
        for (Eigen::Index j = 0; j < n; ++j) {
            const MeasuredShape& b = *rows[static_cast<std::size_t>(j)];
            matrix(i, j) = prior * covariance(smoothness, a.position, b.position);
        }
        matrix(i, i) += prior * smoothness.nugget + a.variance;
    }
    return matrix;
}

}  // namespace

Smoothness most_likely_smoothness(const std::vector<MeasuredShape>& rows, double curve_sigma) {
    Smoothness best;
    if (rows.size() < kMinTrainingRows) {
        return best;
    }
    const std::size_t count = std::min(rows.size(), kMaxTrainingRows);
    const auto n = static_cast<Eigen::Index>(count);
    std::vector<const MeasuredShape*> chosen;
    Eigen::VectorXd ratios(n);
    for (std::size_t i = 0; i < count; ++i) {  // evenly spaced over the file
        chosen.push_back(&rows[i * rows.size() / count]);
        ratios[static_cast<Eigen::Index>(i)] = chosen.back()->log_ratio;
    }
    double best_likelihood = -std::numeric_limits<double>::infinity();
    for (const double length : {1.5, 3.0}) {
        for (const double nugget : {0.0, 0.02, 0.1, 0.3, 0.6, 0.9}) {
            for (const double amplitude : {0.5, 1.0, 2.0, 4.0}) {
                const Smoothness trial{.length = length, .nugget = nugget, .amplitude = amplitude};
                const Eigen::LLT<Eigen::MatrixXd> factor(
                    covariance_matrix(trial, chosen, curve_sigma));
                const double volume = 2 * factor.matrixLLT().diagonal().array().log().sum();
                const double likelihood = -0.5 * (ratios.dot(factor.solve(ratios)) + volume);
                if (likelihood > best_likelihood) {
                    best_likelihood = likelihood;
                    best = trial;
                }
            }
        }
    }
    return best;
}

// Kriging with the nearest rows. The weights solve (K + noise) w = k; the mean is w . log ratios;
// the variance is the part of the prior's that the neighbours do not explain.
Correction interpolate(const std::vector<MeasuredShape>& rows,
                       const Smoothness& smoothness,
                       const ShapePosition& here,
                       double curve_sigma) {
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        order.emplace_back(squared_distance(here, rows[i].position), i);
    }
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), kNumNeighbours));
    const auto n = static_cast<Eigen::Index>(order.size());
    const double prior = std::pow(smoothness.amplitude * curve_sigma, 2);
    const double unknowable = prior * smoothness.nugget;
    Eigen::VectorXd to_here(n);
    Eigen::VectorXd ratios(n);
    std::vector<const MeasuredShape*> nearest;
    for (Eigen::Index i = 0; i < n; ++i) {
        const MeasuredShape& row = rows[order[static_cast<std::size_t>(i)].second];
        nearest.push_back(&row);
        to_here[i] = prior * covariance(smoothness, here, row.position);
        ratios[i] = row.log_ratio;
    }
    const Eigen::MatrixXd matrix = covariance_matrix(smoothness, nearest, curve_sigma);
    const Eigen::VectorXd weights = matrix.ldlt().solve(to_here);
    const double knowable = prior - unknowable;
    const double left = std::max(knowable - weights.dot(to_here), 0.0);
    return {.log_ratio = weights.dot(ratios),
            .sigma = std::sqrt(left + unknowable + kNextMachineSigma * kNextMachineSigma),
            .informed = left < knowable / 2};
}

}  // namespace orrery

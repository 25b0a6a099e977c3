// SPDX-License-Identifier: Apache-2.0
#include "kernels/cost_model.h"

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

namespace orrery {

namespace {

constexpr std::size_t kNumNeighbours = 24;
constexpr double kLength = 1.5;          // octaves over which the curve's error is alike
constexpr double kSharedVariance = 0.3;  // part of the curve's variance that a whole group shares
constexpr double kMachineSigma = 0.02;   // the next GPU of the same kind

// Logarithms of the dimensions; attention packs two into the last one.
std::array<double, 7> position_of(const KernelCall& call) {
    std::array<double, 7> position{};
    for (std::size_t i = 0; i < call.dims.size(); ++i) {
        position[i] = std::log2(static_cast<double>(std::max<std::int64_t>(call.dims[i], 1)));
    }
    if (call.kind == KernelKind::attention_forward || call.kind == KernelKind::attention_backward) {
        const AttentionShape shape = attention_shape(call);
        position[5] = std::log2(static_cast<double>(shape.head_dim));
        position[6] = std::log2(static_cast<double>(
            shape.window > 0 ? std::min(shape.window, shape.seq_kv) : shape.seq_kv));
    }
    return position;
}

double squared_distance(const std::array<double, 7>& a, const std::array<double, 7>& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        sum += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return sum;
}

double correlation(double squared) {
    return kSharedVariance + (1 - kSharedVariance) * std::exp(-squared / (2 * kLength * kLength));
}

std::uint32_t permille(double share) {
    return static_cast<std::uint32_t>(std::lround(std::clamp(share, 0.0, 1.0) * 1000));
}

}  // namespace

CostModel::CostModel(const DeviceSpec& device, const EfficiencyTable& table, const Profile& profile)
    : curves_(table, device) {
    for (const ProfileEntry& entry : profile) {
        if (entry.device != device.name) {
            continue;
        }
        const KernelCall& call = entry.call;
        const double seconds = entry.median.seconds();
        profile_[{call.kind, call.dtype, call.variant}].push_back(
            {.dims = call.dims,
             .position = position_of(call),
             .seconds = seconds,
             .log_ratio = std::log(seconds / curves_.time(call).seconds),
             .variance = entry.spread * entry.spread + kMachineSigma * kMachineSigma});
    }
}

KernelTime CostModel::time(const KernelCall& call) const {
    const CurveTime curve = curves_.time(call);
    double seconds = curve.seconds;
    KernelTime answer{
        .duration = Time{},
        .ideal = Flop{call.flop} / curves_.device().peak(call.dtype),
        .source = CostSource::roofline,
        .relative_sigma = curve.relative_sigma,
        .sm_sensitivity_permille = permille(curves_.sm_sensitivity(curve.compute_share))};
    const auto group = profile_.find({call.kind, call.dtype, call.variant});
    if (group != profile_.end()) {
        const auto exact =
            std::find_if(group->second.begin(), group->second.end(), [&](const Neighbour& row) {
                return row.dims == call.dims;
            });
        if (exact != group->second.end()) {
            seconds = exact->seconds;
            answer.source = CostSource::measured;
            answer.relative_sigma = std::sqrt(exact->variance);
        } else if (const Correction found = correction(group->second, call, curve.relative_sigma);
                   found.informed) {
            seconds *= std::exp(found.log_ratio);
            answer.source = CostSource::interpolated;
            answer.relative_sigma = found.sigma;
        }
    }
    answer.duration = std::max(Time::seconds(seconds), answer.ideal);
    return answer;
}

// Kriging with the nearest rows: weights solve (K + noise) w = k, the mean is w . log ratios, the
// variance what of the prior's the neighbours do not explain.
CostModel::Correction CostModel::correction(const std::vector<Neighbour>& group,
                                            const KernelCall& call,
                                            double curve_sigma) const {
    const std::array<double, 7> here = position_of(call);
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < group.size(); ++i) {
        order.emplace_back(squared_distance(here, group[i].position), i);
    }
    std::sort(order.begin(), order.end());
    order.resize(std::min(order.size(), kNumNeighbours));
    const auto n = static_cast<Eigen::Index>(order.size());
    const double prior = curve_sigma * curve_sigma;
    Eigen::MatrixXd covariance(n, n);
    Eigen::VectorXd to_here(n);
    Eigen::VectorXd ratios(n);
    for (Eigen::Index i = 0; i < n; ++i) {
        const Neighbour& a = group[order[static_cast<std::size_t>(i)].second];
        for (Eigen::Index j = 0; j < n; ++j) {
            const Neighbour& b = group[order[static_cast<std::size_t>(j)].second];
            covariance(i, j) = prior * correlation(squared_distance(a.position, b.position)) +
                               (i == j ? a.variance : 0.0);
        }
        to_here[i] = prior * correlation(order[static_cast<std::size_t>(i)].first);
        ratios[i] = a.log_ratio;
    }
    const Eigen::VectorXd weights = covariance.ldlt().solve(to_here);
    const double variance = std::max(prior - weights.dot(to_here), 0.0);
    return {.log_ratio = weights.dot(ratios),
            .sigma = std::hypot(std::sqrt(variance), kMachineSigma),
            .informed = variance < prior / 2};
}

}  // namespace orrery

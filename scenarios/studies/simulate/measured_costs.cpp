// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/measured_costs.h"

#include <algorithm>
#include <set>

namespace orrery {
namespace {

std::uint32_t nearest_ranks(const std::set<std::uint32_t>& measured, std::uint32_t ranks) {
    const auto found = measured.lower_bound(ranks);
    return found == measured.end() ? *measured.rbegin() : *found;
}

// Fits t = fixed + slope * bytes with non-negative terms by least squares of relative errors.
void fit_steps(const std::vector<HostEntry>& rows, MeasuredCosts& costs) {
    double w = 0;
    double wx = 0;
    double wxx = 0;
    double wy = 0;
    double wxy = 0;
    for (const HostEntry& row : rows) {
        const double y = row.median.seconds();
        const auto x = static_cast<double>(row.cleared.count());
        const double weight = 1 / (y * y);
        w += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wy += weight * y;
        wxy += weight * x * y;
    }
    if (w <= 0) {
        return;
    }
    const double determinant = w * wxx - wx * wx;
    double slope = determinant > 1e-9 * w * wxx ? (w * wxy - wx * wy) / determinant : 0;
    slope = std::max(slope, 0.0);
    double fixed = (wy - slope * wx) / w;
    if (fixed < 0) {
        fixed = 0;
        slope = wxy / wxx;
    }
    costs.per_step = Time::seconds(fixed);
    costs.per_cleared_byte = slope;
}

}  // namespace

std::optional<Time> MeasuredCosts::host_step(Bytes cleared) const {
    if (!per_step) {
        return std::nullopt;
    }
    return *per_step + Time::seconds(per_cleared_byte * static_cast<double>(cleared.count()));
}

MeasuredCosts measured_costs(const MachineProfile& profile,
                             const std::string& device,
                             std::uint32_t ranks) {
    MeasuredCosts costs;
    std::set<std::uint32_t> kernel_ranks;
    std::set<std::uint32_t> host_ranks;
    for (const ProfileEntry& entry : profile.kernels) {
        if (entry.device == device) {
            kernel_ranks.insert(entry.ranks);
        }
    }
    for (const HostEntry& entry : profile.hosts) {
        if (entry.device == device) {
            host_ranks.insert(entry.ranks);
        }
    }
    for (const ProfileEntry& entry : profile.kernels) {
        if (entry.device == device && entry.ranks == nearest_ranks(kernel_ranks, ranks)) {
            costs.kernels.push_back(entry);
        }
    }
    for (const TransferEntry& entry : profile.transfers) {
        if (entry.device == device) {
            costs.transfers.push_back(entry.time);
        }
    }
    std::vector<HostEntry> steps;
    double per_op = 0;
    std::size_t num_per_op = 0;
    for (const HostEntry& entry : profile.hosts) {
        if (entry.device != device || entry.ranks != nearest_ranks(host_ranks, ranks)) {
            continue;
        }
        if (entry.whole_step) {
            steps.push_back(entry);
        } else {
            per_op += entry.median.seconds();
            ++num_per_op;
        }
    }
    fit_steps(steps, costs);
    if (num_per_op > 0) {
        costs.per_op = Time::seconds(per_op / static_cast<double>(num_per_op));
    }
    return costs;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "kernels/range_fit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "kernels/balanced_percentile.h"
#include "kernels/fit.h"
#include "kernels/gemm_range.h"

namespace orrery {
namespace {

constexpr double kShare = 0.9;
constexpr double kQuantileOfShare = 1.6448536269514722;  // two-sided, of the standard normal
constexpr double kLeastOctaves = 1;  // below this the residual hides the effect of the distance
constexpr int kMostOctaves = 4;      // of the region that is left out

using Groups = std::map<std::string, std::vector<double>>;

class RegionsLeftOut {
public:
    RegionsLeftOut(const std::vector<Measurement>& rows,
                   const std::map<std::string, DeviceSpec>& devices,
                   const EfficiencyTable& fitted)
        : devices_(devices), fitted_(fitted) {
        for (const Measurement& row : rows) {
            (row.family == "gemm" ? products_ : others_).push_back(row);
        }
        // The fit of products needs the bandwidth, not attention.
        std::erase_if(others_, [](const Measurement& row) { return row.family != "memory"; });
    }

    Groups needed() {
        Groups groups;
        for (std::size_t side = 0; side < 3; ++side) {
            for (const bool upper : {false, true}) {
                for (int octaves = 1; octaves <= kMostOctaves; ++octaves) {
                    leave_out(side, upper, octaves, groups);
                }
            }
        }
        return groups;
    }

private:
    static double octave_of(const Measurement& row, std::size_t side) {
        return std::log2(GemmRange::sides_of(row.calls.front())[side]);
    }

    // Distance in octaves from the products kept for its generation of devices.
    double distance_of(const Measurement& row, const EfficiencyTable& ranges) const {
        const auto range = GemmRange::of(ranges, devices_.at(row.device).generation);
        return range ? range->octaves_outside(row.calls.front()) : 0;
    }

    void leave_out(std::size_t side, bool upper, int octaves, Groups& groups) {
        const auto [least, most] = std::ranges::minmax(
            products_, {}, [&](const Measurement& row) { return octave_of(row, side); });
        const double edge =
            upper ? octave_of(most, side) - octaves : octave_of(least, side) + octaves;
        std::vector<Measurement> kept = others_;
        std::vector<Measurement> left_out;
        std::vector<bool> which;
        for (const Measurement& row : products_) {
            const double at = octave_of(row, side);
            which.push_back(upper ? at > edge : at < edge);
            (which.back() ? left_out : kept).push_back(row);
        }
        EfficiencyTable ranges;
        set_gemm_ranges(kept, devices_, ranges);
        const bool far = std::ranges::any_of(left_out, [&](const Measurement& row) {
            return distance_of(row, ranges) >= kLeastOctaves;
        });
        if (!far || !done_.insert(std::move(which)).second) {
            return;
        }
        const EfficiencyTable table = fit_efficiency(kept, devices_).table;
        const std::string region = std::to_string(side) + (upper ? " upper" : " lower");
        const std::vector<FitResidual> residuals = residuals_of(table, left_out, devices_);
        for (std::size_t i = 0; i < left_out.size(); ++i) {
            const double distance = distance_of(left_out[i], ranges);
            if (distance >= kLeastOctaves) {
                const std::string& generation = devices_.at(left_out[i].device).generation;
                const double sigma = std::log1p(residuals[i].error()) / kQuantileOfShare;
                const double near = fitted_.value_or("gemm.residual", generation, "*", 0.0);
                groups[region].push_back(std::sqrt(std::max(0.0, sigma * sigma - near * near)) /
                                         distance);
            }
        }
    }

    const std::map<std::string, DeviceSpec>& devices_;
    const EfficiencyTable& fitted_;
    std::vector<Measurement> products_;
    std::vector<Measurement> others_;
    std::set<std::vector<bool>> done_;  // sets of products that were left out
};

}  // namespace

double residual_per_octave(const std::vector<Measurement>& rows,
                           const std::map<std::string, DeviceSpec>& devices,
                           const EfficiencyTable& fitted) {
    const bool any =
        std::ranges::any_of(rows, [](const Measurement& row) { return row.family == "gemm"; });
    return any ? balanced_percentile(RegionsLeftOut{rows, devices, fitted}.needed(), kShare) : 0;
}

}  // namespace orrery

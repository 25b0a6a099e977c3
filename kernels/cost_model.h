// SPDX-License-Identifier: Apache-2.0
// Answers "how long does this kernel take?" for one device: a measured time where the profile has
// this very kernel; else the general efficiency curve (kernels/efficiency.h), corrected by what the
// profile's neighbours of the same kind, dtype and variant say about the curve's error; else the
// curve alone. The correction is a Gaussian process over the logarithms of the dimensions: near a
// measured shape it follows the measurement, far away it returns to the curve, and its variance is
// the answer's uncertainty. How smooth the curve's error is, each group of rows says itself, by the
// likelihood of its own measurements.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "engine/program/kernel_cost.h"
#include "kernels/efficiency.h"
#include "kernels/interpolation.h"
#include "kernels/profile.h"

namespace orrery {

class CostModel : public KernelCost {
public:
    // Uses the rows of `profile` that name the device.
    CostModel(const DeviceSpec& device, const EfficiencyTable& table, const Profile& profile = {});

    KernelTime time(const KernelCall& call) const override;

private:
    // Of a kernel that the host runs in its own memory.
    KernelTime host_time(const KernelCall& call) const;
    // Of a kernel on a mesh of cores, which no profile has.
    KernelTime mesh_time(const KernelCall& call) const;

    using Group = std::tuple<KernelKind, Dtype, std::uint8_t>;
    struct Rows {
        std::vector<MeasuredShape> neighbours;
        Smoothness smoothness;
    };

    EfficiencyCurves curves_;
    std::map<Group, Rows> profile_;
};

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The time of a kernel on one device. If the profile has this kernel, the measured time. Otherwise
// the general efficiency curve (kernels/efficiency.h), corrected by the curve's error at the
// profile's neighbours of the same kind, dtype and variant. Without neighbours the curve alone. The
// correction is a Gaussian process over the logarithms of the dimensions. Near a measured shape it
// follows the measurement, far away it returns to the curve, and its variance is the answer's
// uncertainty. The smoothness of the curve's error is the most likely one for each group of rows.
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
    // Uses the rows of `profile` for this device.
    CostModel(const DeviceSpec& device, const EfficiencyTable& table, const Profile& profile = {});

    KernelTime time(const KernelCall& call) const override;

private:
    // For a kernel that the host runs in its own memory.
    KernelTime host_time(const KernelCall& call) const;
    // For a kernel on a mesh of cores; profiles have none.
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

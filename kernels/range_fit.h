// SPDX-License-Identifier: Apache-2.0
// How much less the curves of products are worth beyond the measured shapes (kernels/gemm_range.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/device_spec.h"
#include "kernels/efficiency_table.h"
#include "kernels/measurement.h"

namespace orrery {

// Relative standard deviation that an octave beyond the measured range adds to `gemm.residual`, in
// squares: the 90th percentile of what products need that lie an octave or more beyond the others.
// Six regions of shapes (products with long sides, short ones, deep ones …) are left out of the fit
// in turn, in steps of an octave; every region weighs the same. `fitted`: on all rows.
double residual_per_octave(const std::vector<Measurement>& rows,
                           const std::map<std::string, DeviceSpec>& devices,
                           const EfficiencyTable& fitted);

}  // namespace orrery

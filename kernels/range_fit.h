// SPDX-License-Identifier: Apache-2.0
// The error of the product curves beyond the measured shapes (kernels/gemm_range.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "kernels/device_spec.h"
#include "kernels/efficiency_table.h"
#include "kernels/measurement.h"

namespace orrery {

// The relative standard deviation that each octave beyond the measured range adds to
// `gemm.residual`, in squares. It is the 90th percentile of the value that products an octave or
// more beyond the others need. Six regions of shapes (products with long sides, short ones, deep
// ones …) are left out of the fit in turn, in steps of an octave. Every region has the same weight.
// `fitted` is the fit on all rows.
double residual_per_octave(const std::vector<Measurement>& rows,
                           const std::map<std::string, DeviceSpec>& devices,
                           const EfficiencyTable& fitted);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The distance of a product from the products that the efficiency curves were fitted on. Their
// range is a box over the logarithms of the longer side, the shorter side and the depth, because
// the curve is symmetric in the two sides. kernel_efficiency.csv has the box by generation:
//   gemm.measured.long_least, .long_most, .short_least, .short_most, .depth_least, .depth_most
// Batched products were not measured; the size of a batch is ignored.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/program/kernel_call.h"
#include "kernels/device_spec.h"
#include "kernels/efficiency_table.h"
#include "kernels/measurement.h"

namespace orrery {

class GemmRange {
public:
    // The smallest box around these products. There must be at least one.
    explicit GemmRange(const std::vector<KernelCall>& products);
    // No value if the table has no range for the generation.
    static std::optional<GemmRange> of(const EfficiencyTable& table, const std::string& generation);

    // Longer side, shorter side, depth.
    static std::array<double, 3> sides_of(const KernelCall& product);
    // Distance to the box in octaves; 0 inside.
    double octaves_outside(const KernelCall& product) const;
    void set(EfficiencyTable& table,
             const std::string& generation,
             const std::string& source) const;

private:
    struct Span {
        double least = 0;
        double most = 0;
    };
    GemmRange() = default;

    std::array<Span, 3> sides_{};  // longer side, shorter side, depth
};

// Sets the ranges of the products among these rows, by generation of their devices.
void set_gemm_ranges(const std::vector<Measurement>& rows,
                     const std::map<std::string, DeviceSpec>& devices,
                     EfficiencyTable& table);

}  // namespace orrery

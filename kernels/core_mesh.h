// SPDX-License-Identifier: Apache-2.0
// What a kernel takes on a wafer: a mesh of small cores, each with memory of its own (He et al.,
// WaferLLM, arXiv:2502.04563). Weights, keys and values stay where they are, spread over all cores.
// A kernel takes its own work at the peak of all cores together, and its sums over lines of cores.
//
// A line of n cores sums in two phases, both towards the middle: inside groups of about sqrt(n)
// cores, then over the groups' sums. At each stage a core receives all that it adds before it sends
// it on. The sum is then broadcast from the middle. With hop h, stage s and m bytes on a core:
//   n h + stages (s + m / link) + m / link
// which is n / 2 hops in and n / 2 out. A product has one such sum, RMSNorm and LayerNorm have one
// of a number a row, softmax has two, and attention has four: of scores, their maximum, the sum of
// their exponentials, and the output. Other kernels work on what their cores have.
#pragma once

#include <cstdint>

#include "engine/base/units.h"
#include "engine/program/kernel_call.h"

namespace orrery {

struct DeviceSpec;

// In seconds. `bytes`: on each core of the line.
double core_line_sum_s(const DeviceSpec& device, std::int64_t cores, double bytes);
// Of a device with a mesh.
Time core_mesh_time(const DeviceSpec& device, const KernelCall& call);

}  // namespace orrery

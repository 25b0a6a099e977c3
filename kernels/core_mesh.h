// SPDX-License-Identifier: Apache-2.0
// Times of kernels on a wafer: a mesh of small cores, each with its own memory (He et al.,
// WaferLLM, arXiv:2502.04563). Weights, keys and values stay distributed over all cores. A kernel
// takes the time of its work at the combined peak of all cores, plus its sums over lines of cores.
//
// A line of n cores sums in two phases, both towards the middle: within groups of about sqrt(n)
// cores, then over the groups' sums. At each stage a core receives all its input before it sends
// the result. The sum is then broadcast from the middle. With hop h, stage s and m bytes on a core,
// the time is
//   n h + stages (s + m / link) + m / link
// with n / 2 hops in and n / 2 hops out. A product has one such sum. RMSNorm and LayerNorm have one
// of a number a row, softmax has two, and attention has four: of scores, their maximum, the sum of
// their exponentials, and the output. Other kernels need no sum.
#pragma once

#include <cstdint>

#include "engine/base/units.h"
#include "engine/program/kernel_call.h"

namespace orrery {

struct DeviceSpec;

// In seconds. `bytes` are those of each core of the line.
double core_line_sum_s(const DeviceSpec& device, std::int64_t cores, double bytes);
// `device` must have a mesh.
Time core_mesh_time(const DeviceSpec& device, const KernelCall& call);

}  // namespace orrery

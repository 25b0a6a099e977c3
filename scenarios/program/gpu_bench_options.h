// SPDX-License-Identifier: Apache-2.0
// The options of `orrery gpu-bench`.
#pragma once

#include <vector>

#include "scenarios/program/gpu_bench.h"

namespace orrery {

std::vector<CommandOption> gpu_bench_options(GpuBenchArguments& arguments);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Compares every kernel of small models on a device with the CPU's. Each comparison has a number,
// which is printed before it begins. The log therefore shows which comparison ended the process.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/kernel_call.h"
#include "runtime/training_job.h"

namespace orrery {

// Kernels of models whose heads suit tensor cores, in bf16 and fp32.
std::vector<KernelCall> kernels_to_compare();

// Compares the kernels from number `first` (from 0) until all are done or one cannot be run.
// Returns the number of wrong kernels. `print` gets the text in parts of lines.
Result<int> compare_kernels_from(std::size_t first,
                                 DeviceChoice device,
                                 const std::function<void(const std::string&)>& print);

// The number (from 1) of the last comparison that a text announces.
std::optional<std::size_t> last_comparison(std::string_view text);

}  // namespace orrery

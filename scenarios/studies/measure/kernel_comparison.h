// SPDX-License-Identifier: Apache-2.0
// Every kernel of small models on a device, beside the CPU's. Each comparison is numbered and is
// announced before it begins, so that the log tells which one ended the process.
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

// Of models with heads that tensor cores take, in bf16 and fp32.
std::vector<KernelCall> kernels_to_compare();

// Compares the kernels from number `first` on (from 0) until all are done or one cannot be run, and
// returns how many are wrong. `print` gets what there is to say, in pieces of lines.
Result<int> compare_kernels_from(std::size_t first,
                                 DeviceChoice device,
                                 const std::function<void(const std::string&)>& print);

// The number (from 1) of the last comparison that a text announces.
std::optional<std::size_t> last_comparison(std::string_view text);

}  // namespace orrery

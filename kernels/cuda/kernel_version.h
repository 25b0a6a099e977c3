// SPDX-License-Identifier: Apache-2.0
// Which kernels this program has: what was measured with others says nothing about these.
#pragma once

#include <string_view>

namespace orrery::device {

// A digest of the sources of all CUDA kernels, made by the build (kernel_version.cmake): twelve
// hexadecimal digits.
std::string_view kernel_version();

}  // namespace orrery::device

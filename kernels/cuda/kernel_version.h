// SPDX-License-Identifier: Apache-2.0
// The version of this program's kernels. Measured choices of another version are not valid for
// them.
#pragma once

#include <string_view>

namespace orrery::device {

// A digest of the sources of all CUDA kernels, computed by the build (kernel_version.cmake), as
// twelve hexadecimal digits.
std::string_view kernel_version();

}  // namespace orrery::device

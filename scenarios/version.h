// SPDX-License-Identifier: Apache-2.0
// The version of this program, as `orrery --version` and every report give it.
#pragma once

#include <string_view>

namespace orrery {

inline constexpr std::string_view kVersion = ORRERY_VERSION;

}  // namespace orrery

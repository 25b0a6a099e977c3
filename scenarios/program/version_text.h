// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace orrery {

// `orrery --version`: the version, and what this build is made of.
std::string version_text();

}  // namespace orrery

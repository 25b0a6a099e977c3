// SPDX-License-Identifier: Apache-2.0
// `orrery --version`: the version, and what this build is made of.
#pragma once

#include <string>

namespace orrery {

std::string version_text();

}  // namespace orrery

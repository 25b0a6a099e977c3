// SPDX-License-Identifier: Apache-2.0
// `orrery --version`: the version, and the parts of this build.
#pragma once

#include <string>

namespace orrery {

std::string version_text();

}  // namespace orrery

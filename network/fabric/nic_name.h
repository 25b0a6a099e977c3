// SPDX-License-Identifier: Apache-2.0
// NICs by their names in fabrics, which users write in tables of cables and in events.
#pragma once

#include <optional>
#include <string_view>

#include "network/fabric/path.h"

namespace orrery {

// "node 3 nic 0"; no value for any other text.
std::optional<NicPort> nic_of_name(std::string_view name);

}  // namespace orrery

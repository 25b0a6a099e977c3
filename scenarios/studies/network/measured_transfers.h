// SPDX-License-Identifier: Apache-2.0
// The transfers of a profile that are of one device.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/profile.h"

namespace orrery {

// None of a profile without a name; an error if a profile has none of the device.
ResultOrErrors<std::vector<MeasuredTransfer>> measured_transfers(const std::string& profile,
                                                                 const std::string& device);

}  // namespace orrery

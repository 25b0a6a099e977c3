// SPDX-License-Identifier: Apache-2.0
// The transfers of a profile that belong to one device.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/profile.h"

namespace orrery {

// Empty without a profile's name; an error if the profile has no transfers of the device.
ResultOrErrors<std::vector<MeasuredTransfer>> measured_transfers(const std::string& profile,
                                                                 const std::string& device);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The implementation of SharedRates for each fidelity.
#pragma once

#include <memory>
#include <span>

#include "engine/base/result.h"
#include "engine/program/network_model.h"
#include "scenarios/format/specs/network_settings.h"

namespace orrery {

// An error if this program lacks the fidelity: SimGrid is optional in a build.
Result<void> check_fidelity(NetworkFidelity fidelity);

// Must not be called for packet, which has no rates.
std::unique_ptr<SharedRates> make_rates(NetworkFidelity fidelity, std::span<const LinkInfo> links);

}  // namespace orrery

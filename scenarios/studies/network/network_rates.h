// SPDX-License-Identifier: Apache-2.0
// Which implementation of SharedRates a fidelity is.
#pragma once

#include <memory>
#include <span>

#include "engine/base/result.h"
#include "engine/program/network_model.h"
#include "scenarios/format/specs/network_settings.h"

namespace orrery {

// Whether this program has it: SimGrid is optional when it is built.
Result<void> check_fidelity(NetworkFidelity fidelity);

// Not for packet, which has no rates.
std::unique_ptr<SharedRates> make_rates(NetworkFidelity fidelity, std::span<const LinkInfo> links);

}  // namespace orrery

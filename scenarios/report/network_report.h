// SPDX-License-Identifier: Apache-2.0
// A NetworkAnswer for people: the table of nccl-tests for collectives, completion times of flows,
// use of the links.
#pragma once

#include <string>

#include "scenarios/studies/network/network_answer.h"

namespace orrery {

std::string network_report(const NetworkAnswer& answer);

}  // namespace orrery

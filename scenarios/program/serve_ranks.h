// SPDX-License-Identifier: Apache-2.0
// `orrery serve --real` with an instance of several ranks.
#pragma once

#include <cstdint>

#include "scenarios/program/serve.h"

namespace orrery {

// The same command line, once more for each rank. Returns the exit status.
int start_serving_ranks(const ServeArguments& arguments, std::int64_t num_ranks);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// `orrery serve --real` with an instance of several ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/program/serve.h"

namespace orrery {

std::vector<std::string> words_of_ranks(const ServeArguments& arguments);

// The same command line, once more for each rank. Returns the exit status.
int start_serving_ranks(const ServeArguments& arguments, std::int64_t num_ranks);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// For programs that link Orrery's studies and lie elsewhere than `orrery`.
#pragma once

#include <filesystem>

namespace orrery {

// Makes `folder` the default catalogue, unless the environment variable ORRERY_CATALOGUE is set.
// Called before scenarios are read, while the program has one thread; find_package(orrery) defines
// ORRERY_CATALOGUE as the folder that it installed.
void use_catalogue(std::filesystem::path folder);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Chooses the catalogue of programs other than `orrery` that link its studies.
#pragma once

#include <filesystem>

namespace orrery {

// Makes `folder` the default catalogue, unless the environment variable ORRERY_CATALOGUE is set.
// Call it before scenarios are read, while the program has one thread. find_package(orrery) defines
// ORRERY_CATALOGUE as the installed folder.
void use_catalogue(std::filesystem::path folder);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The servers of the GPUs that published tables name: catalogue/published/servers.csv.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/base/result.h"

namespace orrery {

struct PublishedServer {
    std::string node;    // entry of the catalogue
    std::string fabric;  // of rows whose table has no column for it
};

// An error with the nearest GPUs if the table has no row for this one. `catalogue`: its root.
Result<PublishedServer> server_of_gpu(std::string_view gpu, const std::filesystem::path& catalogue);

}  // namespace orrery

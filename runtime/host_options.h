// SPDX-License-Identifier: Apache-2.0
// What a rank's executor is told of its host, beside the Program.
#pragma once

#include <cstdint>
#include <filesystem>

namespace orrery {

struct HostOptions {
    // Neighbouring ranks that share a node; 0: all do. Exchanges by servers follow it.
    std::uint32_t ranks_of_node = 0;
    // Where the file of an optimizer's state is made.
    std::filesystem::path offload_folder{};
};

}  // namespace orrery

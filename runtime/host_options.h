// SPDX-License-Identifier: Apache-2.0
// Properties of its host that a rank's executor needs besides the Program.
#pragma once

#include <cstdint>
#include <filesystem>

namespace orrery {

struct HostOptions {
    // The number of consecutive ranks on a node; 0: all of them. Exchanges by servers use it.
    std::uint32_t ranks_of_node = 0;
    // The folder for the file of an optimizer's state.
    std::filesystem::path offload_folder{};
};

}  // namespace orrery

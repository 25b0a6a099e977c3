// SPDX-License-Identifier: Apache-2.0
// The machines of a supervised job's nodes: this machine, or others, on which a program such as ssh
// runs a shell command whose input and output are the member's pipes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct Places {
    // Words before the command; empty: all on this machine
    std::vector<std::vector<std::string>> of_node{};
    std::string address{};  // address of this machine for the others

    bool here() const { return of_node.empty(); }
};

// `hosts` is "one:2,two:3": machines and their numbers of nodes, in the order of the nodes, hot
// spares last. `launch` is the program that runs a command on "{host}".
Result<Places> read_places(const std::string& hosts,
                           const std::string& launch,
                           std::uint32_t nodes);

// A shell command that runs `command` in this folder as the node's member.
std::string shell_command(const std::vector<std::string>& command,
                          const std::string& folder,
                          std::uint32_t node);

}  // namespace orrery

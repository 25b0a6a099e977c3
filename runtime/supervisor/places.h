// SPDX-License-Identifier: Apache-2.0
// On which machines the nodes of a supervised job are: here, or elsewhere, where a program such as
// ssh runs a shell command whose input and output are the member's pipes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/result.h"

namespace orrery {

struct Places {
    std::vector<std::vector<std::string>> of_node{};  // words before the command; empty: all here
    std::string address{};                            // where they find this machine

    bool here() const { return of_node.empty(); }
};

// `hosts`: "one:2,two:3", machines and how many nodes of the job each has, in the nodes' order, hot
// spares last. `launch`: what runs a command on "{host}".
Result<Places> read_places(const std::string& hosts,
                           const std::string& launch,
                           std::uint32_t nodes);

// For a shell anywhere: the command in this folder, as that node's member.
std::string shell_command(const std::vector<std::string>& command,
                          const std::string& folder,
                          std::uint32_t node);

}  // namespace orrery

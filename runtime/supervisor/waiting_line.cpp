// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/waiting_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace orrery {
namespace {

constexpr std::size_t kNamed = 3;

std::string duration_text(double seconds) {
    return seconds >= 7200  ? fmt::format("{:.1f} h", seconds / 3600)
           : seconds >= 120 ? fmt::format("{:.0f} min", seconds / 60)
                            : fmt::format("{:.0f} s", seconds);
}

}  // namespace

std::string waiting_line(const std::vector<std::uint32_t>& slots,
                         const std::vector<NodeInRepair>& repairs) {
    std::string line = slots.empty() ? "waits for a node"
                                     : fmt::format("no spare is left for slot{} {}",
                                                   slots.size() == 1 ? "" : "s",
                                                   fmt::join(slots, ", "));
    line += "; ";
    for (std::size_t i = 0; i < repairs.size() && i < kNamed; ++i) {
        const NodeInRepair& repair = repairs[i];
        line += i > 0 ? ", " : "";
        line += repair.seconds_left > 0
                    ? fmt::format("node {} is expected back in {} (campaign.repair.time)",
                                  repair.node,
                                  duration_text(repair.seconds_left))
                    : fmt::format("node {} is repaired and starts", repair.node);
    }
    if (repairs.size() > kNamed) {
        line += fmt::format(" and {} more later", repairs.size() - kNamed);
    }
    line += repairs.empty() ? "no node is in repair: none will come back" : "";
    return line + "; stop with Ctrl-C, go on later with --resume";
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "engine/campaign/accounts.h"

#include <algorithm>
#include <numeric>

#include "engine/base/check.h"

namespace orrery {

std::string_view name(NodeUse use) {
    static constexpr std::array<std::string_view, kNumNodeUses> kNames = {"productive",
                                                                          "straggler",
                                                                          "checkpoint",
                                                                          "lost",
                                                                          "stall",
                                                                          "detection",
                                                                          "diagnosis",
                                                                          "checking",
                                                                          "waiting",
                                                                          "replacing",
                                                                          "restart",
                                                                          "restore",
                                                                          "parked",
                                                                          "spare",
                                                                          "repair"};
    return kNames[static_cast<std::size_t>(use)];
}

std::int64_t Accounts::total() const {
    return std::accumulate(of_.begin(), of_.end(), std::int64_t{0});
}

void Accounts::audit(WallTime wall, std::int64_t nodes) const {
    ORRERY_CHECK(total() == wall.microseconds() * nodes);
    ORRERY_CHECK(std::all_of(of_.begin(), of_.end(), [](std::int64_t v) { return v >= 0; }));
}

}  // namespace orrery

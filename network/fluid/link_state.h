// SPDX-License-Identifier: Apache-2.0
// The switches' knowledge of the links at one moment, for their choice among equal next hops.
#pragma once

#include <cstdint>
#include <span>

namespace orrery {

struct LinkState {
    std::span<const std::uint8_t> down{};   // by LinkId: 1 is avoided; empty: all links are up
    std::span<const std::uint32_t> load{};  // by LinkId: flows in flight, for adaptive routing

    bool is_up(std::uint32_t link) const { return down.empty() || down[link] == 0; }
    std::uint32_t load_of(std::uint32_t link) const { return load.empty() ? 0 : load[link]; }
};

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// What happens in the middle of a simulated step. Times count like all times of the simulation.
// A change takes effect after all that ends at its instant.
//  - A device changes its pace, or is lost: its ranks stop, and with them each transfer that they
//    take part in. Nobody tells the others: they wait.
//  - Links change their capacity.
//  - Links are out of order from `at` until `end`. What moves over them stands still. Senders try
//    again every `timer` after their first loss (InfiniBand's and RoCE's local ACK timeout,
//    4.096 us x 2^timeout), and give up after `retries`: the transfer never ends. They get through
//    when the links are back, or from `convergence` after the loss on if switches have another
//    path, which is taken until `convergence` after the links are back.
// Ranks that a change tells apart, and links, are classes of their own from the start on
// (engine/folding.h).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/ids.h"
#include "engine/units.h"

namespace orrery {

inline constexpr std::uint16_t kLostDevice = UINT16_MAX;

struct DeviceChange {
    Time at;
    std::uint16_t device = 0;   // all ranks of this class (SimulationInput::device_class)
    std::uint16_t becomes = 0;  // timed as this class from then on, or lost
};

struct CapacityChange {
    Time at;
    LinkId link{};
    Bandwidth capacity;  // more than none
};

struct LinkOutage {
    Time at;
    Time end = Time::max();
    std::vector<LinkId> links{};  // none: no outage
    Time convergence;
    Time timer = Time::picoseconds(1);
    std::uint32_t retries = 7;
};

struct StepEvents {
    std::vector<DeviceChange> devices{};  // in the order of their times
    std::vector<CapacityChange> capacities{};
    LinkOutage outage{};

    bool empty() const { return devices.empty() && capacities.empty() && outage.links.empty(); }
};

// A part of a transfer that wants to move at `now`, and may meet the outage.
struct OutageWait {
    Time resume;          // Time::max(): the sender gives up
    bool around = false;  // on the other path
};
OutageWait wait_of(const LinkOutage& outage, Time now, bool has_other_path);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// What happens in the middle of a simulated step. Times count like all times of the simulation.
// A change takes effect after all that ends at its instant.
//  - A device changes its pace, or is lost: its ranks stop, and with them each transfer that they
//    take part in. Nobody tells the others: they wait.
//  - Links change their capacity.
//  - Links are out of order from `at` until `end`, several at a time or one after the other. What
//    moves over them stands still. Senders try again every `timer` after their first loss
//    (InfiniBand's and RoCE's local ACK timeout, 4.096 us x 2^timeout), and give up after
//    `retries`: the transfer never ends. They get through when the links are back, or from
//    `convergence` after the loss on if switches have another path, which is taken until
//    `convergence` after the links are back. Of links that are back before, switches never know.
// Ranks that a change tells apart, and links, are classes of their own from the start on
// (engine/world/folding.h).
#pragma once

#include <cstdint>
#include <vector>

#include "engine/base/ids.h"
#include "engine/base/units.h"

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
    std::vector<LinkId> links{};
};

struct LinkOutages {
    std::vector<LinkOutage> list{};  // at most 64
    Time convergence;
    Time timer = Time::picoseconds(1);
    std::uint32_t retries = 7;
};
inline constexpr std::size_t kOutagesMost = 64;
using OutageSet = std::uint64_t;  // a bit each, by their position in the list

struct StepEvents {
    std::vector<DeviceChange> devices{};  // in the order of their times
    std::vector<CapacityChange> capacities{};
    LinkOutages outages{};

    bool empty() const { return devices.empty() && capacities.empty() && outages.list.empty(); }
};

// What is out of order at an instant, and what switches go around.
OutageSet down_at(const LinkOutages& outages, Time now);
OutageSet avoided_at(const LinkOutages& outages, Time now);
// Every set but the empty one that switches go around at some time, in ascending order.
std::vector<OutageSet> avoided_sets(const LinkOutages& outages);
// When something begins, or switches take another path.
std::vector<Time> change_times(const LinkOutages& outages);

// The outages that a part of a transfer meets on its own path, and on its way around each of the
// avoided sets.
struct OutageWays {
    struct Way {
        bool exists = false;
        OutageSet meets = 0;
    };
    OutageSet meets = 0;
    std::vector<Way> around{};  // by position in avoided_sets()
};
inline constexpr std::uint32_t kOwnPath = UINT32_MAX;

// A part that wants to move at `now`.
struct OutageWait {
    Time resume;                    // Time::max(): the sender gives up
    std::uint32_t path = kOwnPath;  // or a position in OutageWays::around
};
// `avoided`: avoided_sets().
OutageWait wait_of(const LinkOutages& outages,
                   const std::vector<OutageSet>& avoided,
                   const OutageWays& ways,
                   Time now);

}  // namespace orrery

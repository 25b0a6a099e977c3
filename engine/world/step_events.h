// SPDX-License-Identifier: Apache-2.0
// Events in the middle of a simulated step. Their times are on the time axis of the simulation. A
// change takes effect after all ends of its instant.
//  - A device changes its pace, or is lost. The ranks of a lost device stop, and with them every
//    transfer that they take part in. Other ranks are not notified: they wait.
//  - Links change their capacity.
//  - Links fail at `at` and return at `end`, several at a time or one after the other. Transfers
//  over
//    them stop. A sender retries every `timer` after its first loss (the local ACK timeout of
//    InfiniBand and RoCE, 4.096 us x 2^timeout) and gives up after `retries`: the transfer then
//    never ends. A retry succeeds when the links are back. If switches know another path, it also
//    succeeds from `convergence` after the failure on; that path is used until `convergence` after
//    the links are back. If links return within `convergence`, the switches do not notice the
//    failure.
// Ranks and links that an event names have classes of their own from the start on
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
    std::uint16_t device = 0;   // the ranks of this class (SimulationInput::device_class)
    std::uint16_t becomes = 0;  // their new class, or kLostDevice
};

struct CapacityChange {
    Time at;
    LinkId link{};
    Bandwidth capacity;  // more than zero
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
using OutageSet = std::uint64_t;  // one bit per outage, by position in the list

struct StepEvents {
    std::vector<DeviceChange> devices{};  // ordered by time
    std::vector<CapacityChange> capacities{};
    LinkOutages outages{};

    bool empty() const { return devices.empty() && capacities.empty() && outages.list.empty(); }
};

// The failed links at an instant, and the outages that switches route around.
OutageSet down_at(const LinkOutages& outages, Time now);
OutageSet avoided_at(const LinkOutages& outages, Time now);
// Every set of outages, except the empty one, that switches route around at some time, ascending.
std::vector<OutageSet> avoided_sets(const LinkOutages& outages);
// The times at which outages begin or switches change paths.
std::vector<Time> change_times(const LinkOutages& outages);

// The outages that a part of a transfer meets on its own path, and on its path around each avoided
// set.
struct OutageWays {
    struct Way {
        bool exists = false;
        OutageSet meets = 0;
    };
    OutageSet meets = 0;
    std::vector<Way> around{};  // by position in avoided_sets()
};
inline constexpr std::uint32_t kOwnPath = UINT32_MAX;

// The wait of a part that is to move at `now`.
struct OutageWait {
    Time resume;                    // Time::max(): the sender gives up
    std::uint32_t path = kOwnPath;  // kOwnPath, or a position in OutageWays::around
};
// `avoided` is the result of avoided_sets().
OutageWait wait_of(const LinkOutages& outages,
                   const std::vector<OutageSet>& avoided,
                   const OutageWays& ways,
                   Time now);

}  // namespace orrery

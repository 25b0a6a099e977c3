// SPDX-License-Identifier: Apache-2.0
// A cluster as it is built, before anything runs on it: its switches, its cables by tier, the place
// of a plan's groups, and the path between two ranks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct SwitchTier {
    std::string name;  // "leaf"
    std::uint32_t count = 0;
    bool operator==(const SwitchTier&) const = default;
};

// The links of a class (network/fabric/link_class.h), each with both directions. All bandwidths are
// usable ones, of one direction. A drive reads faster than it writes.
struct CableTier {
    std::string name;  // "leaf-spine"
    std::uint32_t cables = 0;
    Bandwidth slowest{};  // of a cable
    Bandwidth fastest{};
    Bandwidth total{};  // of all cables
    Time latency{};     // of a cable, with the switch at its end
    // The bandwidth of the tier below over this tier's; 0 for links inside nodes and of NICs.
    double oversubscription = 0;
};

// How far the members of a group are from each other.
enum class Distance : std::uint8_t { node, leaf_set, pod, cluster };

// The groups of an axis of the plan's mesh (models/plan/rank_mesh.h).
struct PlacedAxis {
    std::string name;         // "tp"
    std::uint32_t ranks = 1;  // of a group
    std::uint32_t groups = 1;
    std::uint32_t nodes = 1;  // the most that a group is spread over
    Distance farthest = Distance::node;
};

struct Hop {
    std::string link;        // "node 3 nic 2 -> tor 18"
    std::string link_class;  // as CableTier::name
    Bandwidth capacity{};
    Time latency{};
};

struct RankPath {
    std::uint32_t from = 0;  // ranks
    std::uint32_t to = 0;
    std::vector<Hop> hops{};
    Time latency{};
    std::uint64_t equal_paths = 0;  // through the switches; 0: it crosses no switch
};

struct Topology {
    std::string name;
    std::string node;    // its name; several kinds: their number
    std::string fabric;  // "" if nothing names it, or with a single node
    std::uint32_t nodes = 1;
    std::uint32_t gpus = 1;
    std::uint32_t ranks = 1;
    std::vector<SwitchTier> switches{};
    std::vector<CableTier> cables{};  // in the order of the classes
    std::vector<PlacedAxis> axes{};   // empty without a plan
    std::optional<RankPath> path{};
    std::vector<std::string> remarks{};  // network/fabric/fabric_remarks.h
};

// `between` are the ranks at the ends of the path. Switches and cables are counted as they are,
// also if routing is spray, which the simulation merges. Errors: of the cluster, and a rank that it
// does not have.
Result<Topology> topology_of(
    const Scenario& scenario,
    const std::optional<std::pair<std::uint32_t, std::uint32_t>>& between = {});

}  // namespace orrery

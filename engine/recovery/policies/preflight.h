// SPDX-License-Identifier: Apache-2.0
// All members are tested before a restart after an incident: a kernel on each node, loopback,
// pairs, all-to-all, all-reduce with neighbours (MegaScale's self-check, NSDI 2024, section 4.3). A
// node that fails is replaced, and its replacement is tested, too. The times and probabilities are
// for a campaign, which has no real nodes to test; all are assumed.
#pragma once

#include <tuple>

#include "engine/recovery/policies/knob.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

struct PreflightCheck {
    std::uint32_t rounds = 2;
    WallTime duration = WallTime::seconds(60);
    double finds = 0.95;        // probability for a sick or slow node
    double localises = 1;       // probability to name that node, not the other side of a pair
    double false_positive = 0;  // probability to accuse a healthy node, too
    bool operator==(const PreflightCheck&) const = default;

    static constexpr PolicyWords kWords{
        .name = "preflight",
        .meaning = "Test all nodes before a restart.",
        .does_not_cover = "wrong numbers; what only a long training shows"};
    static constexpr auto knobs() {
        return std::tuple{
            knob<&PreflightCheck::rounds>("rounds", "Rounds of tests before a restart.")
                .range(1, 100),
            knob<&PreflightCheck::duration>("duration", "Time of a round."),
            knob<&PreflightCheck::finds>("finds", "Probability that a test finds a faulty node.")
                .range(0, 1),
            knob<&PreflightCheck::localises>("localises",
                                             "Probability that it names the right node.")
                .range(0, 1),
            knob<&PreflightCheck::false_positive>("false_positive",
                                                  "Probability that it accuses a healthy node.")
                .range(0, 1)};
    }

    void leave_nothing_to_chance() {
        finds = localises = 1;
        false_positive = 0;
    }
    std::optional<MemberTest> test() const {
        return MemberTest{.duration = duration,
                          .finds = finds,
                          .localises = localises,
                          .false_positive = false_positive};
    }
    std::uint32_t checks(const Observation& incident) const {
        // Returning nodes and planned stops suspect no node.
        switch (incident.kind) {
            case ObservationKind::fault_detected:
            case ObservationKind::corruption_found:
                return rounds;
            case ObservationKind::drained:
                return incident.nodes.empty() ? 0 : rounds;
            default:
                return 0;
        }
    }
};

}  // namespace orrery

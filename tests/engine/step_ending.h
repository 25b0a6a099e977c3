// SPDX-License-Identifier: Apache-2.0
// Random programs end with a step's barrier (engine/world/step_barrier.h), or with something that
// nearly is one.
#pragma once

#include "tests/engine/random_program.h"
#include "tests/reference/program_builder.h"

namespace orrery {

// What is drawn about the end of a step.
struct StepEnding {
    bool waits_for_all;   // or not for the last op of one stream
    bool all_wait;        // or an op after it does not wait for it
    std::uint32_t tail;   // ops after it
    std::uint32_t bytes;  // of it; none: it takes only the network's latency, if any
};

inline void append_ending(RandomCase& c, const StepEnding& ending, std::uint64_t seed) {
    Program& p = c.program;
    const std::uint32_t everyone = reference::append(p.groups, Group{"everyone", 7u, 0, {}, {}});
    const std::uint32_t payload = reference::append(
        p.collectives,
        CollectiveCall{.group = to_id<GroupId>(everyone), .bytes = Bytes{ending.bytes}});
    const std::uint32_t local = reference::append(
        p.collectives, CollectiveCall{.group = to_id<GroupId>(0), .bytes = Bytes{300'000}});
    for (std::uint32_t role = 0; role < p.roles.size(); ++role) {
        Slot slot{.segment = to_id<SegmentId>(p.segments.size()), .waits = {}};
        p.segments.push_back({"ending", {}});
        bool left_out = ending.waits_for_all;
        for (std::uint32_t s = 0; s < p.roles[role].slots.size(); ++s) {
            const std::size_t size = p.segments[index(p.roles[role].slots[s].segment)].ops.size();
            for (std::uint32_t op = 0; op < size; ++op) {
                if (!left_out && op + 1 == size && s == 1) {
                    left_out = true;
                    continue;
                }
                slot.waits.push_back({0, s, op});
            }
        }
        const auto add = [&](OpKind kind, std::uint64_t stream, std::uint32_t what, bool waits) {
            const std::vector<std::uint32_t> on{0};
            reference::append_op(p,
                                 slot.segment,
                                 Op{.payload = {kind, what},
                                    .stream = to_id<StreamId>(stream % 3),
                                    .launches = static_cast<std::uint8_t>(seed % 3)},
                                 waits ? on : std::vector<std::uint32_t>{});
        };
        add(OpKind::collective, seed, payload, false);
        for (std::uint32_t i = 0; i < ending.tail; ++i) {
            const bool moves = (seed >> i) % 4 == 0;
            add(moves ? OpKind::collective : OpKind::kernel,
                seed + i,
                moves ? local : i % 6,
                ending.all_wait || i > 0);
        }
        p.roles[role].slots.push_back(std::move(slot));
        p.roles[role].host_reads.clear();  // the host waits for all
    }
}

}  // namespace orrery

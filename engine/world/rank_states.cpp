// SPDX-License-Identifier: Apache-2.0
#include "engine/world/rank_states.h"

#include <algorithm>

namespace orrery {

RankStates::RankStates(const ExecutionPlan& plan)
    : num_streams(std::max(1u, plan.tapes.num_streams)),
      stream_bits(static_cast<std::uint32_t>(std::bit_width(num_streams - 1))),
      streams(plan.quotient.ranks.size() << stream_bits),
      ranks(plan.quotient.ranks.size()),
      step_ends(ranks.size()),
      leader(ranks.size()),
      plan_(plan) {
    const SimulationInput& input = plan.input;
    for (const RankClassId r : ranks.ids()) {
        ranks[r].device = plan.quotient.ranks[r].device;
        ranks[r].role = static_cast<std::uint32_t>(index(plan.quotient.ranks[r].role));
        ranks[r].tape = &plan.tapes.roles[ranks[r].role];
        leader[r] = r;
        ranks[r].led = std::uint64_t{1} << plan.groups.place[r];
    }
    if (std::ranges::any_of(plan.tapes.roles, &RoleTape::overlaps_steps)) {
        older_steps.resize(ranks.size());
    }
    const bool interferes =
        std::ranges::any_of(input.devices, [](const DeviceTimings& d) { return d.num_sms > 0; });
    if (interferes || !input.traced_ranks.empty() || !input.events.devices.empty()) {
        walks.resize(streams.size());
    }
    for (std::uint32_t s = 0; s < num_streams; ++s) {
        for (const RankClassId r : ranks.ids()) {
            set_up_stream(r, s);
        }
    }
    for (const RankId rank : input.traced_ranks) {
        const RankClassId r = plan.quotient.class_of_rank[rank];
        for (std::uint32_t s = 0; s < num_streams; ++s) {
            streams[stream_of(r, s)].traced = true;
        }
    }
}

void RankStates::set_up_stream(RankClassId r, std::uint32_t s) {
    const RoleTape& tape = tape_of(r);
    const RankClass& rank = plan_.quotient.ranks[r];
    StreamState& stream = streams[stream_of(r, s)];
    stream.rank = r;
    stream.stream = static_cast<std::uint8_t>(s);
    stream.tape = s < tape.streams.size() ? &tape.streams[s] : nullptr;
    stream.size = rank.size;
    stream.first_connection = rank.first_connection;
    stream.slows_kernels = (tape.kernel_streams & ~(std::uint64_t{1} << s)) != 0 &&
                           plan_.input.devices[rank.device].num_sms > 0;
}

}  // namespace orrery

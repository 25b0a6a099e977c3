// SPDX-License-Identifier: Apache-2.0
#include "engine/world/local_times.h"

#include <algorithm>
#include <bit>

namespace orrery {

namespace {

constexpr std::int64_t kFullPace = std::int64_t{1} << 20;

}  // namespace

LocalTimes::LocalTimes(const SimulationInput& input,
                       const Tapes& tapes,
                       const Transfers& transfers,
                       const Quotient& quotient,
                       const LockstepGroups& groups,
                       const std::vector<RunTimes>& runs)
    : tapes_(tapes), groups_(groups), possible_(groups.groups.size(), false) {
    // By role and message: the least duration
    std::vector<std::vector<Time>> meetings(tapes.roles.size());
    for (const LockstepGroupId id : groups.groups.ids()) {
        const LockstepGroup& group = groups.groups[id];
        const std::size_t t = index(id);
        if (group.connection == kNoMeeting || !input.events.empty() ||
            !input.accelerations.local_clocks) {
            continue;
        }
        const ConnectionClass& meeting = quotient.connections[group.connection];
        const Connection& connection = transfers.connections[meeting.connection];
        const auto first = transfers.messages.begin() + connection.first_message;
        const std::size_t role = index(quotient.ranks[groups.members_of(group).front()].role);
        const RoleConnection& calls = tapes.roles[role].connections[groups.meeting[role]];
        std::uint64_t streams = 0;  // two transfers at a time would share links
        possible_[t] = true;
        for (std::uint32_t m = 0; m < connection.num_messages; ++m) {
            streams |= first[m].uncontended ? 0 : calls.stream_masks[m];
            possible_[t] = possible_[t] && (first[m].uncontended || meeting.mostly_exclusive) &&
                           first[m].uncontended_time < Time::max() && std::popcount(streams) <= 1;
        }
        if (!possible_[t]) {
            continue;
        }
        std::vector<Time>& least = meetings[role];
        least.resize(connection.num_messages, Time::max());
        for (std::uint32_t m = 0; m < connection.num_messages; ++m) {
            least[m] = std::min(least[m], first[m].uncontended_time);
        }
    }
    find_paces(input, runs);
    spans_.resize(tapes.roles.size());
    for (std::uint32_t role = 0; role < tapes.roles.size(); ++role) {
        if (!meetings[role].empty()) {
            find_spans(role, meetings[role]);
        }
    }
}

// Devices mostly differ by one factor for all kernels, which makes the bound tight.
void LocalTimes::find_paces(const SimulationInput& input, const std::vector<RunTimes>& runs) {
    const std::size_t shapes = tapes_.shapes.size();
    fastest_.assign(shapes, Time::max());
    for (std::size_t i = 0; i < runs.size(); ++i) {
        fastest_[i % shapes] = std::min(fastest_[i % shapes], runs[i].duration);
    }
    paces_.assign(input.devices.size(), INT64_MAX);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Time least = fastest_[i % shapes];
        if (least > Time{}) {
            const auto pace = static_cast<__int128>(runs[i].duration.picoseconds()) * kFullPace /
                              least.picoseconds();
            std::int64_t& of_device = paces_[i / shapes];
            of_device = static_cast<std::int64_t>(std::min<__int128>(of_device, pace));
        }
    }
    std::ranges::replace(paces_, INT64_MAX, kFullPace);  // no shape takes any time
}

void LocalTimes::find_spans(std::uint32_t role, const std::vector<Time>& meetings) {
    const RoleTape& tape = tapes_.roles[role];
    for (const TapeStream& stream : tape.streams) {
        std::vector<Place>& places = spans_[role].emplace_back(stream.items.size() + 1);
        for (std::size_t i = 0; i < stream.items.size(); ++i) {
            const TapeItem& item = stream.items[i];
            places[i + 1] = places[i];
            if (item.kind == ItemKind::run) {
                places[i + 1].runs += fastest_[item.shape];
            } else if (is_group_collective(role, item)) {
                places[i + 1].meetings += meetings[tape.parts[item.first_part].message];
            }
        }
        auto next = static_cast<std::uint32_t>(stream.items.size());
        for (std::size_t i = stream.items.size() + 1; i-- > 0;) {
            if (i < stream.items.size() && stream.items[i].kind != ItemKind::run &&
                !is_group_collective(role, stream.items[i])) {
                next = static_cast<std::uint32_t>(i);
            }
            places[i].next_outside = next;
        }
    }
}

Time LocalTimes::least(std::uint32_t role,
                       std::uint16_t device,
                       std::uint32_t stream,
                       std::uint32_t from,
                       std::uint32_t to) const {
    const Place& a = spans_[role][stream][from];
    const Place& b = spans_[role][stream][to];
    const auto runs =
        static_cast<__int128>((b.runs - a.runs).picoseconds()) * paces_[device] / kFullPace;
    return Time::picoseconds(static_cast<std::int64_t>(runs)) + b.meetings - a.meetings;
}

}  // namespace orrery

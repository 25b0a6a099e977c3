// SPDX-License-Identifier: Apache-2.0
#include "engine/world/step_barrier.h"

#include <algorithm>

#include "engine/world/kernel_runs.h"

namespace orrery {

namespace {

constexpr std::uint32_t kNoStep = UINT32_MAX;

// The position of an item in its role.
struct Place {
    std::uint32_t stream = kNoStep;
    std::uint32_t item = 0;
};

// The same connection in the tape of another role, or the other end of a pair.
struct OtherSide {
    std::uint32_t role = 0;
    std::uint32_t connection = 0;
};

using ByStream = std::vector<std::uint32_t>;

class BarrierFinder {
public:
    BarrierFinder(const SimulationInput& input, const Tapes& tapes, const Transfers& transfers)
        : program_(*input.program),
          input_(input),
          tapes_(tapes),
          transfers_(transfers),
          runs_(time_runs(input, tapes)),
          rank_of_role_(tapes.roles.size(), kNoStep) {
        for (std::uint32_t r = program_.num_ranks(); r-- > 0;) {
            rank_of_role_[role_of(to_id<RankId>(r))] = r;
        }
        for (std::uint32_t role = 0; role < tapes.roles.size(); ++role) {
            find_places(role);
            find_other_sides(role);
        }
    }

    std::optional<std::vector<RoleBarrier>> find() const {
        for (std::size_t i = 0; i < transfers_.connections.size(); ++i) {
            const auto c = to_id<ConnectionId>(i);
            const Connection& connection = transfers_.connections[c];
            if (connection.kind == ConnectionKind::group && connection.num_members > 1 &&
                connection.num_members == program_.num_ranks()) {
                std::optional<std::vector<RoleBarrier>> barriers = last_of(c);
                if (barriers) {
                    return barriers;
                }
            }
        }
        return std::nullopt;
    }

private:
    std::uint32_t role_of(RankId rank) const {
        return static_cast<std::uint32_t>(index(program_.role_of(rank)));
    }

    // The connection with index `c` of the role's lowest rank.
    ConnectionId connection_of(std::uint32_t role, std::uint32_t c) const {
        return transfers_.connection_of[transfers_.first_connection[rank_of_role_[role]] + c];
    }

    void find_places(std::uint32_t role) {
        const RoleTape& tape = tapes_.roles[role];
        std::vector<std::vector<Place>> places;
        for (const RoleConnection& connection : tape.connections) {
            places.emplace_back(connection.messages_per_step);
        }
        for (std::uint32_t s = 0; s < tape.streams.size(); ++s) {
            for (std::uint32_t i = 0; i < tape.streams[s].items.size(); ++i) {
                const TapeItem& item = tape.streams[s].items[i];
                for (std::uint32_t p = 0; p < item.num_parts; ++p) {
                    const TapePart& part = tape.parts[item.first_part + p];
                    places[part.connection][part.sequence] = {s, i};
                }
            }
        }
        places_.push_back(std::move(places));
    }

    void find_other_sides(std::uint32_t role) {
        const std::vector<RoleConnection>& connections = tapes_.roles[role].connections;
        std::vector<std::vector<OtherSide>> all;
        for (std::uint32_t c = 0; c < connections.size(); ++c) {
            std::vector<OtherSide>& sides = all.emplace_back();
            const ConnectionId id = connection_of(role, c);
            for (const RankId member : transfers_.members_of(transfers_.connections[id])) {
                const std::uint32_t other = role_of(member);
                const bool known =
                    std::any_of(sides.begin(), sides.end(), [&](const OtherSide& side) {
                        return side.role == other;
                    });
                const std::uint32_t first = transfers_.first_connection[index(member)];
                for (std::uint32_t d = 0; d < tapes_.roles[other].connections.size() && !known;
                     ++d) {
                    if (transfers_.connection_of[first + d] == id && (other != role || d != c)) {
                        sides.push_back({other, d});
                    }
                }
            }
        }
        other_sides_.push_back(std::move(all));
    }

    // The last collective of a step on a connection of all ranks, if it is a barrier.
    std::optional<std::vector<RoleBarrier>> last_of(ConnectionId connection) const {
        std::vector<Place> places;
        for (std::uint32_t role = 0; role < tapes_.roles.size(); ++role) {
            std::uint32_t c = 0;
            while (connection_of(role, c) != connection) {
                ++c;
            }
            places.push_back(places_[role][c].back());
        }
        const std::vector<ByStream> ended = items_before(places);
        std::vector<RoleBarrier> barriers;
        for (std::uint32_t role = 0; role < tapes_.roles.size(); ++role) {
            const RoleTape& tape = tapes_.roles[role];
            const TapeItem& item = tape.streams[places[role].stream].items[places[role].item];
            const Time alone = transfers_
                                   .messages[transfers_.connections[connection].first_message +
                                             tape.parts[item.first_part].message]
                                   .uncontended_time;
            RoleBarrier barrier{.stream = places[role].stream, .ended = ended[role]};
            // A barrier without duration would not order the items that end with it.
            if (alone == Time{} || alone == Time::max() ||
                barrier.ended != items_not_after(tape, places[role]) ||
                !launches_are_past(role, barrier, item.launch + alone)) {
                return std::nullopt;
            }
            barriers.push_back(std::move(barrier));
        }
        return barriers;
    }

    // By role and stream: the number of items that must have ended on all ranks once the items at
    // `places` have.
    std::vector<ByStream> items_before(const std::vector<Place>& places) const {
        std::vector<ByStream> ended;
        std::vector<ByStream> followed;
        for (std::uint32_t role = 0; role < places.size(); ++role) {
            ended.emplace_back(tapes_.roles[role].streams.size(), 0);
            followed.push_back(ended.back());
            ended.back()[places[role].stream] = places[role].item + 1;
        }
        for (bool grew = true; grew;) {
            grew = false;
            for (std::uint32_t role = 0; role < places.size(); ++role) {
                grew = follow_waits(role, ended, followed) || grew;
                grew = follow_transfers(role, ended) || grew;
            }
        }
        return ended;
    }

    // If an item has ended, so have the items that it waited for.
    bool follow_waits(std::uint32_t role,
                      std::vector<ByStream>& all_ended,
                      std::vector<ByStream>& followed) const {
        const RoleTape& tape = tapes_.roles[role];
        ByStream& ended = all_ended[role];
        bool grew = false;
        for (std::uint32_t s = 0; s < ended.size(); ++s) {
            for (std::uint32_t& i = followed[role][s]; i < ended[s]; ++i) {
                const TapeItem& item = tape.streams[s].items[i];
                for (std::uint32_t w = 0; w < item.num_waits; ++w) {
                    const ItemCondition& wait = tape.conditions[item.first_wait + w];
                    grew = grew || wait.items > ended[wait.stream];
                    ended[wait.stream] = std::max(ended[wait.stream], wait.items);
                }
            }
        }
        return grew;
    }

    // A transfer ends on all sides at once, so that the wait of one side orders the other sides,
    // too.
    bool follow_transfers(std::uint32_t role, std::vector<ByStream>& ended) const {
        const RoleTape& tape = tapes_.roles[role];
        bool grew = false;
        for (std::uint32_t s = 0; s < tape.streams.size(); ++s) {
            const std::vector<TapeItem>& items = tape.streams[s].items;
            for (std::uint32_t i = ended[role][s]; i < items.size(); ++i) {
                bool has_ended = items[i].num_parts > 0;
                for (std::uint32_t p = 0; p < items[i].num_parts && has_ended; ++p) {
                    has_ended = ended_elsewhere(role, tape.parts[items[i].first_part + p], ended);
                }
                if (has_ended) {
                    ended[role][s] = i + 1;
                    grew = true;
                }
            }
        }
        return grew;
    }

    bool ended_elsewhere(std::uint32_t role,
                         const TapePart& part,
                         const std::vector<ByStream>& ended) const {
        const std::vector<OtherSide>& sides = other_sides_[role][part.connection];
        return std::any_of(sides.begin(), sides.end(), [&](const OtherSide& side) {
            const Place& place = places_[side.role][side.connection][part.sequence];
            return place.item < ended[side.role][place.stream];
        });
    }

    // By stream: the number of items that could start before the item at `place` has ended,
    // including it.
    static ByStream items_not_after(const RoleTape& tape, Place place) {
        ByStream free;
        for (const TapeStream& stream : tape.streams) {
            free.push_back(static_cast<std::uint32_t>(stream.items.size()));
        }
        free[place.stream] = place.item + 1;
        for (bool shrank = true; shrank;) {
            shrank = false;
            for (std::uint32_t s = 0; s < free.size(); ++s) {
                for (std::uint32_t i = 0; i < free[s]; ++i) {
                    const TapeItem& item = tape.streams[s].items[i];
                    for (std::uint32_t w = 0; w < item.num_waits; ++w) {
                        const ItemCondition& wait = tape.conditions[item.first_wait + w];
                        const bool on_it =
                            wait.stream == place.stream && wait.items == place.item + 1;
                        if (on_it || wait.items > free[wait.stream]) {
                            free[s] = i;
                            shrank = true;
                        }
                    }
                }
            }
        }
        return free;
    }

    // Whether all launches after the barrier are past when the barrier ends. The barrier ends no
    // sooner than `earliest` after the host's start, and no sooner than the computation of any
    // stream before it.
    bool launches_are_past(std::uint32_t role, const RoleBarrier& barrier, Time earliest) const {
        const RoleTape& tape = tapes_.roles[role];
        Time last_launch;
        Time computing = Time::max();  // on the fastest device
        for (std::size_t d = 0; d < input_.devices.size(); ++d) {
            Time longest;
            for (std::uint32_t s = 0; s < tape.streams.size(); ++s) {
                Time sum;
                for (std::uint32_t i = 0; i < tape.streams[s].items.size(); ++i) {
                    const TapeItem& item = tape.streams[s].items[i];
                    const bool is_run = item.kind == ItemKind::run;
                    if (i >= barrier.ended[s]) {
                        const Time more = is_run ? tapes_.shapes[item.shape].back().launch : Time{};
                        last_launch = std::max(last_launch, item.launch + more);
                    } else if (is_run) {
                        sum += runs_[d * tapes_.shapes.size() + item.shape].duration;
                    }
                }
                longest = std::max(longest, sum);
            }
            computing = std::min(computing, longest);
        }
        return last_launch <= std::max(earliest, computing);
    }

    const Program& program_;
    const SimulationInput& input_;
    const Tapes& tapes_;
    const Transfers& transfers_;
    std::vector<RunTimes> runs_;
    std::vector<std::uint32_t> rank_of_role_;                       // the lowest
    std::vector<std::vector<std::vector<Place>>> places_;           // by role, connection, sequence
    std::vector<std::vector<std::vector<OtherSide>>> other_sides_;  // by role, connection
};

}  // namespace

std::optional<std::vector<RoleBarrier>> find_step_barrier(const SimulationInput& input,
                                                          const Tapes& tapes,
                                                          const Transfers& transfers) {
    // If steps overlap, ops of the step before may be running when the barrier ends.
    if (std::ranges::any_of(tapes.roles, &RoleTape::overlaps_steps)) {
        return std::nullopt;
    }
    return BarrierFinder(input, tapes, transfers).find();
}

}  // namespace orrery

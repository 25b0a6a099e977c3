// SPDX-License-Identifier: Apache-2.0
#include "engine/world/transfers.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/world/rate_alone.h"

namespace orrery {

namespace {

constexpr std::uint32_t kNone = UINT32_MAX;
constexpr ConnectionId kNotPlanned{UINT32_MAX};
constexpr std::size_t kManyShares = 10'000;

class Planner {
public:
    Planner(const Program& program,
            const Tapes& tapes,
            const NetworkModel& network,
            const StepEvents& events,
            const StepLoad* load)
        : program_(program), tapes_(tapes), network_(network), load_(load) {
        if (events.outages.list.empty() && events.capacities.empty()) {
            return;
        }
        ORRERY_CHECK(events.outages.list.size() <= kOutagesMost);
        const std::size_t links = network.links().size();
        out_.watched.resize(links);
        for (const CapacityChange& change : events.capacities) {
            out_.watched[index(change.link)] = true;
        }
        if (events.outages.list.empty()) {
            return;
        }
        outages_of_.resize(links);
        for (std::size_t i = 0; i < events.outages.list.size(); ++i) {
            for (const LinkId link : events.outages.list[i].links) {
                out_.watched[index(link)] = true;
                outages_of_[index(link)] |= OutageSet{1} << i;
            }
        }
        for (const OutageSet set : avoided_sets(events.outages)) {
            avoided_.push_back(links_of(set));
        }
    }

    Transfers plan() {
        const std::uint32_t ranks = program_.num_ranks();
        out_.first_connection.reserve(ranks);
        for (std::uint32_t r = 0; r < ranks; ++r) {
            out_.first_connection.push_back(static_cast<std::uint32_t>(out_.connection_of.size()));
            const std::size_t n = tape_of(to_id<RankId>(r)).connections.size();
            out_.connection_of.insert(out_.connection_of.end(), n, kNotPlanned);
        }
        for (std::uint32_t r = 0; r < ranks; ++r) {
            const RoleTape& tape = tape_of(to_id<RankId>(r));
            for (std::uint32_t c = 0; c < tape.connections.size(); ++c) {
                if (out_.connection_of[out_.first_connection[r] + c] == kNotPlanned) {
                    add_connection(to_id<RankId>(r), c);
                }
            }
        }
        return std::move(out_);
    }

private:
    const RoleTape& tape_of(RankId rank) const {
        return tapes_.roles[index(program_.role_of(rank))];
    }

    // The index of the connection in the tape of a member, or kNone.
    std::uint32_t find(RankId rank, const RoleConnection& like, bool is_send, std::uint32_t delta) {
        const std::vector<RoleConnection>& connections = tape_of(rank).connections;
        for (std::uint32_t c = 0; c < connections.size(); ++c) {
            const RoleConnection& have = connections[c];
            if (have.kind == like.kind && have.is_send == is_send &&
                have.communicator == like.communicator && have.group == like.group &&
                have.peers == like.peers && have.digit == like.digit && have.delta == delta) {
                return c;
            }
        }
        return kNone;
    }

    RankId peer_of(RankId rank, const RoleConnection& connection) const {
        return program_.peer_of(rank,
                                {.digit = connection.digit,
                                 .delta = static_cast<int>(connection.delta),
                                 .peers = connection.peers});
    }

    // The index of a connection's other side in the tape of the peer.
    std::uint32_t find_other_side(RankId rank, RankId peer, const RoleConnection& side) {
        if (side.peers < 0) {
            const std::uint32_t size = program_.mesh_of(rank).size(side.digit);
            return find(peer, side, !side.is_send, (size - side.delta) % size);
        }
        const std::vector<RoleConnection>& connections = tape_of(peer).connections;
        for (std::uint32_t c = 0; c < connections.size(); ++c) {
            const RoleConnection& have = connections[c];
            if (have.peers >= 0 && have.is_send != side.is_send &&
                have.communicator == side.communicator && peer_of(peer, have) == rank) {
                return c;
            }
        }
        return kNone;
    }

    void add_connection(RankId rank, std::uint32_t c) {
        const RoleConnection& role_connection = tape_of(rank).connections[c];
        Connection connection{.kind = role_connection.kind,
                              .communicator = role_connection.communicator,
                              .group = role_connection.group,
                              .first_member = static_cast<std::uint32_t>(out_.members.size()),
                              .first_message = static_cast<std::uint32_t>(out_.messages.size()),
                              .num_messages = role_connection.num_messages()};
        const ConnectionId id = out_.connections.next_id();
        const RoleConnection* first = nullptr;
        const RoleConnection* last = nullptr;
        if (role_connection.kind == ConnectionKind::copies) {
            bind(rank, c, id);
            out_.members.push_back(rank);
            first = last = &role_connection;
        } else if (role_connection.kind == ConnectionKind::group) {
            std::vector<RankId> members =
                program_.mesh_of(rank).members(program_.groups[index(role_connection.group)], rank);
            std::sort(members.begin(), members.end());
            ORRERY_CHECK(!members.empty());
            for (const RankId m : members) {
                bind(m, find(m, role_connection, false, 0), id);
            }
            out_.members.insert(out_.members.end(), members.begin(), members.end());
            first = &role_connection_of(members.front(), id);
            last = &role_connection_of(members.back(), id);
        } else {
            const RankId peer = peer_of(rank, role_connection);
            const std::uint32_t peer_connection = find_other_side(rank, peer, role_connection);
            bind(rank, c, id);
            bind(peer, peer_connection, id);
            const RoleConnection* other = &tape_of(peer).connections[peer_connection];
            first = role_connection.is_send ? &role_connection : other;
            last = role_connection.is_send ? other : &role_connection;
            out_.members.push_back(role_connection.is_send ? rank : peer);
            out_.members.push_back(role_connection.is_send ? peer : rank);
        }
        connection.num_members =
            static_cast<std::uint32_t>(out_.members.size()) - connection.first_member;
        out_.connections.push_back(connection);
        const std::size_t shares = out_.shares.size();
        for (std::uint32_t m = 0; m < connection.num_messages; ++m) {
            add_message(connection, *first, *last, m);
        }
        if (load_ != nullptr && !reserved_ && out_.shares.size() > shares + kManyShares) {
            // Other groups need about the same number: without the reserve the vector would grow
            // again and again.
            reserved_ = true;
            out_.shares.reserve(shares + (out_.shares.size() - shares) * program_.num_ranks() /
                                             connection.num_members);
        }
    }

    void bind(RankId rank, std::uint32_t c, ConnectionId id) {
        ORRERY_CHECK(c != kNone);
        out_.connection_of[out_.first_connection[index(rank)] + c] = id;
    }

    const RoleConnection& role_connection_of(RankId rank, ConnectionId id) const {
        const std::vector<RoleConnection>& connections = tape_of(rank).connections;
        std::size_t c = 0;
        while (out_.connection_of[out_.first_connection[index(rank)] + c] != id) {
            ++c;
        }
        return connections[c];
    }

    void add_message(const Connection& connection,
                     const RoleConnection& first,
                     const RoleConnection& last,
                     std::uint32_t m) {
        const std::span<const RankId> members = out_.members_of(connection);
        TransferPlan plan;
        std::vector<std::vector<OtherPath>> paths;  // around the outages that the plan meets
        if (members.front() != members.back() || connection.kind == ConnectionKind::copies) {
            const TransferCall call = load_ == nullptr
                                          ? first.calls[m]
                                          : load_->call(first.calls[m],
                                                        first.draws[m],
                                                        program_.role_of(members.front()),
                                                        members);
            plan = network_.plan(call, members);
            paths = paths_around(plan, [&](const std::vector<std::uint8_t>& down) {
                return network_.paths_around(call, members, down);
            });
        }
        out_.messages.push_back(
            ConnectionMessage{.first_phase = static_cast<std::uint32_t>(out_.phases.size()),
                              .num_phases = static_cast<std::uint32_t>(plan.phases.size()),
                              .sms = plan.sms,
                              .uses = first.uses[m],
                              .first_streams = first.stream_masks[m],
                              .last_streams = last.stream_masks[m]});
        for (const TransferPhase& phase : plan.phases) {
            out_.phases.push_back({.latency = phase.latency,
                                   .first_part = static_cast<std::uint32_t>(out_.parts.size()),
                                   .num_parts = static_cast<std::uint32_t>(phase.parts.size())});
            for (std::size_t p = 0; p < phase.parts.size(); ++p) {
                if (const OutageSet meets = outages_on(phase.parts[p].footprint); meets != 0) {
                    add_ways_around(meets, paths, p);
                }
                add_part(phase.parts[p]);
            }
        }
    }

    std::vector<std::uint8_t> links_of(OutageSet set) const {
        std::vector<std::uint8_t> down(outages_of_.size());
        for (std::size_t l = 0; l < down.size(); ++l) {
            down[l] = (outages_of_[l] & set) != 0 ? 1 : 0;
        }
        return down;
    }
    OutageSet outages_on(std::span<const LinkShare> footprint) const {
        OutageSet met = 0;
        for (const LinkShare& share : footprint) {
            met |= index(share.link) < outages_of_.size() ? outages_of_[index(share.link)] : 0;
        }
        return met;
    }
    bool meets_outage(const TransferPlan& plan) const {
        return std::any_of(plan.phases.begin(), plan.phases.end(), [&](const TransferPhase& phase) {
            return std::any_of(phase.parts.begin(), phase.parts.end(), [&](const auto& part) {
                return outages_on(part.footprint) != 0;
            });
        });
    }

    // The paths for each avoided set. The plan gets one part per connection: connections without an
    // outage continue.
    template <class Ask>
    std::vector<std::vector<OtherPath>> paths_around(TransferPlan& plan, Ask ask) const {
        std::vector<std::vector<OtherPath>> paths;
        if (!meets_outage(plan)) {
            return paths;
        }
        for (const std::vector<std::uint8_t>& down : avoided_) {
            paths.push_back(ask(down));
        }
        const std::vector<OtherPath> any = paths.empty() ? ask(links_of(~OutageSet{0})) : paths[0];
        if (!any.empty()) {
            ORRERY_CHECK(plan.phases.size() == 1);
            plan.phases[0].parts.clear();
            for (const OtherPath& path : any) {
                plan.phases[0].parts.push_back(path.part);
            }
        }
        return paths;
    }

    // Adds the paths around outages of the next part, the p-th of its plan.
    void add_ways_around(OutageSet meets,
                         const std::vector<std::vector<OtherPath>>& paths,
                         std::size_t p) {
        Transfers::Around& part = out_.around[static_cast<std::uint32_t>(out_.parts.size())];
        part.ways.meets = meets;
        for (const std::vector<OtherPath>& way : paths) {
            part.shares.push_back(way.empty() ? std::vector<LinkShare>{} : way[p].around);
            part.ways.around.push_back(
                {.exists = !part.shares.back().empty(), .meets = outages_on(part.shares.back())});
            for (const LinkShare& share : part.shares.back()) {
                out_.watched[index(share.link)] = true;
            }
        }
    }

    void add_part(const TransferPart& planned) {
        out_.parts.push_back(
            {.first_share = static_cast<std::uint32_t>(out_.shares.size()),
             .num_shares = static_cast<std::uint32_t>(planned.footprint.size()),
             .bytes = planned.bytes,
             .rate_max = rate_alone(planned.footprint, planned.rate_max, network_.links())});
        out_.shares.insert(out_.shares.end(), planned.footprint.begin(), planned.footprint.end());
    }

    const Program& program_;
    const Tapes& tapes_;
    const NetworkModel& network_;
    const StepLoad* load_;
    bool reserved_ = false;
    std::vector<OutageSet> outages_of_;               // by LinkId; empty without outages
    std::vector<std::vector<std::uint8_t>> avoided_;  // by index in avoided_sets() and by LinkId
    Transfers out_;
};

}  // namespace

Transfers plan_transfers(const Program& program,
                         const Tapes& tapes,
                         const NetworkModel& network,
                         const StepEvents& events,
                         const StepLoad* load) {
    return Planner(program, tapes, network, events, load).plan();
}

}  // namespace orrery

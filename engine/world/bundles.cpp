// SPDX-License-Identifier: Apache-2.0
#include "engine/world/bundles.h"

#include <algorithm>
#include <map>

namespace orrery {

namespace {

class BundleFinder {
public:
    BundleFinder(const Tapes& tapes,
                 const Transfers& transfers,
                 const Quotient& quotient,
                 const LockstepGroups& groups,
                 SharedRates& rates)
        : tapes_(tapes),
          transfers_(transfers),
          quotient_(quotient),
          groups_(groups),
          rates_(rates) {}

    Bundles find() {
        out_.of_connection.assign(quotient_.connections.size(), kNoBundle);
        out_.flows.assign(transfers_.phases.size(), kNoLinks);
        for (const LockstepGroup& group : groups_.groups) {
            if (group.size < 2) {
                continue;
            }
            const RankClass& first = quotient_.ranks[groups_.members_of(group).front()];
            const std::vector<RoleConnection>& connections =
                tapes_.roles[index(first.role)].connections;
            for (std::uint32_t c = 0; c < connections.size(); ++c) {
                if (connections[c].is_send) {
                    look_at(group, c);
                }
            }
        }
        return std::move(out_);
    }

private:
    const Connection& planned(ConnectionClassId connection) const {
        return transfers_.connections[quotient_.connections[connection].connection];
    }

    // Examines the connection on which all members of `group` send.
    void look_at(const LockstepGroup& group, std::uint32_t connection) {
        std::vector<ConnectionClassId> connections;
        for (const RankClassId m : groups_.members_of(group)) {
            connections.push_back(
                quotient_.connection_of[quotient_.ranks[m].first_connection + connection]);
        }
        if (!lead_to_one_group(group, connections) || !send_alike(connections)) {
            return;
        }
        std::vector<FootprintId> flows;
        if (!join_flows(connections, flows)) {
            return;
        }
        const ConnectionMessage& first = transfers_.messages[planned(connections[0]).first_message];
        std::ranges::copy(flows, out_.flows.begin() + first.first_phase);
        for (const ConnectionClassId c : connections) {
            out_.of_connection[c] = static_cast<std::uint32_t>(out_.bundles.size());
        }
        out_.bundles.push_back({.first = static_cast<std::uint32_t>(out_.connections.size()),
                                .size = static_cast<std::uint32_t>(connections.size())});
        out_.connections.insert(out_.connections.end(), connections.begin(), connections.end());
    }

    bool lead_to_one_group(const LockstepGroup& group,
                           const std::vector<ConnectionClassId>& connections) const {
        const auto receiver = [&](ConnectionClassId c) {
            return quotient_.members[quotient_.connections[c].first_member + 1];
        };
        const LockstepGroupId other = groups_.group_of[receiver(connections[0])];
        const std::span<const RankClassId> members = groups_.members_of(group);
        for (std::uint32_t i = 0; i < connections.size(); ++i) {
            const ConnectionClass& c = quotient_.connections[connections[i]];
            if (c.num_members != 2 || c.num_neighbours > 0 || c.mostly_exclusive ||
                quotient_.members[c.first_member] != members[i] ||
                groups_.group_of[receiver(connections[i])] != other ||
                groups_.place[receiver(connections[i])] != i) {
                return false;
            }
        }
        return groups_.groups[other].size == group.size && other != groups_.group_of[members[0]];
    }

    bool send_alike(const std::vector<ConnectionClassId>& connections) const {
        const Connection& first = planned(connections[0]);
        return std::ranges::all_of(connections, [&](ConnectionClassId c) {
            const Connection& connection = planned(c);
            bool alike = connection.num_messages == first.num_messages;
            for (std::uint32_t m = 0; alike && m < first.num_messages; ++m) {
                alike = messages_alike(transfers_.messages[first.first_message + m],
                                       transfers_.messages[connection.first_message + m]);
            }
            return alike;
        });
    }

    bool messages_alike(const ConnectionMessage& a, const ConnectionMessage& b) const {
        bool alike = a.num_phases == b.num_phases && a.sms == b.sms &&
                     a.uncontended == b.uncontended && a.uncontended_time == b.uncontended_time;
        for (std::uint32_t i = 0; alike && i < a.num_phases; ++i) {
            const Phase& x = transfers_.phases[a.first_phase + i];
            const Phase& y = transfers_.phases[b.first_phase + i];
            alike = x.latency == y.latency && x.num_parts == y.num_parts;
            for (std::uint32_t p = 0; alike && p < x.num_parts; ++p) {
                const Part& one = transfers_.parts[x.first_part + p];
                const Part& two = transfers_.parts[y.first_part + p];
                alike = one.bytes == two.bytes && one.rate_max == two.rate_max;
            }
        }
        return alike;
    }

    // Joins the flows phase by phase, in the order of the first connection's phases. False if the
    // connections of a phase have neither one flow each nor none.
    bool join_flows(const std::vector<ConnectionClassId>& connections,
                    std::vector<FootprintId>& flows) {
        const Connection& first = planned(connections[0]);
        for (std::uint32_t m = 0; m < first.num_messages; ++m) {
            const ConnectionMessage& message = transfers_.messages[first.first_message + m];
            for (std::uint32_t i = 0; i < message.num_phases; ++i) {
                flows.push_back(kNoLinks);
                std::vector<FootprintId> of_connections;
                bool any = false;
                for (const ConnectionClassId c : connections) {
                    const std::uint32_t own = planned(c).first_message + m;
                    const Phase& phase =
                        transfers_.phases[transfers_.messages[own].first_phase + i];
                    of_connections.push_back(flow_of(phase));
                    any = any || (!message.uncontended && flows_at_all(phase));
                }
                if (!any) {
                    continue;
                }
                const bool all =
                    std::ranges::find(of_connections, kNoLinks) == of_connections.end();
                flows.back() = all ? join(of_connections) : kNoLinks;
                if (flows.back() == kNoLinks) {
                    return false;
                }
            }
        }
        return true;
    }

    bool flows_at_all(const Phase& phase) const {
        for (std::uint32_t p = phase.first_part; p < phase.first_part + phase.num_parts; ++p) {
            if (transfers_.parts[p].bytes > Bytes{} && quotient_.footprints[p] != kNoLinks) {
                return true;
            }
        }
        return false;
    }

    // The flow of a phase with exactly one part.
    FootprintId flow_of(const Phase& phase) const {
        if (phase.num_parts != 1) {
            return phase.num_parts == 0 ? kNoLinks : quotient_.joined[phase.first_part];
        }
        return flows_at_all(phase) ? quotient_.footprints[phase.first_part] : kNoLinks;
    }

    FootprintId join(const std::vector<FootprintId>& flows) {
        const auto [found, added] = known_.try_emplace(flows, kNoLinks);
        if (added) {
            found->second = rates_.join_flows(flows).value_or(kNoLinks);
        }
        return found->second;
    }

    const Tapes& tapes_;
    const Transfers& transfers_;
    const Quotient& quotient_;
    const LockstepGroups& groups_;
    SharedRates& rates_;
    std::map<std::vector<FootprintId>, FootprintId> known_;
    Bundles out_;
};

}  // namespace

Bundles find_bundles(const SimulationInput& input,
                     const Tapes& tapes,
                     const Transfers& transfers,
                     const Quotient& quotient,
                     const LockstepGroups& groups,
                     SharedRates& rates) {
    // An outage concerns one path of a bundle, not all.
    if (!input.accelerations.bundles || !input.events.empty()) {
        return {.of_connection = Table<ConnectionClassId, std::uint32_t>(
                    quotient.connections.size(), kNoBundle)};
    }
    return BundleFinder(tapes, transfers, quotient, groups, rates).find();
}

}  // namespace orrery

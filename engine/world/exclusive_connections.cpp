// SPDX-License-Identifier: Apache-2.0
#include "engine/world/exclusive_connections.h"

#include <algorithm>

#include "engine/world/rate_alone.h"

namespace orrery {

namespace {

class ExclusiveFinder {
public:
    ExclusiveFinder(const Transfers& transfers,
                    std::span<const LinkInfo> links,
                    const PartFootprints& parts,
                    Quotient& quotient)
        : transfers_(transfers), links_(links), parts_(parts), quotient_(quotient) {}

    void find() {
        const std::size_t connections = quotient_.connections.size();
        std::vector<Classes> users(links_.size());
        uses_ = Table<ConnectionClassId, std::uint64_t>(connections, 0);
        seen_of_.resize(links_.size(), UINT32_MAX);
        for (std::size_t c = 0; c < connections; ++c) {
            add_users(to_id<ConnectionClassId>(c), users);
        }
        Table<ConnectionClassId, Classes> neighbours(connections);
        for (std::size_t c = 0; c < connections; ++c) {
            if (is_simple(to_id<ConnectionClassId>(c))) {
                add_neighbours(to_id<ConnectionClassId>(c), users, neighbours);
            }
        }
        for (std::size_t i = 0; i < connections; ++i) {
            const auto c = to_id<ConnectionClassId>(i);
            quotient_.connections[c].first_neighbour =
                static_cast<std::uint32_t>(quotient_.neighbours.size());
            quotient_.connections[c].num_neighbours =
                static_cast<std::uint32_t>(neighbours[c].size());
            quotient_.neighbours.insert(
                quotient_.neighbours.end(), neighbours[c].begin(), neighbours[c].end());
        }
    }

private:
    using Classes = std::vector<ConnectionClassId>;

    template <class F>
    void for_each_message(ConnectionClassId c, F f) const {
        const Connection& connection = transfers_.connections[quotient_.connections[c].connection];
        for (std::uint32_t m = 0; m < connection.num_messages; ++m) {
            const ConnectionMessage& message = transfers_.messages[connection.first_message + m];
            if (!message.uncontended) {
                f(message);
            }
        }
    }

    std::span<const LinkShare> shares_of(std::uint32_t part) const {
        const std::uint32_t f = parts_.footprint_of_part[part];
        return f == UINT32_MAX ? std::span<const LinkShare>{} : parts_.footprints[f];
    }

    void add_users(ConnectionClassId c, std::vector<Classes>& users) {
        for_each_message(c, [&](const ConnectionMessage& message) {
            uses_[c] += message.uses;
            for (std::uint32_t i = 0; i < message.num_phases; ++i) {
                const Phase& phase = transfers_.phases[message.first_phase + i];
                for (std::uint32_t p = 0; p < phase.num_parts; ++p) {
                    for (const LinkShare& share : shares_of(phase.first_part + p)) {
                        Classes& on = users[index(share.link)];
                        if (on.empty() || on.back() != c) {
                            on.push_back(c);
                        }
                    }
                }
            }
        });
    }

    bool is_simple(ConnectionClassId c) const {
        bool simple = uses_[c] > 0;
        for_each_message(c, [&](const ConnectionMessage& message) {
            const Phase& phase = transfers_.phases[message.first_phase];
            simple = simple && message.num_phases == 1 && phase.num_parts == 1 &&
                     message.uncontended_time > Time{} && message.uncontended_time < Time::max() &&
                     goes_at_full_rate(phase.first_part);
        });
        return simple;
    }

    // Only the solver handles watched links. A folded link may carry the flow several times.
    bool goes_at_full_rate(std::uint32_t part) const {
        const std::span<const LinkShare> shares = shares_of(part);
        const Bandwidth rate = transfers_.parts[part].rate_max;
        const bool watched = std::any_of(shares.begin(), shares.end(), [&](const LinkShare& share) {
            return links_[index(share.link)].watched || transfers_.watches(share.link);
        });
        return !shares.empty() && !watched && rate_alone(shares, {}, links_) >= rate;
    }

    void add_neighbours(ConnectionClassId c,
                        const std::vector<Classes>& users,
                        Table<ConnectionClassId, Classes>& neighbours) {
        Classes others;
        const auto number = static_cast<std::uint32_t>(index(c));
        for_each_message(c, [&](const ConnectionMessage& message) {
            const Phase& phase = transfers_.phases[message.first_phase];
            for (const LinkShare& share : shares_of(phase.first_part)) {
                const std::size_t link = index(share.link);
                // Messages of a connection mostly cross the same links
                if (seen_of_[link] != number) {
                    seen_of_[link] = number;
                    others.insert(others.end(), users[link].begin(), users[link].end());
                }
            }
        });
        std::sort(others.begin(), others.end());
        others.erase(std::unique(others.begin(), others.end()), others.end());
        std::uint64_t theirs = 0;
        for (const ConnectionClassId other : others) {
            theirs += other == c ? 0 : uses_[other];
        }
        if (theirs > uses_[c]) {
            return;
        }
        quotient_.connections[c].mostly_exclusive = true;
        for (const ConnectionClassId other : others) {  // includes the connection itself
            neighbours[other].push_back(c);
        }
    }

    const Transfers& transfers_;
    std::span<const LinkInfo> links_;
    const PartFootprints& parts_;
    Quotient& quotient_;
    Table<ConnectionClassId, std::uint64_t> uses_;  // transfers per step
    // By link: the last class whose neighbours were collected from it
    std::vector<std::uint32_t> seen_of_;
};

}  // namespace

void find_exclusive_connections(const Transfers& transfers,
                                std::span<const LinkInfo> links,
                                const PartFootprints& parts,
                                Quotient& quotient) {
    ExclusiveFinder(transfers, links, parts, quotient).find();
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Colours are 64-bit hashes. A multiset hashes to the sum of its members' hashes, which does not
// depend on their order. Each new colour includes the colour before it, so that classes only split.
// The partition is stable once the number of classes stays the same.
#include "engine/world/folding.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "engine/base/splitmix.h"

namespace orrery {

namespace {

using Colour = std::uint64_t;

Colour mix(Colour a, Colour b) {
    return splitmix64(splitmix64(a) ^ b);
}

Colour mix(Colour a, std::int64_t b) {
    return mix(a, static_cast<Colour>(b));
}

// A connection crosses a link. `weight` hashes the part and its count.
struct Crossing {
    std::uint32_t connection = 0;
    std::uint32_t link = 0;
    Colour weight = 0;
};

// A rank takes part in a connection, which has index `slot` among its role's connections.
struct Membership {
    std::uint32_t connection = 0;
    std::uint32_t rank = 0;
    std::uint32_t slot = 0;
};

// Numbers colours by their first appearance; returns their number.
std::uint32_t number_classes(const std::vector<Colour>& colours, std::vector<std::uint32_t>& out) {
    std::unordered_map<Colour, std::uint32_t> numbers;
    numbers.reserve(colours.size());
    out.clear();
    for (const Colour colour : colours) {
        const auto next = static_cast<std::uint32_t>(numbers.size());
        out.push_back(numbers.try_emplace(colour, next).first->second);
    }
    return static_cast<std::uint32_t>(numbers.size());
}

class Refinement {
public:
    Refinement(const SimulationInput& input, const Transfers& transfers) : transfers_(transfers) {
        const Program& program = *input.program;
        for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
            const std::size_t role = index(program.role_of(to_id<RankId>(r)));
            const Colour device = input.device_class.empty() ? 0 : input.device_class[r];
            const Colour load = input.load == nullptr ? 0 : input.load->signature(to_id<RankId>(r));
            ranks_.push_back(mix(mix(role, device), load));
            const std::uint32_t first = transfers.first_connection[r];
            const std::size_t end = r + 1 < program.num_ranks() ? transfers.first_connection[r + 1]
                                                                : transfers.connection_of.size();
            for (std::uint32_t c = first; c < end; ++c) {
                memberships_.push_back(
                    {static_cast<std::uint32_t>(index(transfers.connection_of[c])), r, c - first});
            }
        }
        for (const LinkInfo& link : input.network->links()) {
            links_.push_back(mix(1, link.capacity.bits_per_second()));
        }
        tell_events_apart(input.events);
        for (std::uint32_t c = 0; c < transfers.connections.size(); ++c) {
            connections_.push_back(plan_colour(c));
        }
    }

    Partition refine() {
        Partition out;
        std::size_t before = 0;
        while (true) {
            out.rank_classes = number_classes(ranks_, out.class_of_rank);
            out.connection_classes = number_classes(connections_, out.class_of_connection);
            out.link_classes = number_classes(links_, out.class_of_link);
            const std::size_t now =
                std::size_t{out.rank_classes} + out.connection_classes + out.link_classes;
            if (now == before || out.rank_classes == ranks_.size()) {
                return out;
            }
            before = now;
            split();
        }
    }

private:
    // The first colour of a connection: its plans. Records the links that it crosses.
    Colour plan_colour(std::uint32_t c) {
        const Connection& connection = transfers_.connections[to_id<ConnectionId>(c)];
        Colour colour =
            mix(static_cast<Colour>(connection.kind), std::int64_t{connection.communicator});
        std::uint32_t position = 0;
        for (std::uint32_t m = 0; m < connection.num_messages; ++m) {
            const ConnectionMessage& message = transfers_.messages[connection.first_message + m];
            colour = mix(colour, std::int64_t{message.sms} * 2 + (message.uncontended ? 1 : 0));
            colour = mix(colour, message.uncontended_time.picoseconds());
            for (std::uint32_t i = 0; !message.uncontended && i < message.num_phases; ++i) {
                const Phase& phase = transfers_.phases[message.first_phase + i];
                colour = mix(colour, phase.latency.picoseconds());
                for (std::uint32_t p = 0; p < phase.num_parts; ++p) {
                    const Part& part = transfers_.parts[phase.first_part + p];
                    colour = mix(mix(colour, part.bytes.count()), part.rate_max.bits_per_second());
                    ++position;
                    if (part.bytes > Bytes{}) {
                        add_crossings(c, position, phase.first_part + p);
                    }
                }
            }
        }
        return colour;
    }

    // Gives each link that an event names a colour of its own.
    void tell_events_apart(const StepEvents& events) {
        std::int64_t number = 0;
        const auto tell_apart = [&](LinkId link) {
            links_[index(link)] = mix(links_[index(link)], mix(Colour{2}, ++number));
        };
        for (const LinkOutage& outage : events.outages.list) {
            for (const LinkId link : outage.links) {
                tell_apart(link);
            }
        }
        for (const CapacityChange& change : events.capacities) {
            tell_apart(change.link);
        }
    }

    void add_crossings(std::uint32_t c, std::uint32_t position, std::uint32_t part) {
        const auto add = [&](std::span<const LinkShare> shares, Colour way) {
            for (const LinkShare& share : shares) {
                crossings_.push_back(
                    {c,
                     static_cast<std::uint32_t>(index(share.link)),
                     mix(mix(Colour{position}, std::int64_t{share.count}), way)});
            }
        };
        add(transfers_.shares_of(transfers_.parts[part]), 0);
        if (const auto around = transfers_.around.find(part); around != transfers_.around.end()) {
            Colour way = 0;
            for (const std::vector<LinkShare>& shares : around->second.shares) {
                add(shares, ++way);
            }
        }
    }

    void split() {
        std::vector<Colour> sum(connections_.size(), 0);
        for (const Membership& m : memberships_) {
            sum[m.connection] += mix(ranks_[m.rank], std::int64_t{m.slot});
        }
        for (const Crossing& c : crossings_) {
            sum[c.connection] += mix(c.weight, links_[c.link]);
        }
        for (std::size_t c = 0; c < connections_.size(); ++c) {
            connections_[c] = mix(connections_[c], sum[c]);
        }
        sum.assign(ranks_.size(), 0);
        for (const Membership& m : memberships_) {
            sum[m.rank] += mix(connections_[m.connection], std::int64_t{m.slot});
        }
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            ranks_[r] = mix(ranks_[r], sum[r]);
        }
        sum.assign(links_.size(), 0);
        for (const Crossing& c : crossings_) {
            sum[c.link] += mix(c.weight, connections_[c.connection]);
        }
        for (std::size_t l = 0; l < links_.size(); ++l) {
            links_[l] = mix(links_[l], sum[l]);
        }
    }

    const Transfers& transfers_;
    std::vector<Colour> ranks_;
    std::vector<Colour> connections_;
    std::vector<Colour> links_;
    std::vector<Membership> memberships_;
    std::vector<Crossing> crossings_;
};

// With a load, most ranks do different work from all others: folding would compare much and merge
// little.
bool mostly_differ(const SimulationInput& input) {
    if (input.load == nullptr) {
        return false;
    }
    const std::uint32_t ranks = input.program->num_ranks();
    std::unordered_set<Colour> loads;
    for (std::uint32_t r = 0; r < ranks; ++r) {
        loads.insert(input.load->signature(to_id<RankId>(r)));
    }
    return loads.size() > ranks / 2;
}

}  // namespace

Partition trivial_partition(const SimulationInput& input, const Transfers& transfers) {
    Partition out;
    const auto identity = [](std::vector<std::uint32_t>& classes, std::size_t n) {
        classes.resize(n);
        std::iota(classes.begin(), classes.end(), 0u);
        return static_cast<std::uint32_t>(n);
    };
    out.rank_classes = identity(out.class_of_rank, input.program->num_ranks());
    out.connection_classes = identity(out.class_of_connection, transfers.connections.size());
    out.link_classes = identity(out.class_of_link, input.network->links().size());
    return out;
}

Partition coarsest_partition(const SimulationInput& input, const Transfers& transfers) {
    if (mostly_differ(input)) {
        return trivial_partition(input, transfers);
    }
    Partition found = Refinement(input, transfers).refine();
    // Each rank has a class of its own: the refinement may stop before connections and links are
    // stable.
    if (found.rank_classes == input.program->num_ranks()) {
        return trivial_partition(input, transfers);
    }
    return found;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <iterator>
#include <map>
#include <unordered_map>

#include "engine/base/check.h"
#include "engine/base/splitmix.h"
#include "engine/world/exclusive_connections.h"
#include "engine/world/folding.h"

namespace orrery {

namespace {

constexpr std::uint32_t kUnnumbered = UINT32_MAX;

struct SharesLess {
    bool operator()(const std::vector<LinkShare>& a, const std::vector<LinkShare>& b) const {
        return std::lexicographical_compare(
            a.begin(), a.end(), b.begin(), b.end(), [](const LinkShare& x, const LinkShare& y) {
                return std::pair{x.link, x.count} < std::pair{y.link, y.count};
            });
    }
};

struct PartRange {
    std::uint32_t first = 0;
    std::uint32_t last = 0;  // one past the last
};

// The parts of a connection's messages are consecutive, in the same order for every connection of a
// class.
PartRange parts_of(const Transfers& transfers, const Connection& connection) {
    PartRange range{kUnnumbered, 0};
    for (std::uint32_t m = 0; m < connection.num_messages; ++m) {
        const ConnectionMessage& message = transfers.messages[connection.first_message + m];
        for (std::uint32_t i = 0; i < message.num_phases; ++i) {
            const Phase& phase = transfers.phases[message.first_phase + i];
            if (phase.num_parts > 0) {
                range.first = std::min(range.first, phase.first_part);
                range.last = std::max(range.last, phase.first_part + phase.num_parts);
            }
        }
    }
    return range.first == kUnnumbered ? PartRange{0, 0} : range;
}

std::vector<std::uint32_t> representatives(const std::vector<std::uint32_t>& class_of,
                                           std::uint32_t num_classes) {
    std::vector<std::uint32_t> lowest(num_classes, kUnnumbered);
    for (std::uint32_t i = 0; i < class_of.size(); ++i) {
        if (lowest[class_of[i]] == kUnnumbered) {
            lowest[class_of[i]] = i;
        }
    }
    return lowest;
}

class QuotientBuilder {
public:
    QuotientBuilder(const SimulationInput& input,
                    const Transfers& transfers,
                    const Partition& partition,
                    bool alone)
        : input_(input), transfers_(transfers), partition_(partition), alone_(alone) {}

    Quotient build(SharedRates& rates) {
        for (const std::uint32_t c : partition_.class_of_rank) {
            out_.class_of_rank.push_back(to_id<RankClassId>(c));
        }
        connection_lowest_ =
            representatives(partition_.class_of_connection, partition_.connection_classes);
        link_lowest_ = representatives(partition_.class_of_link, partition_.link_classes);
        for (const Connection& connection : transfers_.connections) {
            parts_of_.push_back(parts_of(transfers_, connection));
        }
        add_ranks();
        add_connections();
        add_footprints(rates);
        return std::move(out_);
    }

private:
    void add_ranks() {
        const Program& program = *input_.program;
        const std::vector<std::uint32_t> lowest =
            representatives(partition_.class_of_rank, partition_.rank_classes);
        for (const std::uint32_t r : lowest) {
            const RankId rank = to_id<RankId>(r);
            out_.ranks.push_back(
                {.representative = rank,
                 .role = program.role_of(rank),
                 .device = input_.device_class.empty() ? std::uint16_t{0} : input_.device_class[r],
                 .first_connection = static_cast<std::uint32_t>(out_.connection_of.size())});
            const std::size_t first = transfers_.first_connection[r];
            const std::size_t end = r + 1 < transfers_.first_connection.size()
                                        ? transfers_.first_connection[r + 1]
                                        : transfers_.connection_of.size();
            for (std::size_t c = first; c < end; ++c) {
                out_.connection_of.push_back(to_id<ConnectionClassId>(
                    partition_.class_of_connection[index(transfers_.connection_of[c])]));
            }
        }
        for (const RankClassId r : out_.class_of_rank) {
            ++out_.ranks[r].size;
        }
    }

    void add_connections() {
        for (const std::uint32_t c : connection_lowest_) {
            const auto id = to_id<ConnectionId>(c);
            const Connection& connection = transfers_.connections[id];
            ConnectionClass folded{.connection = id,
                                   .first_member = static_cast<std::uint32_t>(out_.members.size())};
            std::vector<RankClassId> classes;
            for (const RankId rank : transfers_.members_of(connection)) {
                classes.push_back(out_.class_of_rank[rank]);
            }
            if (connection.kind == ConnectionKind::group) {
                std::sort(classes.begin(), classes.end());
                classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
            }
            folded.num_members = static_cast<std::uint32_t>(classes.size());
            out_.members.insert(out_.members.end(), classes.begin(), classes.end());
            out_.connections.push_back(folded);
        }
    }

    // By part: whether the solver ever sees it.
    std::vector<bool> flowing_parts() const {
        std::vector<bool> moves(transfers_.parts.size(), false);
        for (const ConnectionMessage& message : transfers_.messages) {
            for (std::uint32_t i = 0; !message.uncontended && i < message.num_phases; ++i) {
                const Phase& phase = transfers_.phases[message.first_phase + i];
                for (std::uint32_t p = 0; p < phase.num_parts; ++p) {
                    moves[phase.first_part + p] =
                        transfers_.parts[phase.first_part + p].bytes > Bytes{};
                }
            }
        }
        return moves;
    }

    // The connections of each class, in their order.
    std::vector<std::vector<ConnectionId>> connections_by_class() const {
        std::vector<std::vector<ConnectionId>> of_class(partition_.connection_classes);
        for (std::uint32_t c = 0; c < transfers_.connections.size(); ++c) {
            of_class[partition_.class_of_connection[c]].push_back(to_id<ConnectionId>(c));
        }
        return of_class;
    }

    // Sums the shares of the n-th parts of these connections, on the representative links. The
    // result holds until the next call.
    template <class SharesOf>
    const std::vector<LinkShare>& sum_of_parts(const std::vector<ConnectionId>& connections,
                                               std::uint32_t n,
                                               SharesOf shares_of) {
        sum_.clear();
        for (const ConnectionId c : connections) {
            for (const LinkShare& share : shares_of(parts_of_[c].first + n)) {
                const std::size_t link = index(share.link);
                if (link_lowest_[partition_.class_of_link[link]] == link) {
                    sum_.push_back(share);
                }
            }
        }
        merge(sum_);
        return sum_;
    }

    void add_footprints(SharedRates& rates) {
        std::map<std::vector<LinkShare>, std::uint32_t, SharesLess> known;
        PartFootprints solved{.footprint_of_part = {}, .footprints = {}};
        std::vector<const std::vector<LinkShare>*> distinct;
        const auto number_of = [&](const std::vector<LinkShare>& shares) {
            if (shares.empty()) {
                return kUnnumbered;
            }
            const auto next = static_cast<std::uint32_t>(distinct.size());
            const auto [found, added] = known.try_emplace(shares, next);
            if (added) {
                distinct.push_back(&found->first);
            }
            return found->second;
        };
        std::vector<std::uint32_t>& number = solved.footprint_of_part;
        number.assign(transfers_.parts.size(), kUnnumbered);
        std::map<std::uint32_t, std::vector<std::uint32_t>> number_around;
        const std::size_t sets =
            transfers_.around.empty() ? 0 : transfers_.around.begin()->second.shares.size();
        const std::vector<bool> moves = flowing_parts();
        for (const std::vector<ConnectionId>& alike : connections_by_class()) {
            const PartRange range = parts_of_[alike.front()];
            for (std::uint32_t p = range.first; p < range.last; ++p) {
                const std::uint32_t n = p - range.first;
                if (moves[p]) {
                    number[p] = number_of(sum_of_parts(alike, n, [&](std::uint32_t part) {
                        return transfers_.shares_of(transfers_.parts[part]);
                    }));
                }
                if (!transfers_.around.contains(p)) {
                    continue;
                }
                std::vector<std::uint32_t>& numbers = number_around[p];
                for (std::size_t set = 0; set < sets; ++set) {
                    numbers.push_back(
                        moves[p]
                            ? number_of(sum_of_parts(
                                  alike, n, [&](std::uint32_t part) { return around(part, set); }))
                            : kUnnumbered);
                }
            }
        }
        const std::vector<bool> needed = needed_links(distinct);
        std::vector<FootprintId> ids;
        for (const std::vector<LinkShare>* footprint : distinct) {
            const auto is_needed = [&](const LinkShare& share) {
                return needed[index(share.link)];
            };
            std::vector<LinkShare>& kept = solved.footprints.emplace_back();
            kept.reserve(static_cast<std::size_t>(std::ranges::count_if(*footprint, is_needed)));
            std::ranges::copy_if(*footprint, std::back_inserter(kept), is_needed);
            ids.push_back(rates.add_footprint(kept));
        }
        for (const std::uint32_t n : number) {
            out_.footprints.push_back(n == kUnnumbered ? kNoLinks : ids[n]);
        }
        for (const auto& [part, numbers] : number_around) {
            std::vector<FootprintId>& ways = out_.around[part];
            for (const std::uint32_t n : numbers) {
                ways.push_back(n == kUnnumbered ? kNoLinks : ids[n]);
            }
        }
        join_parts(rates);
        out_.distinct_footprints = static_cast<std::int64_t>(distinct.size());
        mark_exclusive_connections(solved);
    }

    void mark_exclusive_connections(const PartFootprints& solved) {
        if (input_.accelerations.exclusive_connections && alone_) {
            find_exclusive_connections(transfers_, input_.network->links(), solved, out_);
        }
    }

    // Joins parts of a phase that have equal bytes: they start together and mostly end together.
    void join_parts(SharedRates& rates) {
        out_.joined.assign(transfers_.parts.size(), kNoLinks);
        if (!input_.accelerations.joined_flows || !input_.events.empty()) {
            return;  // a part takes its path around a failed link by itself
        }
        std::map<std::vector<FootprintId>, FootprintId> known;
        for (const std::uint32_t c : connection_lowest_) {
            const Connection& connection = transfers_.connections[to_id<ConnectionId>(c)];
            for (std::uint32_t m = 0; m < connection.num_messages; ++m) {
                const ConnectionMessage& message =
                    transfers_.messages[connection.first_message + m];
                for (std::uint32_t i = 0; i < message.num_phases && !message.uncontended; ++i) {
                    const Phase& phase = transfers_.phases[message.first_phase + i];
                    const std::vector<FootprintId> parts = equal_parts(phase);
                    if (parts.size() < 2) {
                        continue;
                    }
                    const auto [found, added] = known.try_emplace(parts, kNoLinks);
                    if (added) {
                        found->second = rates.join_footprints(parts).value_or(kNoLinks);
                    }
                    out_.joined[phase.first_part] = found->second;
                }
            }
        }
    }

    std::vector<FootprintId> equal_parts(const Phase& phase) const {
        std::vector<FootprintId> footprints;
        for (std::uint32_t p = phase.first_part; p < phase.first_part + phase.num_parts; ++p) {
            const Part& first = transfers_.parts[phase.first_part];
            const Part& part = transfers_.parts[p];
            if (part.bytes == Bytes{} || part.bytes != first.bytes ||
                part.rate_max != first.rate_max || out_.footprints[p] == kNoLinks) {
                return {};
            }
            footprints.push_back(out_.footprints[p]);
        }
        return footprints;
    }

    // Links with the same count in every footprint bind together, and the narrowest of them binds
    // first: at equal loads a smaller capacity never leaves a larger share. The narrowest is enough
    // (for example of the links of a node's switch under its tensor-parallel group, or of a NIC and
    // its port).
    std::vector<bool> needed_links(
        const std::vector<const std::vector<LinkShare>*>& footprints) const {
        const std::span<const LinkInfo> links = input_.network->links();
        if (!alone_) {
            return std::vector<bool>(links.size(), true);
        }
        std::vector<std::uint64_t> loads(links.size(), 0);  // hashes
        for (std::size_t f = 0; f < footprints.size(); ++f) {
            for (const LinkShare& share : *footprints[f]) {
                std::uint64_t& load = loads[index(share.link)];
                load = splitmix64(load ^ splitmix64(f << 32 | share.count));
            }
        }
        std::unordered_map<std::uint64_t, std::size_t> narrowest;
        for (std::size_t l = 0; l < links.size(); ++l) {
            const auto [found, added] = narrowest.try_emplace(loads[l], l);
            if (!added && links[l].capacity < links[found->second].capacity) {
                found->second = l;
            }
        }
        std::vector<bool> needed(links.size(), false);
        for (const auto& [load, link] : narrowest) {
            needed[link] = true;
        }
        for (std::size_t l = 0; l < links.size(); ++l) {
            needed[l] = needed[l] || links[l].watched || transfers_.watches(to_id<LinkId>(l));
        }
        return needed;
    }

    // The shares of a part's way around the outages of a set.
    std::span<const LinkShare> around(std::uint32_t part, std::size_t set) const {
        const auto found = transfers_.around.find(part);
        return found == transfers_.around.end() ? std::span<const LinkShare>{}
                                                : found->second.shares[set];
    }

    // Sorts by link and merges equal links.
    static void merge(std::vector<LinkShare>& shares) {
        if (!std::ranges::is_sorted(shares, {}, &LinkShare::link)) {
            std::ranges::sort(shares, {}, &LinkShare::link);
        }
        std::size_t kept = 0;
        for (std::size_t i = 0; i < shares.size(); ++i) {
            if (kept > 0 && shares[kept - 1].link == shares[i].link) {
                shares[kept - 1].count += shares[i].count;
            } else {
                shares[kept++] = shares[i];
            }
        }
        shares.resize(kept);
    }

    const SimulationInput& input_;
    const Transfers& transfers_;
    const Partition& partition_;
    bool alone_;
    std::vector<std::uint32_t> connection_lowest_;  // by class
    std::vector<std::uint32_t> link_lowest_;        // by class
    Table<ConnectionId, PartRange> parts_of_;
    std::vector<LinkShare> sum_;  // of sum_of_parts()
    Quotient out_;
};

}  // namespace

Quotient make_quotient(const SimulationInput& input,
                       const Transfers& transfers,
                       const Partition& partition,
                       SharedRates& rates,
                       bool alone) {
    return QuotientBuilder(input, transfers, partition, alone).build(rates);
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "engine/contention.h"

#include <algorithm>
#include <set>

#include "engine/check.h"
#include "engine/time_alone.h"

namespace orrery {

namespace {

enum class Side : std::uint8_t { first, last };

// What one link may have to carry at once, summed over lanes; a lane is a (rank, stream).
struct LinkDemand {
    std::uint32_t entry = 0;  // current: what one op moves at the same time
    std::uint32_t lane = 0;
    std::uint32_t transfer = 0;
    bool crowded = false;  // one op moves several transfers over the link
    std::uint32_t lanes = 0;
    std::int64_t entry_need = 0, entry_slack = 0;
    std::int64_t lane_need = 0, lane_slack = 0;
    std::int64_t need = 0, slack = 0;
    std::int64_t rate_min = INT64_MAX, rate_max = 0;

    void close_entry() {
        lane_need = std::max(lane_need, entry_need);
        lane_slack = std::max(lane_slack, entry_slack);
        entry_need = entry_slack = 0;
    }
    void close_lane() {
        need += lane_need;
        slack += lane_slack;
        lane_need = lane_slack = 0;
    }
};

// An op of a role as far as its transfers go: (connection, message) by part.
struct CommunicationOp {
    std::uint32_t stream = 0;
    std::vector<std::uint32_t> parts;
    auto operator<=>(const CommunicationOp&) const = default;
};

std::vector<CommunicationOp> communication_ops(const RoleTape& tape) {
    std::set<CommunicationOp> distinct;
    for (std::uint32_t s = 0; s < tape.streams.size(); ++s) {
        for (const TapeItem& item : tape.streams[s].items) {
            CommunicationOp op{.stream = s, .parts = {}};
            for (std::uint32_t p = 0; p < item.num_parts; ++p) {
                const TapePart& part = tape.parts[item.first_part + p];
                op.parts.push_back(part.connection);
                op.parts.push_back(part.message);
            }
            if (!op.parts.empty()) {
                distinct.insert(std::move(op));
            }
        }
    }
    return {distinct.begin(), distinct.end()};
}

class DemandCount {
public:
    DemandCount(const Program& program,
                const Tapes& tapes,
                const Transfers& transfers,
                std::size_t num_links,
                Side side)
        : transfers_(transfers), side_(side), links_(num_links) {
        std::vector<std::vector<CommunicationOp>> ops;
        for (const RoleTape& tape : tapes.roles) {
            ops.push_back(communication_ops(tape));
        }
        for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
            const std::size_t role = index(program.role_of(to_id<RankId>(r)));
            count_rank(r, ops[role], tapes.roles[role]);
        }
        for (LinkDemand& link : links_) {
            link.close_entry();
            link.close_lane();
        }
    }

    const std::vector<LinkDemand>& links() const { return links_; }

private:
    void count_rank(std::uint32_t rank,
                    const std::vector<CommunicationOp>& ops,
                    const RoleTape& tape) {
        std::uint32_t stream = UINT32_MAX;
        for (const CommunicationOp& op : ops) {  // ascending streams
            if (op.stream != stream) {
                stream = op.stream;
                ++lane_;
            }
            ++entry_;
            for (std::size_t p = 0; p < op.parts.size(); p += 2) {
                const ConnectionId id =
                    transfers_.connection_of[transfers_.first_connection[rank] + op.parts[p]];
                const Connection& connection = transfers_.connections[id];
                const ConnectionMessage& message =
                    transfers_.messages[connection.first_message + op.parts[p + 1]];
                ++transfer_;
                if (connection.kind != ConnectionKind::pair) {
                    count_collective(connection, message, rank);
                } else if (tape.connections[op.parts[p]].is_send == (side_ == Side::first)) {
                    for (std::uint32_t i = 0; i < message.num_phases; ++i) {
                        count_phase(transfers_.phases[message.first_phase + i]);
                    }
                }
            }
        }
    }

    // The phases of a collective, or of a copy, follow each other.
    void count_collective(const Connection& connection,
                          const ConnectionMessage& message,
                          std::uint32_t rank) {
        const std::span<const RankId> members = transfers_.members_of(connection);
        const RankId counted = side_ == Side::first ? members.front() : members.back();
        if (index(counted) != rank) {
            return;
        }
        for (std::uint32_t i = 0; i < message.num_phases; ++i) {
            ++entry_;
            count_phase(transfers_.phases[message.first_phase + i]);
        }
    }

    void count_phase(const Phase& phase) {
        for (std::uint32_t p = 0; p < phase.num_parts; ++p) {
            const Part& part = transfers_.parts[phase.first_part + p];
            if (part.bytes > Bytes{}) {
                const std::int64_t rate = part.rate_max.bits_per_second();
                for (const LinkShare& share : transfers_.shares_of(part)) {
                    count_share(links_[index(share.link)], share.count, rate);
                }
            }
        }
    }

    void count_share(LinkDemand& link, std::int64_t count, std::int64_t rate) {
        if (link.entry != entry_) {
            link.close_entry();
            link.entry = entry_;
        } else if (link.transfer != transfer_) {
            link.crowded = true;
        }
        link.transfer = transfer_;
        if (link.lane != lane_) {
            link.close_lane();
            link.lane = lane_;
            ++link.lanes;
        }
        link.entry_need += count * rate;
        link.entry_slack += count * (rate + 1);
        link.rate_min = std::min(link.rate_min, rate);
        link.rate_max = std::max(link.rate_max, rate);
    }

    const Transfers& transfers_;
    Side side_;
    std::vector<LinkDemand> links_;
    std::uint32_t lane_ = 0;
    std::uint32_t entry_ = 0;
    std::uint32_t transfer_ = 0;
};

// Strictly below the capacity the link never is the tightest; at the capacity it is, but together
// with the caps of all its transfers, which are then equal.
bool saturable(const LinkDemand& link, std::int64_t capacity) {
    const bool below = link.slack <= capacity;
    const bool level = link.rate_min == link.rate_max && link.need <= capacity;
    return link.lanes > 0 && !below && !level;
}

bool is_private(const LinkDemand& link) {
    return link.lanes <= 1 && !link.crowded;
}

}  // namespace

std::vector<bool> find_contended_links(const Program& program,
                                       const Tapes& tapes,
                                       const NetworkModel& network,
                                       Transfers& transfers,
                                       bool all) {
    const std::span<const LinkInfo> links = network.links();
    const bool contention = network.has_contention();
    std::vector<bool> contended(links.size(), false);
    std::vector<bool> shared(links.size(), false);
    if (contention) {
        const DemandCount by_first(program, tapes, transfers, links.size(), Side::first);
        const DemandCount by_last(program, tapes, transfers, links.size(), Side::last);
        for (std::size_t l = 0; l < links.size(); ++l) {
            const std::int64_t capacity = links[l].capacity.bits_per_second();
            const LinkDemand& first = by_first.links()[l];
            const LinkDemand& last = by_last.links()[l];
            contended[l] =
                links[l].watched || (saturable(first, capacity) && saturable(last, capacity));
            shared[l] =
                links[l].watched || (contended[l] && !is_private(first) && !is_private(last));
            if (all || transfers.watches(to_id<LinkId>(l))) {
                contended[l] = shared[l] = true;  // whatever is known of it may change
            }
        }
    }
    for (ConnectionMessage& message : transfers.messages) {
        message.uncontended = true;
        for (std::uint32_t i = 0; i < message.num_phases; ++i) {
            const Phase& phase = transfers.phases[message.first_phase + i];
            const Time flow = time_alone(transfers, phase, links, contention);
            message.uncontended_time =
                message.uncontended_time == Time::max() || flow == Time::max()
                    ? Time::max()
                    : message.uncontended_time + phase.latency + flow;
            for (std::uint32_t p = 0; p < phase.num_parts; ++p) {
                const Part& part = transfers.parts[phase.first_part + p];
                for (const LinkShare& share : transfers.shares_of(part)) {
                    message.uncontended = message.uncontended && !shared[index(share.link)];
                }
            }
        }
    }
    return contended;
}

namespace {

void add_link_bytes(const Transfers& transfers,
                    const Connection& connection,
                    std::vector<Bytes>& bytes) {
    for (std::uint32_t m = 0; m < connection.num_messages; ++m) {
        const ConnectionMessage& message = transfers.messages[connection.first_message + m];
        for (std::uint32_t i = 0; i < message.num_phases; ++i) {
            const Phase& phase = transfers.phases[message.first_phase + i];
            for (std::uint32_t p = 0; p < phase.num_parts; ++p) {
                const Part& part = transfers.parts[phase.first_part + p];
                for (const LinkShare& share : transfers.shares_of(part)) {
                    const std::int64_t times = std::int64_t{share.count} * message.uses;
                    bytes[index(share.link)] += part.bytes * times;
                }
            }
        }
    }
}

}  // namespace

std::vector<Bytes> link_bytes_per_step(const Program& program,
                                       const Transfers& transfers,
                                       std::size_t num_links,
                                       std::uint32_t job) {
    std::vector<Bytes> bytes(num_links);
    for (const Connection& connection : transfers.connections) {
        const RankId member = transfers.members_of(connection).front();
        if (program.job_of(program.party_of(member)) == job) {
            add_link_bytes(transfers, connection, bytes);
        }
    }
    return bytes;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/replay/foreign_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <queue>
#include <set>
#include <utility>

namespace orrery {
namespace {

// StreamId has eight bits. Further streams share the ids from 1 on.
constexpr std::size_t kStreamsMax = 250;
// NCCL_BUFFSIZE: a message of up to this size leaves before its receiver asks for it.
constexpr std::int64_t kBufferedBytes = std::int64_t{4} << 20;

class Builder {
public:
    explicit Builder(const ForeignStep& step) : step_(step) {}

    ResultOrErrors<Program> program() {
        const auto ranks = static_cast<std::uint32_t>(step_.ranks.size());
        program_.parties.front().mesh = Mesh{{{"rank", ranks}}};
        program_.parties.front().role_digit = 0;
        add_groups();
        add_tags();
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            add_rank(rank);
        }
        program_.stream_names.emplace_back("compute");
        for (std::size_t s = 1; s <= most_streams_; ++s) {
            program_.stream_names.push_back(fmt::format("communication {}", s));
        }
        if (!errors_.empty()) {
            return unexpected<Errors>(std::move(errors_));
        }
        return std::move(program_);
    }

private:
    void complain(const ForeignOp& op, std::string what) {
        constexpr std::size_t kMost = 50;
        if (errors_.size() < kMost) {
            errors_.push_back({op.where, std::move(what), ""});
        }
    }

    void add_groups() {
        Group all;
        all.name = "all ranks";
        all.digits = 1;
        program_.groups.push_back(std::move(all));
        for (const auto& [name, members] : step_.groups) {
            Group group;
            group.name = name;
            group.explicit_ranks = {members};
            group_of_[name] = to_id<GroupId>(program_.groups.size());
            program_.groups.push_back(std::move(group));
        }
        group_of_[""] = GroupId{0};
    }

    // Messages with equal tags pair with each other: a tag corresponds to a communicator.
    void add_tags() {
        std::set<std::int64_t> tags;
        for (const auto& ops : step_.ranks) {
            for (const ForeignOp& op : ops) {
                if (op.kind == ForeignOp::Kind::send || op.kind == ForeignOp::Kind::receive) {
                    tags.insert(op.tag);
                }
            }
        }
        for (const std::int64_t tag : tags) {
            // Further communicators share tags, so that the order of their messages must match,
            // too.
            const auto number = static_cast<std::uint16_t>(communicator_of_.size() % 65536);
            communicator_of_[tag] = number;
        }
    }

    std::uint32_t name_of(const std::string& name) {
        const auto [found, added] =
            names_.try_emplace(name, static_cast<std::uint32_t>(program_.names.size()));
        if (added) {
            program_.names.push_back(name);
        }
        return found->second;
    }

    // Positions in `ops` in the order of execution; fewer if the graph has a cycle.
    static std::vector<std::size_t> order_of(const std::vector<ForeignOp>& ops,
                                             const std::map<std::uint64_t, std::size_t>& at) {
        std::vector<std::size_t> open(ops.size(), 0);
        std::vector<std::vector<std::size_t>> followers(ops.size());
        for (std::size_t i = 0; i < ops.size(); ++i) {
            for (const std::uint64_t id : ops[i].after) {
                if (const auto found = at.find(id); found != at.end()) {
                    followers[found->second].push_back(i);
                    ++open[i];
                }
            }
        }
        using Next = std::pair<std::uint64_t, std::size_t>;
        std::priority_queue<Next, std::vector<Next>, std::greater<>> ready;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (open[i] == 0) {
                ready.emplace(ops[i].id, i);
            }
        }
        std::vector<std::size_t> order;
        while (!ready.empty()) {
            const std::size_t i = ready.top().second;
            ready.pop();
            order.push_back(i);
            for (const std::size_t follower : followers[i]) {
                if (--open[follower] == 0) {
                    ready.emplace(ops[follower].id, follower);
                }
            }
        }
        return order;
    }

    void add_rank(std::uint32_t rank) {
        const std::vector<ForeignOp>& ops = step_.ranks[rank];
        std::map<std::uint64_t, std::size_t> at;
        for (std::size_t i = 0; i < ops.size(); ++i) {
            if (!at.try_emplace(ops[i].id, i).second) {
                complain(ops[i], fmt::format("the id {} is there twice", ops[i].id));
            }
        }
        const std::vector<std::size_t> order = order_of(ops, at);
        if (order.size() < ops.size()) {
            std::vector<bool> done(ops.size(), false);
            for (const std::size_t i : order) {
                done[i] = true;
            }
            const auto first = std::ranges::find(done, false) - done.begin();
            complain(ops[static_cast<std::size_t>(first)], "waits for itself in a circle");
            return;
        }
        Segment segment;
        segment.name = fmt::format("rank {}", rank);
        std::vector<std::uint32_t> position(ops.size(), 0);
        streams_.clear();
        for (std::size_t i = 0; i < order.size(); ++i) {
            position[order[i]] = static_cast<std::uint32_t>(i);
            wait_for(ops[order[i]], ops, at);
            segment.ops.push_back(op_of(ops[order[i]], rank, position));
        }
        Role role;
        role.name = segment.name;
        role.slots.emplace_back();
        role.slots.back().segment = to_id<SegmentId>(program_.segments.size());
        program_.roles.push_back(std::move(role));
        program_.segments.push_back(std::move(segment));
    }

    StreamId stream_of(const ForeignOp& op) {
        if (op.kind == ForeignOp::Kind::compute && op.stream.empty()) {
            return StreamId{0};
        }
        const char* what = op.kind == ForeignOp::Kind::send      ? "send "
                           : op.kind == ForeignOp::Kind::receive ? "receive "
                                                                 : "";
        const std::string name = !op.stream.empty() ? "stream " + op.stream
                                 : op.kind == ForeignOp::Kind::collective
                                     ? "group " + op.group
                                     : fmt::format("{}{}", what, op.peer);
        const std::size_t number = streams_.try_emplace(name, streams_.size()).first->second;
        most_streams_ = std::max(most_streams_, number % kStreamsMax + 1);
        return static_cast<StreamId>(number % kStreamsMax + 1);
    }

    // Adds the ops for which one waits. A receive after a small send waits for the same ops as the
    // send, because every rank of a ring may send before it receives.
    void wait_for(const ForeignOp& op,
                  const std::vector<ForeignOp>& ops,
                  const std::map<std::uint64_t, std::size_t>& at) {
        waits_.clear();
        std::set<std::uint64_t> seen;
        std::vector<std::uint64_t> open{op.after.rbegin(), op.after.rend()};
        while (!open.empty()) {
            const std::uint64_t id = open.back();
            open.pop_back();
            const auto found = at.find(id);
            if (!seen.insert(id).second) {
                continue;
            }
            if (found == at.end()) {
                complain(op, fmt::format("waits for {}, which is not there", id));
                continue;
            }
            const ForeignOp& other = ops[found->second];
            if (op.kind == ForeignOp::Kind::receive && other.kind == ForeignOp::Kind::send &&
                other.bytes.count() <= kBufferedBytes) {
                open.insert(open.end(), other.after.rbegin(), other.after.rend());
            } else {
                waits_.push_back(found->second);
            }
        }
    }

    Op op_of(const ForeignOp& from,
             std::uint32_t rank,
             const std::vector<std::uint32_t>& position) {
        Op op;
        op.stream = stream_of(from);
        op.launches = 0;
        op.name = name_of(from.name);
        op.first_wait = static_cast<std::uint32_t>(program_.waits.size());
        for (const std::size_t i : waits_) {
            program_.waits.push_back(position[i]);
        }
        op.num_waits = static_cast<std::uint32_t>(program_.waits.size()) - op.first_wait;
        switch (from.kind) {
            case ForeignOp::Kind::compute:
                op.cause = Cause::useful_compute;
                op.payload = to_id<HostWorkId>(program_.host_works.size());
                program_.host_works.push_back({from.duration});
                break;
            case ForeignOp::Kind::collective:
                op.cause = Cause::exposed_other;
                op.payload = collective_of(from, rank);
                break;
            case ForeignOp::Kind::send:
            case ForeignOp::Kind::receive:
                op.cause = Cause::exposed_pipeline;
                op.payload = message_of(from, rank);
                break;
        }
        return op;
    }

    CollectiveId collective_of(const ForeignOp& from, std::uint32_t rank) {
        const auto group = group_of_.find(from.group);
        if (group == group_of_.end()) {
            complain(from, fmt::format("pg_name: there is no group '{}'", from.group));
        } else if (!from.group.empty() &&
                   std::ranges::find(step_.groups.at(from.group), RankId{rank}) ==
                       step_.groups.at(from.group).end()) {
            complain(from, fmt::format("rank {} is not in its group '{}'", rank, from.group));
        }
        CollectiveCall call;
        call.kind = from.collective;
        call.group = group == group_of_.end() ? GroupId{0} : group->second;
        call.bytes = from.bytes;
        program_.collectives.push_back(call);
        return to_id<CollectiveId>(program_.collectives.size() - 1);
    }

    SendRecvId message_of(const ForeignOp& from, std::uint32_t rank) {
        if (from.peer >= step_.ranks.size() || from.peer == rank) {
            complain(from, fmt::format("rank {} can't be its peer", from.peer));
        }
        SendRecvPart part;
        part.is_send = from.kind == ForeignOp::Kind::send;
        part.delta = static_cast<int>(from.peer) - static_cast<int>(rank);
        part.bytes = from.bytes;
        part.communicator = communicator_of_.at(from.tag);
        program_.send_recvs.push_back({{part}});
        return to_id<SendRecvId>(program_.send_recvs.size() - 1);
    }

    const ForeignStep& step_;
    Program program_;
    std::map<std::string, GroupId> group_of_;
    std::map<std::int64_t, std::uint16_t> communicator_of_;
    std::map<std::string, std::uint32_t> names_;
    std::map<std::string, std::size_t> streams_;  // of the current rank
    std::vector<std::size_t> waits_;              // of the current op: positions in its rank's list
    std::size_t most_streams_ = 0;
    Errors errors_;
};

}  // namespace

ResultOrErrors<Program> program_of(const ForeignStep& step) {
    if (step.ranks.empty()) {
        return unexpected<Errors>({{"", "there are no ranks", ""}});
    }
    return Builder{step}.program();
}

}  // namespace orrery

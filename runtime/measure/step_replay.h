// SPDX-License-Identifier: Apache-2.0
// Replays a measured step without the time lost to other processes: every kernel, gap and transfer
// takes its own time, and every rank waits for its peers anew.
#pragma once

#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "engine/program/program.h"
#include "runtime/measure/measured_timeline.h"

namespace orrery {

// An operation of several ranks: its members (sender and receiver of a message), its communicator,
// and its number among the operations of both.
using Meeting = std::tuple<std::vector<RankId>, std::uint32_t, std::uint32_t>;
constexpr std::uint32_t kMessages = 1u << 20;  // offset of message communicators

// Names the meetings of a rank, op by op.
class Meetings {
public:
    explicit Meetings(const Program& program) : program_(program) {}

    // Call it in the order of the rank's ops.
    std::vector<Meeting> of(RankId rank, const Op& op) {
        std::vector<Meeting> meetings;
        if (op.kind() == OpKind::collective) {
            const CollectiveCall& call = program_.collective(op);
            meetings.push_back(
                next(rank,
                     program_.mesh_of(rank).members(program_.groups[index(call.group)], rank),
                     static_cast<std::uint32_t>(index(call.group)) << 8U | call.communicator));
        } else if (op.kind() == OpKind::send_recv) {
            for (const SendRecvPart& part : program_.send_recv(op).parts) {
                const RankId peer = program_.peer_of(rank, part);
                meetings.push_back(
                    next(rank,
                         part.is_send ? std::vector{rank, peer} : std::vector{peer, rank},
                         kMessages + (part.digit << 8U) + part.communicator));
            }
        }
        return meetings;
    }

private:
    Meeting next(RankId rank, std::vector<RankId> members, std::uint32_t communicator) {
        const std::uint32_t nth = counts_[{rank, members, communicator}]++;
        return {std::move(members), communicator, nth};
    }

    const Program& program_;
    std::map<std::tuple<RankId, std::vector<RankId>, std::uint32_t>, std::uint32_t> counts_;
};

struct OpMeetings {
    std::vector<Meeting> meetings;
    bool waits = false;  // the op waits for its peers
    std::span<const Meeting> waiting() const {
        return waits ? std::span<const Meeting>{meetings} : std::span<const Meeting>{};
    }
};

// Mean over the ranks. `meetings` is by op of the step.
Time replayed_duration(const MeasuredStep& step, const std::vector<OpMeetings>& meetings);

}  // namespace orrery

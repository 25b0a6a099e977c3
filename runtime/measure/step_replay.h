// SPDX-License-Identifier: Apache-2.0
// Goes through a measured step again without what other processes took from it: every kernel, gap
// and transfer takes its own time, and every rank waits for its peers anew.
#pragma once

#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "engine/program/program.h"
#include "runtime/measure/measured_timeline.h"

namespace orrery {

// An operation that several ranks take part in: the members (sender and receiver of a message),
// the communicator, and the how-manieth of them it is.
using Meeting = std::tuple<std::vector<RankId>, std::uint32_t, std::uint32_t>;
constexpr std::uint32_t kMessages = 1u << 20;  // communicators of messages, beside collectives'

// Names the meetings that a rank comes to, one op after the other.
class Meetings {
public:
    explicit Meetings(const Program& program) : program_(program) {}

    // In the order in which the rank came to its ops.
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
    bool waits = false;  // for the peers
    std::span<const Meeting> waiting() const {
        return waits ? std::span<const Meeting>{meetings} : std::span<const Meeting>{};
    }
};

// Mean over ranks. `meetings`: by op of the step.
Time replayed_duration(const MeasuredStep& step, const std::vector<OpMeetings>& meetings);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "engine/world/lockstep_groups.h"

#include <algorithm>

namespace orrery {

namespace {

constexpr std::uint32_t kNoConnection = UINT32_MAX;
constexpr LockstepGroupId kUngrouped{UINT32_MAX};

// The collective connection that the role uses most: its members meet there most often.
std::uint32_t meeting_connection(const RoleTape& tape) {
    std::uint32_t best = kNoConnection;
    std::uint32_t most = 1;  // after a single meeting a step nothing would be reunited
    for (std::uint32_t c = 0; c < tape.connections.size(); ++c) {
        if (tape.connections[c].kind == ConnectionKind::group &&
            tape.connections[c].messages_per_step > most) {
            most = tape.connections[c].messages_per_step;
            best = c;
        }
    }
    return best;
}

class LockstepGroupFinder {
public:
    LockstepGroupFinder(const SimulationInput& input,
                        const Tapes& tapes,
                        const Transfers& transfers,
                        const Quotient& quotient)
        : load_(input.load),
          tapes_(tapes),
          transfers_(transfers),
          quotient_(quotient),
          largest_(input.accelerations.lockstep_groups ? kLockstepGroupMax : 1),
          traced_(quotient.ranks.size(), 0) {
        for (const RankId rank : input.traced_ranks) {
            traced_[quotient.class_of_rank[rank]] = 1;
        }
        for (const RoleTape& tape : tapes.roles) {
            meeting_.push_back(meeting_connection(tape));
        }
    }

    LockstepGroups find() {
        out_.group_of.assign(quotient_.ranks.size(), kUngrouped);
        out_.place.assign(quotient_.ranks.size(), 0);
        for (const RankClassId r : quotient_.ranks.ids()) {
            if (out_.group_of[r] != kUngrouped) {
                continue;
            }
            const ConnectionClassId connection = meeting_of(r);
            if (connection != kNoMeeting && in_lockstep(r, members_of(connection))) {
                add(members_of(connection), connection);
            } else {
                const bool alone = connection != kNoMeeting && members_of(connection).size() == 1;
                add({&r, 1}, alone && traced_[r] == 0 ? connection : kNoMeeting);
            }
        }
        out_.meeting = meeting_;
        return std::move(out_);
    }

private:
    ConnectionClassId meeting_of(RankClassId r) const {
        const RankClass& rank = quotient_.ranks[r];
        const std::uint32_t c = meeting_[index(rank.role)];
        return c == kNoConnection ? kNoMeeting : quotient_.connection_of[rank.first_connection + c];
    }

    std::span<const RankClassId> members_of(ConnectionClassId connection) const {
        const ConnectionClass& folded = quotient_.connections[connection];
        return {quotient_.members.data() + folded.first_member, folded.num_members};
    }

    bool in_lockstep(RankClassId r, std::span<const RankClassId> members) const {
        return members.size() <= largest_ &&
               std::all_of(members.begin(), members.end(), [&](RankClassId m) {
                   const RankClass& a = quotient_.ranks[r];
                   const RankClass& b = quotient_.ranks[m];
                   return a.role == b.role && a.device == b.device && equal_loads(a, b) &&
                          meeting_of(m) == meeting_of(r) && out_.group_of[m] == kUngrouped &&
                          traced_[m] == 0 && hold_the_same(a, b);
               });
    }

    bool equal_loads(const RankClass& a, const RankClass& b) const {
        return load_ == nullptr ||
               load_->signature(a.representative) == load_->signature(b.representative);
    }

    bool hold_the_same(const RankClass& a, const RankClass& b) const {
        const std::vector<RoleConnection>& connections = tapes_.roles[index(a.role)].connections;
        for (std::uint32_t c = 0; c < connections.size(); ++c) {
            for (std::uint32_t m = 0; m < connections[c].num_messages(); ++m) {
                if (message(a, c, m).sms != message(b, c, m).sms) {
                    return false;
                }
            }
        }
        return true;
    }

    const ConnectionMessage& message(const RankClass& rank,
                                     std::uint32_t c,
                                     std::uint32_t m) const {
        const ConnectionClass& folded =
            quotient_.connections[quotient_.connection_of[rank.first_connection + c]];
        return transfers_.messages[transfers_.connections[folded.connection].first_message + m];
    }

    void add(std::span<const RankClassId> members, ConnectionClassId connection) {
        std::uint32_t place = 0;
        for (const RankClassId m : members) {
            out_.place[m] = place++;
            out_.group_of[m] = out_.groups.next_id();
        }
        out_.groups.push_back({.first = static_cast<std::uint32_t>(out_.members.size()),
                               .size = static_cast<std::uint32_t>(members.size()),
                               .connection = connection});
        out_.members.insert(out_.members.end(), members.begin(), members.end());
    }

    const StepLoad* load_;
    const Tapes& tapes_;
    const Transfers& transfers_;
    const Quotient& quotient_;
    std::size_t largest_;                 // group
    Table<RankClassId, std::uint8_t> traced_;
    std::vector<std::uint32_t> meeting_;  // by role
    LockstepGroups out_;
};

}  // namespace

LockstepGroups find_lockstep_groups(const SimulationInput& input,
                                    const Tapes& tapes,
                                    const Transfers& transfers,
                                    const Quotient& quotient) {
    return LockstepGroupFinder(input, tapes, transfers, quotient).find();
}

}  // namespace orrery

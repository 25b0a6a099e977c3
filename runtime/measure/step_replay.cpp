// SPDX-License-Identifier: Apache-2.0
#include "runtime/measure/step_replay.h"

#include <algorithm>

namespace orrery {
namespace {

// Advances all ranks through their ops, without the lost time, until every rank has ended.
class Replay {
public:
    Replay(const MeasuredStep& step, const std::vector<OpMeetings>& meetings)
        : step_(step), meetings_(meetings) {
        for (std::size_t r = 0; r < step.ranks.size(); ++r) {
            const auto ops = step.of_rank(to_id<RankId>(r));
            const auto first = static_cast<std::size_t>(ops.data() - step.ops.data());
            // The ranks begin at their measured distances; the losses between ops are subtracted
            // later.
            ranks_.push_back({.next = ops.empty() ? step.ops.size() : first,
                              .end = ops.empty() ? step.ops.size() : first + ops.size(),
                              .now = step.ranks[r].begin,
                              .saved = {}});
        }
        for (std::size_t i = 0; i < meetings.size(); ++i) {
            for (const Meeting& meeting : meetings[i].meetings) {
                ++awaited_[meeting];
            }
        }
    }

    Time run() {
        bool moved = true;
        while (moved) {
            moved = false;
            for (std::size_t r = 0; r < ranks_.size(); ++r) {
                while (ranks_[r].next < ranks_[r].end && advance(r)) {
                    moved = true;
                }
            }
        }
        Time last_loss;
        Time sum;
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            last_loss = std::max(last_loss, loss_of(r));
        }
        for (const MeasuredStep::OfRank& rank : step_.ranks) {
            sum += last_loss + (rank.end - rank.loss_data - rank.loss_lost) - rank.begin;
        }
        return Time::picoseconds(sum.picoseconds() / static_cast<std::int64_t>(step_.ranks.size()));
    }

private:
    struct RankPlace {
        std::size_t next = 0;  // index of the next op
        std::size_t end = 0;
        Time now;              // end of the last op
        Time saved;            // time saved so far against the real step
        bool arrived = false;  // at the next op, and has registered its arrival
        Time arrival;
    };

    Time end_before(std::size_t rank, std::size_t op) const {
        const bool first = op == 0 || step_.ops[op - 1].rank != step_.ops[op].rank;
        return first ? step_.ranks[rank].begin : step_.ops[op - 1].end;
    }

    // The gap before the op, reduced by the share of lost time.
    Time gap(std::size_t rank, Time wall) const {
        const MeasuredStep::OfRank& times = step_.ranks[rank];
        Time all = times.loss - times.begin;
        for (const TracedOp& op : step_.of_rank(to_id<RankId>(rank))) {
            all -= op.end - op.start;
        }
        const double own = all > Time{} ? std::max(0.0, 1 - times.lost / all) : 1.0;
        return Time::seconds(wall.seconds() * own);
    }

    bool advance(std::size_t r) {
        RankPlace& rank = ranks_[r];
        const TracedOp& op = step_.ops[rank.next];
        const OpMeetings& met = meetings_[rank.next];
        if (!rank.arrived) {
            rank.arrived = true;
            rank.arrival = rank.now + gap(r, op.start - end_before(r, rank.next));
            for (const Meeting& meeting : met.meetings) {
                --awaited_[meeting];
                Time& latest = latest_[meeting];
                latest = std::max(latest, rank.arrival);
            }
        }
        Time data = rank.arrival;
        for (const Meeting& meeting : met.waiting()) {
            if (awaited_[meeting] > 0) {
                return false;
            }
            data = std::max(data, latest_[meeting]);
        }
        rank.now = data + (op.end - op.data_start - step_.lost[rank.next]);
        rank.arrived = false;
        ++rank.next;
        return true;
    }

    Time loss_of(std::size_t r) const {
        const MeasuredStep::OfRank& times = step_.ranks[r];
        const auto ops = step_.of_rank(to_id<RankId>(r));
        const Time last = ops.empty() ? times.begin : ops.back().end;
        return ranks_[r].now + gap(r, times.loss - last);
    }

    const MeasuredStep& step_;
    const std::vector<OpMeetings>& meetings_;
    std::vector<RankPlace> ranks_;
    std::map<Meeting, std::int64_t> awaited_;  // members that have not arrived
    std::map<Meeting, Time> latest_;
};

}  // namespace

Time replayed_duration(const MeasuredStep& step, const std::vector<OpMeetings>& meetings) {
    return Replay{step, meetings}.run();
}

}  // namespace orrery

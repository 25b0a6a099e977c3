// SPDX-License-Identifier: Apache-2.0
// After a loss in the middle of a step (engine/step_events.h): which operations wait for ever, who
// waits in them, and who never arrived.
#include <algorithm>

#include "engine/execution.h"
#include "engine/verifier.h"

namespace orrery {

class HangReport {
public:
    explicit HangReport(const Execution& execution) : e_(execution) {}

    std::optional<Hang> describe() {
        for (std::uint32_t r = 0; r < e_.ranks_.size(); ++r) {
            if (e_.ranks_[r].lost) {
                hang_.lost.push_back(e_.quotient_.ranks[r].representative);
            }
        }
        bool broke = false;
        for (std::uint32_t c = 0; c < e_.channels_.size(); ++c) {
            for (std::uint32_t t = e_.channels_[c].open; t != kNoTransfer; t = e_.pool_[t].next) {
                broke = broke || e_.pool_[t].lost;
                add(e_.pool_[t]);
            }
        }
        if (hang_.lost.empty() && !broke) {
            return std::nullopt;
        }
        std::sort(hang_.lost.begin(), hang_.lost.end());
        // Roots first: an operation that waits for a rank that waits elsewhere comes later.
        std::stable_sort(operations_.begin(), operations_.end(), [](const auto& a, const auto& b) {
            return std::pair{!a.root, a.operation.since} < std::pair{!b.root, b.operation.since};
        });
        hang_.since = Time::max();
        for (Found& found : operations_) {
            hang_.since = std::min(hang_.since, found.operation.since);
            hang_.operations.push_back(std::move(found.operation));
        }
        return std::move(hang_);
    }

private:
    struct Found {
        bool root = false;  // it waits for who is lost, or broke
        StuckOperation operation;
    };

    void add(const OpenTransfer& transfer) {
        const ChannelClass& folded = e_.quotient_.channels[transfer.channel];
        const Channel& channel = e_.transfers_.channels[folded.channel];
        std::vector<std::uint32_t> arrived;  // rank classes
        Found found{.root = transfer.missing == 0, .operation = {}};
        bool words = false;
        for (const std::uint32_t id : transfer.participants) {
            const std::uint32_t r = e_.member_of(id);
            arrived.push_back(r);
            if (e_.ranks_[r].lost) {
                continue;
            }
            const bool promised = e_.streams_[id].phase == StreamPhase::promised;
            const Time since = promised ? e_.promised_arrival(id) : e_.streams_[id].start;
            found.operation.since = std::max(found.operation.since, since);
            if (!words) {
                const TapeItem& item = promised ? e_.item_after(id) : e_.item_of(id);
                const TapeOp& op = e_.streams_[id].tape->ops[item.first_op];
                found.operation.operation =
                    describe_op(*e_.input_.program, e_.quotient_.ranks[r].role, op.slot, op.op);
                words = true;
            }
        }
        if (!words) {
            return;  // no living rank waits
        }
        if (channel.is_collective) {
            found.operation.group = e_.input_.program->groups[index(channel.group)].name;
        }
        for (const RankId rank : e_.transfers_.members_of(channel)) {
            const std::uint32_t r = e_.quotient_.class_of_rank[index(rank)];
            const bool here = std::find(arrived.begin(), arrived.end(), r) != arrived.end();
            if (!here) {
                found.operation.missing.push_back(rank);
                found.root = found.root || e_.ranks_[r].lost;
            } else if (!e_.ranks_[r].lost) {
                found.operation.waiting.push_back(rank);
            }
        }
        operations_.push_back(std::move(found));
    }

    const Execution& e_;
    Hang hang_;
    std::vector<Found> operations_;
};

std::optional<Hang> Execution::describe_hang() const {
    return events_ == nullptr ? std::nullopt : HangReport(*this).describe();
}

}  // namespace orrery

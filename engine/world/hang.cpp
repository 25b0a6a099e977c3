// SPDX-License-Identifier: Apache-2.0
#include "engine/world/hang.h"

#include <algorithm>

#include "engine/program/verifier.h"
#include "engine/world/execution.h"

namespace orrery {

namespace {

class HangReport {
public:
    explicit HangReport(const Execution& execution) : e_(execution) {}

    std::optional<Hang> describe() {
        for (const RankClassId r : e_.state.ranks.ids()) {
            if (e_.state.ranks[r].lost) {
                hang_.lost.push_back(e_.plan.quotient.ranks[r].representative);
            }
        }
        bool broke = false;
        for (const ConnectionState& connection : e_.open.connections) {
            for (OpenTransferId t = connection.open; t != kNoTransfer; t = e_.open.pool[t].next) {
                broke = broke || e_.open.pool[t].lost;
                add(e_.open.pool[t]);
            }
        }
        if (hang_.lost.empty() && !broke) {
            return std::nullopt;
        }
        std::sort(hang_.lost.begin(), hang_.lost.end());
        // Operations that wait for a lost rank come first, then operations that wait for waiting
        // ranks.
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
        bool root = false;  // it waits for a lost rank, or it broke
        StuckOperation operation;
    };

    void add(const OpenTransfer& transfer) {
        const ConnectionClass& folded = e_.plan.quotient.connections[transfer.connection];
        const Connection& connection = e_.plan.transfers.connections[folded.connection];
        std::vector<RankClassId> arrived;  // rank classes in it
        Found found{.root = transfer.missing == 0, .operation = {}};
        bool words = false;
        for (const RankStreamId id : transfer.participants) {
            const RankClassId r = e_.state.member_of(id);
            arrived.push_back(r);
            if (e_.state.ranks[r].lost) {
                continue;
            }
            const Time since = e_.state.streams[id].start;
            found.operation.since = std::max(found.operation.since, since);
            if (!words) {
                const TapeItem& item = e_.state.item_of(id);
                const SlotOp& op = e_.state.streams[id].tape->ops[item.first_op];
                found.operation.operation = describe_op(
                    *e_.plan.input.program, e_.plan.quotient.ranks[r].role, op.slot, op.op);
                words = true;
            }
        }
        if (!words) {
            return;  // all waiting ranks are lost
        }
        if (connection.kind == ConnectionKind::group) {
            found.operation.group = e_.plan.input.program->groups[index(connection.group)].name;
        }
        for (const RankId rank : e_.plan.transfers.members_of(connection)) {
            const RankClassId r = e_.plan.quotient.class_of_rank[rank];
            const bool here = std::find(arrived.begin(), arrived.end(), r) != arrived.end();
            if (!here) {
                found.operation.missing.push_back(rank);
                found.root = found.root || e_.state.ranks[r].lost;
            } else if (!e_.state.ranks[r].lost) {
                found.operation.waiting.push_back(rank);
            }
        }
        operations_.push_back(std::move(found));
    }

    const Execution& e_;
    Hang hang_;
    std::vector<Found> operations_;
};

}  // namespace

std::optional<Hang> describe_hang(const Execution& execution) {
    return execution.plan.input.events.empty() ? std::nullopt : HangReport(execution).describe();
}

}  // namespace orrery

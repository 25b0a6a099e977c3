// SPDX-License-Identifier: Apache-2.0
#include "engine/world/deadlock.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "engine/program/verifier.h"
#include "engine/world/execution.h"

namespace orrery {

namespace {

class DeadlockReport {
public:
    explicit DeadlockReport(const Execution& execution) : e_(execution) {}

    Error describe() {
        std::optional<RankStreamId> next = first_stuck();
        while (next && std::find(seen_.begin(), seen_.end(), *next) == seen_.end()) {
            seen_.push_back(*next);
            next = follow(*next);
        }
        std::size_t from = 0;
        if (next) {
            from = static_cast<std::size_t>(std::find(seen_.begin(), seen_.end(), *next) -
                                            seen_.begin());
        }
        std::string what = next ? "deadlock: these ops wait on each other" : "no progress";
        const std::size_t shown = std::min(words_.size(), from + kWaitersShown);
        for (std::size_t i = from; i < shown; ++i) {
            what += (i == from ? ": " : "; ") + words_[i];
        }
        if (shown < words_.size()) {
            what += fmt::format("; and {} more in turn", words_.size() - shown);
        }
        return Error{.where = {},
                     .what = what,
                     .hint = next ? "give communication that must overlap its own stream, or call "
                                    "it in the same order on all ranks"
                                  : "check the links for zero bandwidth"};
    }

private:
    bool stuck(RankStreamId id) const {
        const StreamPhase phase = e_.state.streams[id].phase;
        return phase == StreamPhase::blocked || phase == StreamPhase::arrived;
    }

    std::optional<RankStreamId> first_stuck() const {
        for (std::uint32_t s = 0; s < e_.state.num_streams; ++s) {
            for (const RankClassId r : e_.state.ranks.ids()) {
                if (stuck(e_.state.stream_of(r, s))) {
                    return e_.state.stream_of(r, s);
                }
            }
        }
        return std::nullopt;
    }

    std::string words(RankStreamId id) const {
        const RankClassId r = e_.state.rank_of(id);
        const RankClass& rank = e_.plan.quotient.ranks[r];
        const TapeItem& item = e_.state.item_of(id);
        const SlotOp& op = e_.state.streams[id].tape->ops[item.first_op];
        return fmt::format("rank {} in step {}: {}",
                           index(rank.representative),
                           e_.state.streams[id].step,
                           describe_op(*e_.plan.input.program, rank.role, op.slot, op.op));
    }

    std::optional<RankStreamId> follow(RankStreamId id) {
        const StreamState& stream = e_.state.streams[id];
        if (stream.phase == StreamPhase::blocked) {
            words_.push_back(words(id) + " waits on the next");
            return stuck_from(e_.state.rank_of(id), stream.awaited_stream);
        }
        return follow_transfer(id);
    }

    // Follows an arrived op to a member that has not arrived.
    std::optional<RankStreamId> follow_transfer(RankStreamId id) {
        bool moving = false;
        for (std::size_t i = 0; i < e_.open.pool.size(); ++i) {
            const auto t = to_id<OpenTransferId>(i);
            const OpenTransfer& transfer = e_.open.pool[t];
            const auto& in = transfer.participants;
            const bool open =
                std::find(e_.open.free.begin(), e_.open.free.end(), t) == e_.open.free.end();
            if (!open || std::find(in.begin(), in.end(), id) == in.end()) {
                continue;
            }
            if (transfer.missing > 0) {
                return follow_missing(id, transfer);
            }
            moving = true;
        }
        words_.push_back(words(id) + (moving ? " has a transfer that gets no bandwidth" : ""));
        return std::nullopt;
    }

    std::optional<RankStreamId> follow_missing(RankStreamId id, const OpenTransfer& transfer) {
        const ConnectionClass& folded = e_.plan.quotient.connections[transfer.connection];
        const Connection& connection = e_.plan.transfers.connections[folded.connection];
        const std::string group =
            connection.kind == ConnectionKind::group
                ? " in group " + e_.plan.input.program->groups[index(connection.group)].name
                : std::string{};
        for (std::uint32_t m = 0; m < folded.num_members; ++m) {
            const RankClassId r = e_.plan.quotient.members[folded.first_member + m];
            const std::optional<RankStreamId> other = missing_op(r, transfer, id);
            if (other) {
                words_.push_back(fmt::format("{}{} waits for rank {}",
                                             words(id),
                                             group,
                                             index(e_.plan.quotient.ranks[r].representative)));
                return stuck_from(r, e_.state.streams[*other].stream);
            }
        }
        words_.push_back(words(id) + group + " waits for a member that never calls it");
        return std::nullopt;
    }

    // The stream of rank class `r` that still has to join the transfer.
    std::optional<RankStreamId> missing_op(RankClassId r,
                                           const OpenTransfer& transfer,
                                           RankStreamId except) const {
        const RoleTape& tape = e_.state.tape_of(r);
        for (std::uint32_t s = 0; s < tape.streams.size(); ++s) {
            const RankStreamId id = e_.state.stream_of(r, s);
            const auto& in = transfer.participants;
            if (id == except || std::find(in.begin(), in.end(), id) != in.end()) {
                continue;
            }
            for (const TapeItem& item : tape.streams[s].items) {
                for (std::uint32_t p = 0; p < item.num_parts; ++p) {
                    const TapePart& part = tape.parts[item.first_part + p];
                    const RankClass& rank = e_.plan.quotient.ranks[r];
                    const std::uint32_t per_step =
                        tape.connections[part.connection].messages_per_step;
                    if (e_.plan.quotient.connection_of[rank.first_connection + part.connection] ==
                            transfer.connection &&
                        part.sequence == transfer.sequence % per_step) {
                        return id;
                    }
                }
            }
        }
        return std::nullopt;
    }

    // Stream `s` of the rank class if it is stuck, else its first stuck stream.
    std::optional<RankStreamId> stuck_from(RankClassId r, std::uint32_t s) const {
        if (stuck(e_.state.stream_of(r, s))) {
            return e_.state.stream_of(r, s);
        }
        for (std::uint32_t other = 0; other < e_.state.num_streams; ++other) {
            if (stuck(e_.state.stream_of(r, other))) {
                return e_.state.stream_of(r, other);
            }
        }
        return std::nullopt;
    }

    // A cycle over a thousand ranks has many equal waits.
    static constexpr std::size_t kWaitersShown = 6;

    const Execution& e_;
    std::vector<RankStreamId> seen_;
    std::vector<std::string> words_;
};

}  // namespace

Error describe_deadlock(const Execution& execution) {
    return DeadlockReport(execution).describe();
}

}  // namespace orrery

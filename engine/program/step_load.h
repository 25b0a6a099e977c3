// SPDX-License-Identifier: Apache-2.0
// Work whose size the data decide: the number of rows of tokens that a router sends to each rank's
// experts in each micro-batch. It stands beside the Program. A *draw* is the decision of one router
// in one micro-batch. The Program itself has the largest amounts (models/experts/router_load.h).
// With a StepLoad each rank takes its own amounts: its kernels have the work of the rank's *level*,
// and an exchange has the rows of its members.
//
// Levels number the distinct amounts of work. A kernel of a level is an additional entry at the end
// of every DeviceTimings::kernels, so that any slowdown of the device applies to it, too.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <variant>
#include <vector>

#include "engine/base/check.h"
#include "engine/base/splitmix.h"
#include "engine/program/program.h"
#include "engine/program/transfer_call.h"

namespace orrery {

struct StepLoad {
    static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

    struct OfRank {
        std::uint32_t level = 0;
        std::uint32_t share = 0;  // millionths of all rows of the ranks that share the experts
    };

    std::uint32_t micro_batches = 0;
    // By segment and op: the number of the router that decides the op's work, from 1; 0: none.
    std::vector<std::vector<std::uint16_t>> routers;
    // By role and router - 1: index of the router's first draw among the draws of a rank; kNone:
    // the role does not have the router.
    std::vector<std::vector<std::uint32_t>> first_draw;
    // index into `loads` by rank, and the end of the last rank
    std::vector<std::uint64_t> first_of_rank;
    std::vector<OfRank> loads;  // rank by rank

    std::uint32_t num_levels = 0;
    std::vector<std::int64_t> rows_of_level;
    std::vector<std::int64_t> rows_of_router;  // by router - 1: the rows in the Program
    // By KernelId: its column in `kernels`; kNone if no draw decides its work.
    std::vector<std::uint32_t> column_of;
    // [column * num_levels + level]: index into DeviceTimings::kernels
    std::vector<std::uint32_t> kernels;

    // The draw of an op of a slot, from 1; 0: the op has the Program's work.
    std::uint32_t draw_of(const Slot& slot, std::uint32_t op) const {
        const std::uint16_t router = routers[index(slot.segment)][op];
        return router == 0 || slot.micro_batch < 0
                   ? 0
                   : (router - 1U) * micro_batches + static_cast<std::uint32_t>(slot.micro_batch) +
                         1;
    }
    const OfRank& of(RankId rank, RoleId role, std::uint32_t draw) const {
        const std::uint32_t router = (draw - 1) / micro_batches;
        const std::uint32_t first = first_draw[index(role)][router];
        ORRERY_CHECK(first != kNone);
        return loads[first_of_rank[index(rank)] + first + (draw - 1) % micro_batches];
    }
    std::uint32_t column(KernelId kernel) const {
        return index(kernel) < column_of.size() ? column_of[index(kernel)] : kNone;
    }
    // The index into DeviceTimings::kernels.
    std::uint32_t kernel(KernelId kernel, std::uint32_t level) const {
        const std::uint32_t c = column(kernel);
        return c == kNone ? static_cast<std::uint32_t>(index(kernel))
                          : kernels[std::size_t{c} * num_levels + level];
    }
    // The call with the rows that its members have in a draw.
    TransferCall call(TransferCall given,
                      std::uint32_t draw,
                      RoleId role,
                      std::span<const RankId> members) const {
        auto* call = std::get_if<CollectiveCall>(&given);
        if (draw == 0 || call == nullptr) {
            return given;
        }
        if (call->rows.dispatcher > 0) {
            call->rows.shares.clear();
            for (const RankId member : members) {
                call->rows.shares.push_back(of(member, role, draw).share);
            }
            return given;
        }
        // The members split the same experts, so that they have the same rows.
        const std::int64_t rows = rows_of_level[of(members.front(), role, draw).level];
        const std::int64_t of_program = rows_of_router[(draw - 1) / micro_batches];
        call->bytes = Bytes{(call->bytes.count() * rows + of_program - 1) / of_program};
        return given;
    }
    // A hash that is equal for ranks of a role with equal loads in every draw.
    std::uint64_t signature(RankId rank) const {
        std::uint64_t hash = 0;
        for (std::uint64_t i = first_of_rank[index(rank)]; i < first_of_rank[index(rank) + 1];
             ++i) {
            hash = splitmix64(hash ^ (std::uint64_t{loads[i].level} << 32 | loads[i].share));
        }
        return hash;
    }
};

}  // namespace orrery

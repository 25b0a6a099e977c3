// SPDX-License-Identifier: Apache-2.0
#include "models/plan/rank_rows.h"

#include <algorithm>

namespace orrery {
namespace {

// The rows of a rank in the largest of its micro-batches; -1: the layer is on another rank.
std::int64_t most_rows(const StepLoad& load, RankId rank, RoleId role, std::size_t layer) {
    if (load.first_draw[index(role)][layer] == StepLoad::kNone) {
        return -1;
    }
    std::int64_t most = 0;
    for (std::uint32_t m = 0; m < load.micro_batches; ++m) {
        const auto draw = static_cast<std::uint32_t>(layer) * load.micro_batches + m + 1;
        most = std::max(most, load.rows_of_level[load.of(rank, role, draw).level]);
    }
    return most;
}

}  // namespace

std::vector<RankId> fullest_ranks(const Program& program, const StepLoad& load) {
    std::vector<RankId> fullest(program.roles.size());
    std::vector<std::int64_t> most(program.roles.size(), -1);
    for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
        const auto rank = to_id<RankId>(r);
        const RoleId role = program.role_of(rank);
        std::int64_t rows = 0;
        for (std::size_t layer = 0; layer < load.rows_of_router.size(); ++layer) {
            rows += std::max<std::int64_t>(0, most_rows(load, rank, role, layer));
        }
        if (rows > most[index(role)]) {
            most[index(role)] = rows;
            fullest[index(role)] = rank;
        }
    }
    return fullest;
}

Program with_rows_of(const Program& program,
                     std::span<const RoutedTensor> routed,
                     const StepLoad& load,
                     std::span<const RankId> ranks) {
    Program own = program;
    std::vector<std::uint16_t> role_of(program.tensors.size(), 0);
    for (std::size_t role = 0; role < program.roles.size(); ++role) {
        for (const Slot& slot : program.roles[role].slots) {
            for (const Op& op : program.segment_of(slot).ops) {
                for (std::uint32_t o = 0; o < op.num_operands; ++o) {
                    role_of[index(program.operands[op.first_operand + o].tensor)] =
                        static_cast<std::uint16_t>(role);
                }
            }
        }
    }
    for (const RoutedTensor& tensor : routed) {
        const RoleId role = to_id<RoleId>(role_of[index(tensor.tensor)]);
        const auto layer = static_cast<std::size_t>(tensor.layer);
        const std::int64_t rows = most_rows(load, ranks[index(role)], role, layer);
        if (!tensor.with_experts || rows < 0) {
            continue;
        }
        Bytes& bytes = own.tensors[index(tensor.tensor)].bytes;
        const auto all = static_cast<__int128>(bytes.count()) * rows;
        const std::int64_t of_program = load.rows_of_router[layer];
        bytes = Bytes{static_cast<std::int64_t>((all + of_program - 1) / of_program)};
    }
    return own;
}

}  // namespace orrery

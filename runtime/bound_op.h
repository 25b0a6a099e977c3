// SPDX-License-Identifier: Apache-2.0
// An op of a Program with its operands bound to memory, as an executor passes it to a kernel or to
// communication.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "kernels/kernel_arguments.h"
#include "kernels/sequence_positions.h"

namespace orrery {

// Narrows an operand to one of its pieces of tokens (engine/program/program.h, Tensor).
void take_piece(BoundOperand& operand, std::int64_t piece, std::int64_t pieces);
// The reason why an operand cannot be used in the op's pieces, or empty.
std::string why_not_in_pieces(const Program& program, RankId rank, const Operand& operand);

// The extents (sequence, batch, width) of an activation on one rank, and the positions of its
// tokens.
struct LocalShape {
    std::int64_t sequence = 0;
    std::int64_t batch = 0;
    std::int64_t width = 0;
    SequencePositions positions;
};
// The positions, in the whole sequence, of the tokens of an activation that a rank holds.
SequencePositions token_positions(const Program& program, RankId rank, const Tensor& activation);
LocalShape local_shape(const Program& program, RankId rank, const Tensor& activation);

struct BoundOp {
    const Program& program;
    RankId rank{};
    const KernelCall& call;
    std::int32_t micro_batch = -1;  // of the slot
    // Each list is in the order of the op's operands.
    std::vector<BoundOperand> reads;
    std::vector<BoundOperand> writes;
    std::vector<BoundOperand> accumulates;

    LocalShape shape_of(const BoundOperand& operand) const {
        return local_shape(program, rank, *operand.tensor);
    }
    KernelArguments arguments() const { return {call, reads, writes, accumulates}; }
    // The only tensor that the op writes or accumulates into.
    const BoundOperand& output() const {
        return writes.empty() ? accumulates.front() : writes.front();
    }
};

// The operands of a communication op, bound to memory.
struct BoundTransfer {
    std::vector<BoundOperand> reads;
    std::vector<BoundOperand> writes;
    std::vector<BoundOperand> accumulates;
};

}  // namespace orrery

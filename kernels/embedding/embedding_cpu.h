// SPDX-License-Identifier: Apache-2.0
// Embedding on the CPU. Token ids are int32 [tokens], tokens = (sequence, batch) sequence-major.
// table, dtable: [rows, hidden], the rows first_row ... first_row + rows - 1 of the vocabulary.
// Forward, other ids give rows of zeros: another rank of the vocabulary-parallel group has them,
// and the reduction adds them. Backward, other ids are skipped. Backward, the rows of one id are
// summed in fp32 in token order and added to dtable once. Positions: table [positions, hidden], row
// = global position.
#pragma once

#include "kernels/sequence_positions.h"
#include "kernels/tensor_view.h"

namespace orrery::cpu {

struct EmbeddingShape {
    std::int64_t tokens = 0;
    std::int64_t hidden = 0;
    std::int64_t rows = 0;       // of the table on this rank
    std::int64_t first_row = 0;  // index of this rank's first row in the vocabulary
};

void embedding_forward(const EmbeddingShape& shape,
                       ConstTensorView token_ids,
                       ConstTensorView table,
                       TensorView output);
void embedding_backward(const EmbeddingShape& shape,
                        ConstTensorView token_ids,
                        ConstTensorView doutput,
                        TensorView dtable);

struct PositionShape {
    SequencePositions sequence;
    std::int64_t batch = 1;
    std::int64_t hidden = 0;
};

// x[s, b, :] += table[position of s, :], and dtable[position of s, :] += sum over b of dx.
void position_forward(const PositionShape& shape, ConstTensorView table, TensorView x);
void position_backward(const PositionShape& shape, ConstTensorView dx, TensorView dtable);

}  // namespace orrery::cpu

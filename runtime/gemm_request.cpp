// SPDX-License-Identifier: Apache-2.0
#include "runtime/gemm_request.h"

namespace orrery {

GemmRequest gemm_request(const BoundOp& op, std::int32_t reserved_sms) {
    const BoundOperand& c = op.output();
    const bool blocks = c.blocks > 1;
    return {.m = op.call.dims[0] / c.blocks,
            .n = op.call.dims[1],
            .k = op.call.dims[2],
            .batch = blocks ? c.blocks : op.call.dims[3],
            .in = op.reads[0].view.dtype,
            .out = c.view.dtype,
            .transpose_a = op.reads[0].transposed,
            .transpose_b = op.reads[1].transposed,
            .transpose_c = c.transposed,
            .epilogue = op.reads.size() > 2 ? GemmEpilogue::bias : GemmEpilogue::none,
            .accumulate = op.writes.empty(),
            .block_rows = blocks ? c.block_stride / op.call.dims[1] : 0,
            .reserved_sms = reserved_sms};
}

}  // namespace orrery

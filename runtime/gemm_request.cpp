// SPDX-License-Identifier: Apache-2.0
#include "runtime/gemm_request.h"

#include "kernels/gemm/grouped_gemm.h"
#include "runtime/attention_operands.h"

namespace orrery {

GemmCall aligned_call(GemmCall call) {
    GemmRequest& r = call.request;
    auto bits = static_cast<std::int64_t>(r.alignment);
    for (const void* operand :
         {call.pointers.a, call.pointers.b, static_cast<const void*>(call.pointers.c)}) {
        bits |= static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(operand));
    }
    bits |= (r.steps_a.batch | r.steps_b.batch) * size_bytes(r.in);
    bits |= r.steps_c.batch * size_bytes(r.out);
    r.alignment = static_cast<std::int32_t>(bits & -bits);
    return call;
}

namespace {

std::vector<GemmCall> head_calls(const HeadProduct& product, std::int32_t reserved_sms) {
    std::vector<GemmCall> calls;
    for (const HeadBatch& batch : head_batches(product)) {
        calls.push_back(aligned_call(
            {.request = {.m = product.m,
                         .n = product.n,
                         .k = product.k,
                         .batch = batch.count,
                         .in = product.x.dtype,
                         .out = product.result.dtype,
                         .transpose_a = product.transpose_x,
                         .transpose_b = product.transpose_y,
                         .accumulate = batch.accumulate,
                         .steps_a = {product.steps_x.row, batch.step_x},
                         .steps_b = {product.steps_y.row, batch.step_y},
                         .steps_c = {product.steps_result.row, batch.step_result},
                         .reserved_sms = reserved_sms},
             .pointers = {.a = batch.x.data, .b = batch.y.data, .c = batch.result.data}}));
    }
    return calls;
}

}  // namespace

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
            .epilogue = op.reads.size() > 2 && !is_grouped(op.call) ? GemmEpilogue::bias
                                                                    : GemmEpilogue::none,
            .accumulate = op.writes.empty(),
            .steps_a = {0, blocks ? op.reads[0].block_stride : 0},
            .steps_c = {0, blocks ? c.block_stride : 0},
            .reserved_sms = reserved_sms};
}

std::vector<GemmCall> gemm_calls(const BoundOp& op, std::int32_t reserved_sms) {
    if (is_head_product(op)) {
        return head_calls(head_product(op), reserved_sms);
    }
    return {aligned_call({.request = gemm_request(op, reserved_sms),
                          .pointers = {.a = op.reads[0].view.data,
                                       .b = op.reads[1].view.data,
                                       .c = op.output().view.data,
                                       .bias = op.reads.back().view.data}})};
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "models/segments/quantised_operands.h"

#include <set>
#include <string>
#include <vector>

#include "kernels/cast/cast.h"
#include "kernels/optimizer/optimizer.h"

namespace orrery {

Value BlockBuilder::quantised(std::string_view name,
                              const Value& x,
                              const Parameter& w,
                              Lifetime lifetime) {
    if (gemm_dtype(w) != Dtype::fp8 || x.dtype == Dtype::fp8) {
        return x;
    }
    const std::string text = std::string{name} + " cast";
    Value y = value_like(x, text, x.shape[kWidth], x.layout, lifetime, Dtype::fp8);
    const std::int64_t elements = local_tokens(x) * local_width(x);
    // The maximum must be known before the first value is cast. A compiler computes a tensor's
    // maximum where it makes x. The maxima of columns are over all rows, but x is made row by row.
    const bool rowwise = plan.fp8_recipe == Fp8Recipe::rowwise;
    if (rowwise || (plan.fp8_recipe == Fp8Recipe::tensorwise && !plan.compiled)) {
        const Value maximum = value_like(x,
                                         std::string{name} + " maximum",
                                         1,
                                         x.layout,
                                         Lifetime::slot,
                                         Dtype::fp32,
                                         TensorKind::workspace);
        kernel(std::string{name} + " maximum",
               gradient_norm(elements, x.dtype),
               Cause::memory_bound_kernels,
               {&x},
               {&maximum});
    }
    // Rows and columns have scales of their own, and are cast separately.
    if (rowwise) {
        const KernelCall half = cast(elements, x.dtype, Dtype::fp8);
        kernel(text + " of rows", half, Cause::memory_bound_kernels, {&x}, {&y});
        kernel(text + " of columns", half, Cause::memory_bound_kernels, {&x}, {}, {}, {y.tensor});
        return y;
    }
    kernel(text,
           cast_transpose(local_tokens(x), local_width(x), x.dtype, Dtype::fp8),
           Cause::memory_bound_kernels,
           {&x},
           {&y});
    return y;
}

Value BlockBuilder::quantised_input(std::string_view name, const Value& x, const Parameter& w) {
    const Lifetime lifetime = ops.tables().program().tensors[index(x.tensor)].lifetime;
    const bool keeps = plan.fp8_saved_inputs && !recomputing && lifetime == Lifetime::micro_batch;
    const Value copy = quantised(name, x, w, keeps ? lifetime : Lifetime::slot);
    if (keeps && copy.tensor != x.tensor) {
        ops.tables().saved_copies()[x.tensor] = copy.tensor;
    }
    return copy;
}

Value BlockBuilder::as_quantised(Value x, const Parameter& w) {
    if (gemm_dtype(w) != Dtype::fp8) {
        return x;
    }
    x.dtype = Dtype::fp8;
    const auto copy = ops.tables().saved_copies().find(x.tensor);
    if (copy != ops.tables().saved_copies().end()) {
        x.tensor = copy->second;
    }
    return x;
}

void free_copied_inputs(ProgramTables& tables, std::span<const SegmentId> backward) {
    if (tables.saved_copies().empty()) {
        return;
    }
    Program& program = tables.program();
    std::vector<bool> read_later(program.tensors.size(), false);
    for (const SegmentId segment : backward) {
        std::set<TensorId> made;
        for (const Op& op : program.segments[index(segment)].ops) {
            for (std::uint32_t i = 0; i < op.num_operands; ++i) {
                const Operand& operand = program.operands[op.first_operand + i];
                if (operand.access == Access::write) {
                    made.insert(operand.tensor);
                }
                if (!made.contains(operand.tensor)) {
                    read_later[index(operand.tensor)] = true;
                }
            }
        }
    }
    for (const auto& [input, copy] : tables.saved_copies()) {
        if (!read_later[index(input)]) {
            program.tensors[index(input)].lifetime = Lifetime::slot;
        }
    }
    tables.saved_copies().clear();
}

}  // namespace orrery

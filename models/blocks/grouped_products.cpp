// SPDX-License-Identifier: Apache-2.0
// BlockBuilder's functions for experts: values and products in which every expert has its own rows,
// and the exchange of rows.
#include <algorithm>
#include <cmath>

#include "kernels/gemm/grouped_gemm.h"
#include "models/segments/block_builder.h"
#include "models/segments/relayout.h"

namespace orrery {
namespace {

// Transformer Engine pads the rows of each expert to a multiple of 16 in FP8, and of 32 with blocks
// of 32.
std::int64_t row_multiple(const ParallelPlan& plan, Dtype dtype) {
    if (dtype != Dtype::fp8) {
        return 1;
    }
    return plan.fp8_recipe == Fp8Recipe::mxfp8 ? kMxBlock : 16;
}

KernelCall with_scales(KernelCall call, const ParallelPlan& plan) {
    if (call.dtype == Dtype::fp8 && plan.fp8_recipe == Fp8Recipe::mxfp8) {
        call.dims[5] = kMxBlock;
    }
    return call;
}

}  // namespace

Value BlockBuilder::rows_value(std::string_view name,
                               TokenRows rows,
                               std::int64_t width,
                               const Layout& layout,
                               Lifetime lifetime,
                               Dtype dtype,
                               TensorKind kind) {
    const bool with_experts = digits_with(layout, Placement::routed) != 0;
    const std::int64_t extent = with_experts ? rows.with_experts : rows.with_tokens;
    const std::vector<std::int64_t> shape{extent, batch_of_all_ranks(), width};
    Value v = shaped_value(name, shape, layout, lifetime, dtype, kind, 1);
    if (rows.counts && (with_experts || holds_rows_of_others(layout))) {
        ops.tables().program().tensors[index(v.tensor)].bytes =
            Bytes{rows.most * sources_of_rows(layout) * local_width(v) * size_bytes(dtype)};
    }
    if (rows.layer >= 0) {
        ops.tables().routed().push_back({.tensor = v.tensor,
                                         .layer = rows.layer,
                                         .rows = local_tokens(v),
                                         .with_experts = with_experts});
    }
    v.rows = std::move(rows);
    return v;
}

std::vector<std::int64_t> BlockBuilder::rows_of_experts(const Value& x, const Parameter& w) const {
    const std::int64_t experts = local_experts(w);
    const std::int64_t all = local_tokens(x);
    const std::vector<double>& parts = x.rows.of_experts;
    std::vector<std::int64_t> rows(static_cast<std::size_t>(experts),
                                   (all + experts - 1) / experts);
    for (std::size_t i = 0; i < rows.size() && parts.size() == rows.size(); ++i) {
        rows[i] = std::llround(static_cast<double>(all) * parts[i]);
    }
    return rows;
}

// Ranks that split each expert compute with the rows of all these ranks.
bool BlockBuilder::holds_rows_of_others(const Layout& layout) const {
    for (std::uint32_t digit = 0; digit < layout.size(); ++digit) {
        const bool splits = (layouts.expert_tensor_digits >> digit & 1u) != 0;
        const bool own_rows =
            layout[digit].placement == Placement::shard && layout[digit].dim != kWidth;
        if (splits && layouts.mesh.size(digit) > 1 && !own_rows) {
            return true;
        }
    }
    return false;
}

std::int64_t BlockBuilder::sources_of_rows(const Layout& layout) const {
    const std::uint32_t exchanged = digits_with(layout, Placement::routed);
    const bool all = holds_rows_of_others(layout);
    return layouts.mesh.combined_size(exchanged | (all ? layouts.expert_tensor_digits : 0));
}

KernelCall BlockBuilder::product_call(const Value& x,
                                      const Parameter& w,
                                      const GemmExtent& extent,
                                      std::int64_t chunks) const {
    const Dtype dtype = gemm_dtype(w);
    if (!w.of_experts()) {
        return with_scales(gemm((local_tokens(x) + chunks - 1) / chunks,
                                extent.n,
                                extent.k,
                                1,
                                dtype,
                                GemmEpilogue::none,
                                activation_dtype()),
                           plan);
    }
    return with_scales(grouped_gemm({.rows = rows_of_experts(x, w),
                                     .n = extent.n,
                                     .k = extent.k,
                                     .in = dtype,
                                     .out = activation_dtype(),
                                     .row_multiple = row_multiple(plan, dtype)}),
                       plan);
}

KernelCall BlockBuilder::weight_product_call(const Value& dy,
                                             const Parameter& w,
                                             bool fused) const {
    const GemmEpilogue epilogue = fused ? GemmEpilogue::accumulate : GemmEpilogue::none;
    const Dtype dtype = gemm_dtype(w);
    const Dtype out = fused ? plan.gradient_dtype : activation_dtype();
    if (!w.of_experts()) {
        return with_scales(
            gemm(local_input(w), local_output(w), local_tokens(dy), 1, dtype, epilogue, out), plan);
    }
    return with_scales(grouped_gemm_weights({.rows = rows_of_experts(dy, w),
                                             .n = local_output(w),
                                             .k = local_input(w),
                                             .in = dtype,
                                             .out = out,
                                             .epilogue = epilogue,
                                             .row_multiple = row_multiple(plan, dtype)}),
                       plan);
}

Value BlockBuilder::relayout_rows(std::string_view name,
                                  const Value& v,
                                  const Layout& to,
                                  Lifetime lifetime,
                                  const RowExchange& exchange,
                                  std::uint8_t launches) {
    const auto elements = [&](const Layout& layout) {
        std::vector<std::int64_t> shape = v.shape;
        const bool with_experts = digits_with(layout, Placement::routed) != 0;
        shape[kSequence] = with_experts ? v.rows.with_experts : v.rows.with_tokens;
        return local_elements(shape, layout, layouts.mesh);
    };
    Value now = v;
    for (const RelayoutStep& step : relayout_steps(v.layout, to, elements)) {
        const bool exchanges = step.step.kind == CollectiveKind::all_to_all;
        Value moved = value_like(
            v, name, v.shape[kWidth], step.to, lifetime, v.dtype, kind_of_received(lifetime));
        set_column_parts(moved, v.column_parts);
        std::vector<TensorId> reads{now.tensor};
        if (v.rows.counts) {
            const TokenRows::Counts& counts = *v.rows.counts;
            reads.push_back(exchanges ? counts.sent : counts.held);
            if (exchanges) {
                reads.push_back(counts.received);
            }
        }
        emit(ops,
             step,
             {.traffic = Traffic::expert,
              .wire = v.dtype,
              .mover = {.sm_limit =
                            static_cast<std::uint16_t>(exchanges ? plan.moe_dispatcher_sms : 0)},
              .rows = exchange},
             {.name = std::string{name},
              .reads = std::move(reads),
              .writes = {moved.tensor},
              .accumulates = {},
              .launches = exchanges ? launches : std::uint8_t{1}});
        now = std::move(moved);
    }
    now.layout = to;
    return now;
}

}  // namespace orrery

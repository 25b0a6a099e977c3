// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/token_tiles.h"

#include <algorithm>

#include "kernels/gemm/gemm.h"

namespace orrery {

TokenTiles::TokenTiles(BlockBuilder& b, const Value& whole, std::int64_t tokens)
    : b_(b), shape_(whole.shape), layout_(whole.layout) {
    const std::int64_t all = b.local_tokens(whole);
    count_ = tokens > 0 ? std::max<std::int64_t>((all + tokens - 1) / tokens, 1) : 1;
    // The last tile may have a few tokens less.
    const std::int64_t own = b.local_extent(shape_[kSequence], kSequence, layout_);
    sequence_ = (own + count_ - 1) / count_ * (shape_[kSequence] / own);
}

Value TokenTiles::part_of(Value whole) const {
    whole.shape[kSequence] = sequence_;
    return whole;
}

Value TokenTiles::buffer(std::string_view name,
                         std::int64_t width,
                         Dtype dtype,
                         TensorKind kind) const {
    Value v{.tensor = {}, .pieces = 1, .layout = layout_, .shape = shape_, .dtype = dtype};
    v.shape[kSequence] = sequence_;
    v.shape[kWidth] = width;
    v.tensor = b_.ops.tables().tensor({
        .name = std::string{name},
        .parameter = {},
        .dtype = dtype,
        .kind = kind,
        .lifetime = Lifetime::slot,
        .global_shape = v.shape,
        .layout = layout_,
        .column_parts = {},
        .bytes = Bytes{local_elements(v.shape, layout_, b_.layouts.mesh) * size_bytes(dtype)},
    });
    return v;
}

OpSpec TokenTiles::spec_of_tile(std::string_view name, std::int64_t tile, Cause cause) const {
    return {.name = std::string{name},
            .stream = kComputeStream,
            .cause = b_.recomputing ? Cause::recomputation : cause,
            .reads = {},
            .writes = {},
            .accumulates = {},
            .piece = static_cast<std::uint16_t>(tile),
            .pieces = static_cast<std::uint16_t>(count_)};
}

void TokenTiles::add(OpSpec& spec, const Value& v, bool writes) const {
    (writes ? spec.writes : spec.reads).push_back(v.tensor);
    const Tensor& tensor = b_.ops.tables().program().tensors[index(v.tensor)];
    if (count_ > 1 && tensor.global_shape[kSequence] != sequence_) {
        spec.in_pieces.push_back(v.tensor);
    }
}

void TokenTiles::product(std::string_view name,
                         std::int64_t tile,
                         const Value& x,
                         const Parameter& w,
                         const Value& y,
                         bool back) const {
    OpSpec spec = spec_of_tile(name, tile, Cause::gemm_inefficiency);
    add(spec, x, false);
    add(spec, y, true);
    spec.reads.push_back(w.weight);
    if (w.transposed != back) {
        spec.transposed = {w.weight};
    }
    const std::int64_t n = back ? b_.local_input(w) : b_.local_output(w);
    const std::int64_t k = back ? b_.local_output(w) : b_.local_input(w);
    const Dtype dtype = b_.activation_dtype();
    b_.ops.kernel(gemm(b_.local_tokens(part_of(x)), n, k, 1, dtype, GemmEpilogue::none, dtype),
                  spec);
}

void TokenTiles::kernel(std::string_view name,
                        std::int64_t tile,
                        const KernelCall& call,
                        Cause cause,
                        const std::vector<const Value*>& reads,
                        const std::vector<const Value*>& writes,
                        const std::vector<TensorId>& others,
                        const std::vector<TensorId>& accumulates) const {
    OpSpec spec = spec_of_tile(name, tile, cause);
    for (const Value* v : reads) {
        add(spec, *v, false);
    }
    for (const Value* v : writes) {
        add(spec, *v, true);
    }
    spec.reads.insert(spec.reads.end(), others.begin(), others.end());
    spec.accumulates = accumulates;
    b_.ops.kernel(call, spec);
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/quantised_moves.h"

#include <algorithm>
#include <bit>

#include "engine/base/check.h"

namespace orrery {
namespace {

// DeepSpeed aims at fewer than 8,000 weights for each scale. Its blocks have whole bytes of codes.
constexpr std::int64_t kWeightsOfScale = kGatheredBlock;
constexpr std::int64_t kWholeBytes = 8;
constexpr int kWeightBits = 8;
constexpr int kGradientBits = 4;

std::int64_t rounded_up(std::int64_t n, std::int64_t to) {
    return (n + to - 1) / to * to;
}

TensorId codes(BlockBuilder& b, std::string_view name, Dtype dtype, std::int64_t bytes) {
    return b.ops.tables().tensor({.name = std::string{name},
                                  .parameter = {},
                                  .dtype = dtype,
                                  .kind = TensorKind::communication,
                                  .lifetime = Lifetime::slot,
                                  .global_shape = {},
                                  .layout = Layout(b.layouts.mesh.digits().size()),
                                  .bytes = Bytes{bytes}});
}

std::int64_t elements_of(const BlockBuilder& b,
                         const ParameterSet& parameters,
                         const Layout& layout) {
    std::int64_t elements = 0;
    for (const Parameter* p : parameters) {
        elements += local_elements({p->elements}, layout, b.layouts.mesh);
    }
    return elements;
}

// The number of ranks that share the sum of a parameter's gradient.
std::int64_t sharing_ranks(const BlockBuilder& b, const Parameter& p) {
    return StateLayouts::parts(state_of(b.layouts, p).gradients, b.layouts.mesh);
}

// The number of scales is the length of the longer side of each matrix, but at least one for each
// rank.
std::int64_t gradients_of_scale(const BlockBuilder& b,
                                const ParameterSet& parameters,
                                std::int64_t elements) {
    std::int64_t scales = 0;
    for (const Parameter* p : parameters) {
        const std::int64_t longer = std::max(b.local_input(*p), b.local_output(*p));
        scales += std::max(longer * b.local_experts(*p), sharing_ranks(b, *p));
    }
    return rounded_up((elements + scales - 1) / scales, 2);
}

// The order of the parts of all ranks of `digits` for a first hop inside `inside`.
PartOrder order_of(const Mesh& mesh, std::uint32_t digits, std::uint32_t inside) {
    if (inside == 0 || inside == digits) {
        return {};
    }
    const std::uint32_t below = digits & ((1u << std::countr_zero(inside)) - 1);
    const std::uint32_t above = digits & ~inside & ~below;
    ORRERY_CHECK(above == 0 || static_cast<int>(std::bit_width(inside)) <= std::countr_zero(above));
    return {.inside = mesh.combined_size(inside), .below = mesh.combined_size(below)};
}

void exchange(BlockBuilder& b, CollectiveKind kind, std::uint32_t digits, Dtype wire, OpSpec spec) {
    const Tensor& sent = b.ops.tables().program().tensors[index(spec.reads[0])];
    const std::int64_t ranks =
        kind == CollectiveKind::all_gather ? b.layouts.mesh.combined_size(digits) : 1;
    emit(b.ops,
         {.step = {.kind = kind, .digits = digits},
          .to = {},
          .elements = sent.bytes.count() * ranks},
         {.traffic = Traffic::data, .wire = wire},
         std::move(spec));
}

}  // namespace

QuantisedVector quantised_shard(std::int64_t elements) {
    const std::int64_t scales = (elements + kWeightsOfScale - 1) / kWeightsOfScale;
    return {.parts = 1,
            .elements = elements,
            .block = rounded_up((elements + scales - 1) / scales, kWholeBytes),
            .bits = kWeightBits};
}

void gather_quantised(BlockBuilder& b,
                      const Layout& from,
                      const RelayoutStep& step,
                      const ParameterSet& parameters,
                      const OpSpec& gather) {
    const StateLayouts& state = state_of(b.layouts, *parameters.front());
    QuantisedVector vector = quantised_shard(elements_of(b, parameters, from));
    OpSpec spec = named("weights quantise");
    spec.reads = gather.reads;
    spec.writes = {codes(b, "weights quantised", Dtype::int8, vector.bytes())};
    b.ops.kernel(quantise(vector, {}, state.weight_dtype), spec);
    OpSpec travel = named("weights gather");
    travel.reads = spec.writes;
    vector.parts = b.layouts.mesh.combined_size(step.step.digits);
    travel.writes = {codes(b, "weights gathered", Dtype::int8, vector.bytes())};
    exchange(b, step.step.kind, step.step.digits, Dtype::int8, travel);
    spec = named("weights dequantise");
    spec.reads = travel.writes;
    spec.writes = gather.writes;
    b.ops.kernel(dequantise(vector, 1, state.weight_dtype), spec);
}

bool reduces_quantised(const BlockBuilder& b, const Parameter& p) {
    return b.plan.zero_quantized_gradients && p.shape[kInput] > 1 && p.shape[kOutput] > 1 &&
           (b.plan.zero_quantized_gradients_uneven || p.elements % (2 * sharing_ranks(b, p)) == 0);
}

void reduce_quantised(BlockBuilder& b,
                      const RelayoutStep& step,
                      const ParameterSet& parameters,
                      const OpSpec& reduce) {
    const StateLayouts& state = state_of(b.layouts, *parameters.front());
    const Mesh& mesh = b.layouts.mesh;
    const std::uint32_t all = step.step.digits;
    const std::uint32_t inside = all & state.secondary_digits;
    const PartOrder order = order_of(mesh, all, inside);
    const std::int64_t elements = elements_of(b, parameters, step.to);
    QuantisedVector vector{.parts = mesh.combined_size(all), .elements = elements};
    vector.block = gradients_of_scale(b, parameters, vector.parts * elements);
    vector.bits = kGradientBits;
    std::int64_t terms = 0;
    OpSpec convert = named("gradients quantise");
    convert.reads = reduce.reads;
    for (const std::uint32_t digits : {inside, all & ~inside}) {
        if (digits == 0) {
            continue;
        }
        convert.writes = {codes(b, "gradients quantised", Dtype::uint8, vector.bytes())};
        b.ops.kernel(
            terms == 0 ? quantise(vector, order, state.gradient_dtype) : requantise(vector, terms),
            convert);
        OpSpec travel = named("gradients exchange");
        travel.reads = convert.writes;
        travel.writes = {codes(b, "gradients exchanged", Dtype::uint8, vector.bytes())};
        exchange(b, CollectiveKind::all_to_all, digits, Dtype::uint8, travel);
        terms = mesh.combined_size(digits);
        vector.parts /= terms;
        convert.reads = travel.writes;
    }
    OpSpec sum = named("gradients dequantise");
    sum.reads = convert.reads;
    sum.writes = reduce.writes;
    sum.accumulates = reduce.accumulates;
    b.ops.kernel(dequantise(vector, terms, state.gradient_dtype), sum);
}

}  // namespace orrery

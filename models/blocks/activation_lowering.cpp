// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/activation_lowering.h"

#include <string>
#include <string_view>

#include "kernels/activation/activation.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/residual/residual.h"
#include "models/blocks/operator_chains.h"

namespace orrery {
namespace {

constexpr auto kOfActivation = Cause::memory_bound_kernels;

// Transformer Engine's grouped products with an activation (ops/fused/forward_grouped_mlp.py and
// backward_grouped_mlp.py), in bytes of an element of the activation. fc1 writes it by rows and by
// columns, besides its own result. fc2's dgrad reads fc1's result (4) and writes the gradients of
// both halves by rows and by columns (4) in place of 16 bits of one (2).
constexpr std::int64_t kBytesOfProduct = 2;
constexpr std::int64_t kBytesOfGradientProduct = 6;

constexpr std::int8_t kAll = -1;
constexpr std::int8_t kGate = 0;
constexpr std::int8_t kUp = 1;

// A gated activation as two kernels. The first computes the function of the gate (part 0 of fc1).
// The second multiplies by up (part 1): in place, or the function's value `of_gate` if it is kept.
void gate_forward(BlockBuilder& b,
                  const KernelCall& call,
                  const Value& fc1,
                  const Value& of_gate,
                  const Value& y) {
    const Cause cause = b.recomputing ? Cause::recomputation : kOfActivation;
    const bool in_place = of_gate.empty();
    b.ops.kernel(call,
                 {.name = "activation",
                  .stream = kComputeStream,
                  .cause = cause,
                  .reads = {fc1.tensor},
                  .writes = {in_place ? y.tensor : of_gate.tensor},
                  .accumulates = {},
                  .read_parts = {kGate}});
    OpSpec product{.name = "activation product",
                   .stream = kComputeStream,
                   .cause = cause,
                   .reads = {fc1.tensor},
                   .writes = {},
                   .accumulates = {y.tensor},
                   .read_parts = {kUp}};
    if (!in_place) {
        product.reads = {of_gate.tensor, fc1.tensor};
        product.read_parts = {kAll, kUp};
        std::swap(product.writes, product.accumulates);
    }
    b.ops.kernel(residual_add(call.dims[0], call.dims[1], fc1.dtype), product);
}

// The first kernel computes dy times the function's slope and value, the second multiplies dfc1's
// gate in place by up.
void gate_backward(BlockBuilder& b,
                   const KernelCall& call,
                   const Value& dy,
                   const Value& fc1,
                   const Value& of_gate,
                   const Value& dfc1) {
    std::vector<TensorId> reads{dy.tensor, fc1.tensor};
    std::vector<std::int8_t> parts{kAll, kGate};
    if (!of_gate.empty()) {
        reads.push_back(of_gate.tensor);
        parts.push_back(kAll);
    }
    b.ops.kernel(call,
                 {.name = "activation backward",
                  .stream = kComputeStream,
                  .cause = kOfActivation,
                  .reads = std::move(reads),
                  .writes = {dfc1.tensor},
                  .accumulates = {},
                  .read_parts = std::move(parts)});
    b.ops.kernel(residual_add(call.dims[0], call.dims[1], fc1.dtype),
                 {.name = "activation product backward",
                  .stream = kComputeStream,
                  .cause = kOfActivation,
                  .reads = {fc1.tensor},
                  .writes = {},
                  .accumulates = {dfc1.tensor},
                  .read_parts = {kUp}});
}

// The tensor with the number of rows, if that is data. One kernel then does everything.
std::vector<TensorId> counts_of(const Value* weights) {
    return weights != nullptr && weights->rows.counts ? std::vector{weights->rows.counts->held}
                                                      : std::vector<TensorId>{};
}

// Whether the framework launches the activation's parts one by one.
bool unfused(const BlockBuilder& b, const Value* weights) {
    return !b.plan.fused_activation && !b.plan.compiled && counts_of(weights).empty();
}

// Clamping kernels surround one kernel for the rest.
bool clamps_apart(const BlockBuilder& b, const Value* weights) {
    return b.model.activation_func_clamp_value > 0 && unfused(b, weights);
}

// Whether gate and up are two kernels.
bool gates_apart(const BlockBuilder& b, const Value* weights) {
    return b.model.gated_mlp() && unfused(b, weights) && !clamps_apart(b, weights);
}

void gelu_chain(BlockBuilder& b, const Value& x, bool back) {
    if (!b.plan.eager_activation || b.plan.fused_activation || b.plan.compiled) {
        return;
    }
    const ChainBytes& chain = b.plan.autocast ? kGeluChainInFp32 : kGeluChain;
    b.framework_ops(back ? "activation ops backward" : "activation ops",
                    x,
                    back ? chain.backward : chain.forward);
}

// Each row of y times its weight, in place.
void weigh_rows(BlockBuilder& b, const Value& y, const Value* weights) {
    if (weights != nullptr) {
        b.ops.kernel(transpose(b.local_tokens(y) * b.local_width(y), 1, y.dtype),
                     {.name = "activation weights",
                      .stream = kComputeStream,
                      .cause = b.recomputing ? Cause::recomputation : Cause::memory_bound_kernels,
                      .reads = {y.tensor, weights->tensor},
                      .writes = {y.tensor},
                      .accumulates = {},
                      .launches = 1});
    }
}

void move_beside_product(BlockBuilder& b,
                         std::string_view name,
                         std::int64_t bytes,
                         const std::vector<const Value*>& reads,
                         const std::vector<const Value*>& writes) {
    KernelCall call = transpose(bytes / 2, 1, Dtype::fp8);
    call.bytes = bytes;
    OpSpec spec{.name = std::string{name},
                .stream = kComputeStream,
                .cause = b.recomputing ? Cause::recomputation : kOfActivation,
                .reads = {},
                .writes = {},
                .accumulates = {},
                .launches = 0};
    for (const Value* v : reads) {
        spec.reads.push_back(v->tensor);
    }
    for (const Value* v : writes) {
        spec.writes.push_back(v->tensor);
    }
    b.ops.kernel(call, spec);
}

}  // namespace

void activation_of_product(BlockBuilder& b,
                           const Value& fc1,
                           const Value& weights,
                           const Value& y) {
    const std::int64_t elements = b.local_tokens(y) * b.local_width(y);
    move_beside_product(b, "activation", kBytesOfProduct * elements, {&fc1, &weights}, {&y});
}

void activation_of_product_backward(BlockBuilder& b,
                                    const Value& dy,
                                    const Value& fc1,
                                    const Value& weights,
                                    const Value& dweights,
                                    const Value& dx) {
    const std::int64_t elements = b.local_tokens(dy) * b.local_width(dy);
    move_beside_product(b,
                        "activation backward",
                        kBytesOfGradientProduct * elements,
                        {&dy, &fc1, &weights},
                        {&dx, &dweights});
}

bool keeps_function_of_gate(const BlockBuilder& b, const Value* weights) {
    return b.plan.eager_framework && gates_apart(b, weights);
}

void activation_ops(BlockBuilder& b,
                    const Value& fc1,
                    const Value& of_gate,
                    const Value* weights,
                    const Value& y) {
    const std::int64_t tokens = b.local_tokens(fc1);
    const std::int64_t ffn = b.local_width(y);
    const bool variant =
        b.model.activation == Activation::squared_relu || b.model.activation == Activation::geglu;
    const std::vector<TensorId> counts = counts_of(weights);
    const bool clamps = clamps_apart(b, weights);
    if (clamps) {
        b.framework_ops("activation clamp", fc1, kClampChain.forward, kClampKernels);
    }
    std::vector<const Value*> reads{&fc1};
    if (weights != nullptr) {
        reads.push_back(weights);
    }
    if (gates_apart(b, weights)) {
        gate_forward(b, swiglu_forward(tokens, ffn, fc1.dtype, variant), fc1, of_gate, y);
        weigh_rows(b, y, weights);
        return;
    }
    if (b.model.gated_mlp()) {
        b.kernel("activation",
                 swiglu_forward(tokens, ffn, fc1.dtype, variant),
                 kOfActivation,
                 reads,
                 {&y},
                 counts);
        return;
    }
    if (unfused(b, weights) && !clamps && b.model.add_bias_linear) {
        b.kernel("activation bias",
                 gelu_forward(tokens, ffn, fc1.dtype, variant),
                 kOfActivation,
                 {&fc1},
                 {&y});
    }
    b.kernel("activation",
             gelu_forward(tokens, ffn, fc1.dtype, variant),
             kOfActivation,
             reads,
             {&y},
             counts);
    gelu_chain(b, y, false);
}

void activation_backward_ops(BlockBuilder& b,
                             const Value& dy,
                             const Value& fc1,
                             const Value& of_gate,
                             const Value* weights,
                             const Value* dweights,
                             const Value& dx) {
    std::vector<const Value*> reads{&dy, &fc1};
    std::vector<const Value*> writes{&dx};
    if (weights != nullptr) {
        reads.push_back(weights);
        writes.push_back(dweights);
    }
    const std::int64_t tokens = b.local_tokens(dy);
    const std::int64_t ffn = b.local_width(dy);
    const bool variant =
        b.model.activation == Activation::squared_relu || b.model.activation == Activation::geglu;
    const KernelCall call = b.model.gated_mlp() ? swiglu_backward(tokens, ffn, fc1.dtype, variant)
                                                : gelu_backward(tokens, ffn, fc1.dtype, variant);
    const std::vector<TensorId> counts = counts_of(weights);
    if (gates_apart(b, weights)) {
        gate_backward(b, call, dy, fc1, of_gate, dx);
        if (weights != nullptr) {
            b.kernel("activation weights backward",
                     transpose(tokens, ffn, fc1.dtype),
                     kOfActivation,
                     {&dy, weights},
                     {dweights});
        }
        return;
    }
    b.kernel("activation backward", call, kOfActivation, reads, writes, counts);
    if (!b.model.gated_mlp()) {
        gelu_chain(b, dy, true);
    }
    if (clamps_apart(b, weights)) {
        b.framework_ops("activation clamp backward", dx, kClampChain.backward, kClampKernels);
    }
}

}  // namespace orrery

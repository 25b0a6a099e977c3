// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/norm_lowering.h"

#include "kernels/cast/cast.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/layernorm/layernorm.h"
#include "kernels/residual/residual.h"
#include "kernels/rmsnorm/rmsnorm.h"
#include "models/blocks/operator_chains.h"

namespace orrery {
namespace {

bool eager_norm(const BlockBuilder& b) {
    return b.plan.eager_norm && !b.plan.compiled;
}

bool fused_norm(const BlockBuilder& b) {
    return (b.plan.fused_norm && !eager_norm(b)) || b.plan.compiled;
}

Value norm_copy(BlockBuilder& b, std::string_view name, const Value& x, Lifetime lifetime) {
    Value copy =
        b.value(name, x.shape[kWidth], x.layout, lifetime, Dtype::fp32, TensorKind::activations);
    b.kernel(name,
             cast(b.local_tokens(x) * b.local_width(x), x.dtype, Dtype::fp32),
             Cause::memory_bound_kernels,
             {&x},
             {&copy});
    return copy;
}

const NormWork& norm_work(const BlockBuilder& b) {
    return b.model.normalization == Normalization::layernorm ? kLayerNorm : kRmsNorm;
}

}  // namespace

void add_pending(BlockBuilder& b, ResidualStream& stream, Lifetime lifetime) {
    if (stream.pending.empty()) {
        return;
    }
    Value sum =
        b.value("residual", stream.residual.shape[kWidth], stream.residual.layout, lifetime);
    const std::int64_t tokens = b.local_tokens(sum);
    const std::int64_t hidden = b.local_width(sum);
    std::vector<const Value*> writes{&sum};
    if (!stream.mask.empty()) {
        writes.push_back(&stream.mask);
    }
    std::vector<TensorId> others = stream.biases;
    const std::vector<TensorId> scalars = b.dropout_scalars();
    others.insert(others.end(), scalars.begin(), scalars.end());
    b.kernel("residual",
             b.model.dropout > 0 ? bias_dropout_add(tokens, hidden, sum.dtype)
                                 : residual_add(tokens, hidden, sum.dtype),
             Cause::memory_bound_kernels,
             {&stream.residual, &stream.pending},
             writes,
             others);
    stream = {.residual = std::move(sum), .pending = {}, .mask = {}, .biases = {}};
}

Value norm_forward(BlockBuilder& b,
                   std::string_view name,
                   ResidualStream& stream,
                   const Parameter& weight,
                   NormLifetimes lifetimes,
                   NormActivations& saved) {
    const Lifetime lifetime = lifetimes.saved;
    const bool fused = fused_norm(b) && !stream.pending.empty() && b.model.dropout <= 0;
    if (!fused) {
        add_pending(b, stream, lifetime);
    }
    Value y =
        b.value(name, stream.residual.shape[kWidth], stream.residual.layout, lifetimes.output);
    const std::string text{name};
    Value statistics = b.value(text + " statistics",
                               norm_work(b).vectors,
                               stream.residual.layout,
                               lifetime,
                               Dtype::fp32,
                               TensorKind::activations);
    const KernelCall call =
        norm_forward(norm_work(b), b.local_tokens(y), b.local_width(y), y.dtype, fused);
    if (fused) {
        Value sum =
            b.value("residual", stream.residual.shape[kWidth], stream.residual.layout, lifetime);
        std::vector<TensorId> weights{weight.weight};
        weights.insert(weights.end(), stream.biases.begin(), stream.biases.end());
        b.kernel(name,
                 call,
                 Cause::memory_bound_kernels,
                 {&stream.residual, &stream.pending},
                 {&y, &statistics, &sum},
                 weights);
        stream = {.residual = std::move(sum), .pending = {}, .mask = {}, .biases = {}};
    } else if (eager_norm(b)) {
        saved.copy = norm_copy(b, text + " in fp32", stream.residual, lifetime);
        b.framework_ops(text + " ops", saved.copy, kNormChain.forward);
        saved.unweighted = b.value(text + " without weight", y.shape[kWidth], y.layout, lifetime);
        b.kernel(name,
                 call,
                 Cause::memory_bound_kernels,
                 {&saved.copy},
                 {&saved.unweighted, &statistics});
        b.kernel(text + " weight",
                 transpose(b.local_tokens(y), b.local_width(y), y.dtype),
                 Cause::memory_bound_kernels,
                 {&saved.unweighted},
                 {&y},
                 {weight.weight});
    } else {
        b.kernel(name,
                 call,
                 Cause::memory_bound_kernels,
                 {&stream.residual},
                 {&y, &statistics},
                 {weight.weight});
    }
    if (b.plan.autocast) {
        const ChainBytes& more = fused_norm(b) ? kAutocastFusedNorm : kAutocastNorm;
        b.framework_ops(text + " ops", y, more.forward);
    }
    saved.input = stream.residual;
    saved.statistics = std::move(statistics);
    return y;
}

Value norm_backward(BlockBuilder& b,
                    std::string_view name,
                    const Value& dy,
                    const NormActivations& saved,
                    const Value& dresidual,
                    Parameter& weight) {
    const Value& x = saved.input;
    const std::string text{name};
    weight.gradient_layout = weight_gradient(dy.layout, dy.layout);
    const bool fused = fused_norm(b) && !dresidual.empty();
    Value dx = b.value(name, x.shape[kWidth], x.layout, Lifetime::slot);
    Value gradient;
    std::vector<const Value*> reads{&dy, &x, &saved.statistics};
    if (eager_norm(b)) {
        gradient = norm_copy(b, text + " in fp32", dy, Lifetime::slot);
        b.framework_ops(text + " ops", gradient, kNormChain.backward);
        reads = {&gradient, &saved.copy, &saved.unweighted, &saved.statistics};
    }
    if (fused) {
        reads.push_back(&dresidual);
    }
    b.kernel(name,
             norm_backward(norm_work(b), b.local_tokens(x), b.local_width(x), x.dtype, fused),
             Cause::memory_bound_kernels,
             reads,
             {&dx},
             {weight.weight},
             {weight.gradient});
    if (b.plan.autocast) {
        const ChainBytes& more = fused_norm(b) ? kAutocastFusedNorm : kAutocastNorm;
        b.framework_ops(text + " ops", dx, more.backward);
    }
    if (fused || dresidual.empty()) {
        return dx;
    }
    Value sum = b.value("residual backward", x.shape[kWidth], x.layout, Lifetime::slot);
    b.kernel("residual backward",
             residual_add(b.local_tokens(x), b.local_width(x), x.dtype),
             Cause::memory_bound_kernels,
             {&dx, &dresidual},
             {&sum});
    return sum;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "models/head_lowering.h"

#include "kernels/cross_entropy/cross_entropy.h"
#include "models/layer_nodes.h"

namespace orrery {
namespace {

constexpr auto kOfHead = Cause::memory_bound_kernels;

// A compiler fuses the loss as well (torch.compile of the loss function, XLA).
bool fuses_loss(const ParallelPlan& plan) {
    return plan.fused_cross_entropy || plan.compiled;
}

// The loss of the step, summed over micro-batches.
TensorId mean_loss(BlockBuilder& b) {
    return b.ops.tables().tensor({.name = "loss",
                                  .parameter = {},
                                  .dtype = Dtype::fp32,
                                  .kind = TensorKind::workspace,
                                  .lifetime = Lifetime::step,
                                  .global_shape = {1},
                                  .layout = Layout(b.layouts.mesh.digits().size()),
                                  .bytes = Bytes{size_bytes(Dtype::fp32)}});
}

}  // namespace

Value token_ids(BlockBuilder& b, std::string_view name) {
    Value ids = b.value(
        name, 1, b.layouts.tokens, Lifetime::micro_batch, Dtype::int32, TensorKind::activations);
    b.ops.tables().program().tensors[index(ids.tensor)].input = true;
    return ids;
}

void Head::forward(BlockBuilder& b,
                   ResidualStream& stream,
                   const Parameter& norm,
                   const Parameter& output) {
    norm_ = norm_forward(b,
                         "final norm",
                         stream,
                         norm,
                         {Lifetime::micro_batch, Lifetime::micro_batch},
                         before_norm_);
    const Layout needed = gemm_input(norm_.layout, output.layout);
    const Value gathered = b.relayout("logits gather", norm_, needed);
    logits_ = b.product("logits", gathered, output, Lifetime::micro_batch);
    loss(b);
}

void Head::loss(BlockBuilder& b) {
    const std::int64_t tokens = b.local_tokens(logits_);
    const std::int64_t vocab = b.local_width(logits_);
    const bool fused = fuses_loss(b.plan);
    // Each rank of a sharded vocabulary has a part of a token's statistics (Megatron-LM's
    // vocab_parallel_cross_entropy).
    Layout parts = logits_.layout;
    for (DigitPlacement& p : parts) {
        p = p == sharded(kWidth) ? partial() : p;
    }
    Layout whole = parts;
    for (DigitPlacement& p : whole) {
        p = p == partial() ? replicated() : p;
    }
    const auto statistic = [&](std::string_view name) {
        return b.value(name, 1, parts, Lifetime::micro_batch, Dtype::fp32, TensorKind::activations);
    };
    labels_ = token_ids(b, "labels");
    maximum_ = statistic("loss maximum");
    sum_ = statistic("loss sum");
    target_ = statistic("loss target");
    std::vector<const Value*> written{&maximum_, &sum_, &target_};
    if (!fused) {
        probabilities_ = b.value("loss probabilities",
                                 b.model.vocab_size,
                                 logits_.layout,
                                 Lifetime::micro_batch,
                                 Dtype::fp32,
                                 TensorKind::activations);
        written.push_back(&probabilities_);
    }
    b.kernel("loss",
             cross_entropy_forward(tokens, vocab, logits_.dtype, fused),
             kOfHead,
             {&logits_, &labels_},
             written);
    constexpr Lifetime kept = Lifetime::micro_batch;
    const Value local_maximum = maximum_;
    maximum_ = b.relayout("loss maximum", maximum_, whole, kept, 1, Reduction::max);
    if (maximum_.tensor != local_maximum.tensor) {
        // The parts' sums become relative to the common maximum before they are added.
        b.kernel("loss rescale",
                 cross_entropy_forward(tokens, 1, Dtype::fp32, true),
                 kOfHead,
                 {&local_maximum, &maximum_},
                 {},
                 {},
                 {sum_.tensor});
    }
    target_ = b.relayout("loss target", target_, whole, kept);
    sum_ = b.relayout("loss sum", sum_, whole, kept);
    b.kernel("loss mean",
             cross_entropy_forward(tokens, 1, Dtype::fp32, true),
             kOfHead,
             {&labels_, &maximum_, &sum_, &target_},
             {},
             {b.ops.tables().scalars()},
             {mean_loss(b)});
    for (std::int64_t i = 0; i < b.plan.loss_metrics; ++i) {
        b.kernel("loss metric",
                 loss_metric(tokens, vocab, logits_.dtype),
                 kOfHead,
                 {&logits_, &labels_},
                 {});
    }
}

Value Head::backward(BlockBuilder& b, Parameter& norm, Parameter& output, Deferred* deferred) {
    const std::int64_t tokens = b.local_tokens(logits_);
    const std::int64_t vocab = b.local_width(logits_);
    std::vector<const Value*> reads{&labels_, &maximum_, &sum_, &target_};
    if (!probabilities_.empty()) {
        reads.push_back(&probabilities_);
    }
    b.kernel("loss backward",
             cross_entropy_backward(tokens, vocab, logits_.dtype, fuses_loss(b.plan)),
             kOfHead,
             reads,
             {},
             {b.ops.tables().scalars()},
             {logits_.tensor});
    Parameter no_bias;
    const Value dn = column_backward(b, norm_, {{"logits", &logits_, &output, &no_bias}}, deferred);
    return norm_backward(b, "final norm backward", dn, before_norm_, {}, norm);
}

}  // namespace orrery

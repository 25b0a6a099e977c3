// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/head_lowering.h"

#include <fmt/format.h>

#include "kernels/cast/cast.h"
#include "kernels/cross_entropy/cross_entropy.h"
#include "models/blocks/layer_nodes.h"
#include "models/blocks/tape.h"
#include "models/blocks/token_tiles.h"

namespace orrery {
namespace {

constexpr auto kOfHead = Cause::memory_bound_kernels;

// A compiler may fuse the loss as well (torch.compile of the loss function, XLA).
bool fuses_loss(const ParallelPlan& plan) {
    return plan.fused_cross_entropy || (plan.compiled && plan.compiled_loss);
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

// An additional buffer of the unfused loss (plan.loss_in_place, plan.loss_copies).
Value fp32_like(BlockBuilder& b, std::string_view name, const Value& logits) {
    return b.value(name,
                   logits.shape[kWidth],
                   logits.layout,
                   Lifetime::slot,
                   Dtype::fp32,
                   TensorKind::activations);
}

struct LossTile {
    Value logits;
    std::vector<Value> unfused;  // fp32 buffers of the unfused loss
};

LossTile loss_tile(BlockBuilder& b, const TokenTiles& tiles, const Parameter& output) {
    const std::int64_t vocab = output.shape[kOutput];
    LossTile tile{.logits =
                      tiles.buffer("logits", vocab, b.activation_dtype(), TensorKind::activations)};
    const std::int64_t kept = b.plan.loss_in_place ? 1 : 3;
    const std::int64_t buffers = fuses_loss(b.plan) ? 0 : kept + b.plan.loss_copies;
    for (std::int64_t i = 0; i < buffers; ++i) {
        tile.unfused.push_back(
            tiles.buffer("loss in fp32", vocab, Dtype::fp32, TensorKind::activations));
    }
    return tile;
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
    if (b.plan.loss_tile_tokens > 0) {
        tiled_forward(b, output);
        return;
    }
    logits(b, norm_, output);
    exchange_statistics(b, false);
    mean_of_loss(b);
    measure_again(b);
}

void Head::forward_part(BlockBuilder& b, const Value& norm, const Parameter& output) {
    logits(b, norm, output);
    exchange_statistics(b, true);
}

void Head::logits(BlockBuilder& b, const Value& norm, const Parameter& output) {
    norm_ = norm;
    const Layout needed = gemm_input(norm_.layout, output.layout);
    const Lifetime lifetime = keeps_gathered(b) ? Lifetime::micro_batch : Lifetime::slot;
    gathered_ = b.relayout("logits gather", norm_, needed, lifetime);
    logits_ = b.product("logits", gathered_, output, Lifetime::micro_batch);
    local_loss(b);
}

void Head::finish_loss(BlockBuilder& b) {
    rescale(b);
    mean_of_loss(b);
    measure_again(b);
}

void Head::local_loss(BlockBuilder& b) {
    const bool fused = fuses_loss(b.plan);
    // Each rank of a sharded vocabulary has a part of a token's statistics (Megatron-LM's
    // vocab_parallel_cross_entropy).
    Layout parts = logits_.layout;
    for (DigitPlacement& p : parts) {
        p = p == sharded(kWidth) ? partial() : p;
    }
    keep_statistics(b, parts);
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
    const std::vector<Value> kept_before = kept_logits(b);
    const std::vector<Value> copies = fused ? std::vector<Value>{} : copied_logits(b, kept_before);
    std::vector<const Value*> read{&logits_, &labels_};
    for (const Value& copy : copies) {
        read.push_back(&copy);
    }
    Value own;
    if (!fused && !b.plan.loss_in_place) {
        own = fp32_like(b, "logits in fp32", logits_);
        written.push_back(&own);
    }
    const KernelCall call = cross_entropy_forward(
        b.local_tokens(logits_), b.local_width(logits_), logits_.dtype, fused);
    b.kernel("loss", call, kOfHead, read, written);
}

// The newest kept logits are those of this micro-batch. Until they exist, those whose place they
// take exist, too, so that the loss has one buffer more than are kept. An unfused loss has it in
// its probabilities.
std::vector<Value> Head::kept_logits(BlockBuilder& b) const {
    std::vector<Value> kept;
    std::vector<TensorId> tensors;
    for (std::int64_t i = 0; i < b.plan.kept_logits; ++i) {
        kept.push_back(b.value(fmt::format("kept logits {}", i + 1),
                               logits_.shape[kWidth],
                               logits_.layout,
                               Lifetime::persistent,
                               fuses_loss(b.plan) ? logits_.dtype : Dtype::fp32,
                               TensorKind::activations));
        tensors.push_back(kept.back().tensor);
    }
    if (!tensors.empty()) {
        hold_until_here(b, "logits kept", std::move(tensors));
    }
    return kept;
}

// Copies of logits that are kept anyway need no memory of their own.
std::vector<Value> Head::copied_logits(BlockBuilder& b, const std::vector<Value>& kept) const {
    const std::int64_t elements = b.local_tokens(logits_) * b.local_width(logits_);
    std::vector<Value> copies;
    for (std::size_t i = 0; i < static_cast<std::size_t>(b.plan.loss_copies); ++i) {
        copies.push_back(i < kept.size()
                             ? kept[i]
                             : fp32_like(b, fmt::format("copy {} of logits", i + 1), logits_));
        b.kernel("loss copy",
                 cast(elements, Dtype::fp32, Dtype::fp32),
                 kOfHead,
                 {&logits_},
                 {&copies.back()});
    }
    return copies;
}

// `at_once`: the parts' sums are added although each is relative to its own maximum. A later kernel
// corrects this (one barrier of Yeung et al. instead of two).
void Head::exchange_statistics(BlockBuilder& b, bool at_once) {
    Layout whole = maximum_.layout;
    for (DigitPlacement& p : whole) {
        p = p == partial() ? replicated() : p;
    }
    constexpr Lifetime kept = Lifetime::micro_batch;
    local_maximum_ = maximum_;
    maximum_ = b.relayout("loss maximum", maximum_, whole, kept, 1, Reduction::max);
    if (!at_once) {
        rescale(b);
    }
    target_ = b.relayout("loss target", target_, whole, kept);
    sum_ = b.relayout("loss sum", sum_, whole, kept);
}

void Head::rescale(BlockBuilder& b) {
    if (maximum_.tensor != local_maximum_.tensor) {
        // The parts' sums are converted to the common maximum before they are added.
        b.kernel("loss rescale",
                 cross_entropy_forward(b.local_tokens(logits_), 1, Dtype::fp32, true),
                 kOfHead,
                 {&local_maximum_, &maximum_},
                 {},
                 {},
                 {sum_.tensor});
    }
}

void Head::measure_again(BlockBuilder& b) {
    for (std::int64_t i = 0; i < b.plan.loss_metrics; ++i) {
        b.kernel("loss metric",
                 loss_metric(b.local_tokens(logits_), b.local_width(logits_), logits_.dtype),
                 kOfHead,
                 {&logits_, &labels_},
                 {});
    }
}

void Head::keep_statistics(BlockBuilder& b, const Layout& parts) {
    const auto statistic = [&](std::string_view name) {
        return b.value(name, 1, parts, Lifetime::micro_batch, Dtype::fp32, TensorKind::activations);
    };
    labels_ = token_ids(b, "labels");
    maximum_ = statistic("loss maximum");
    sum_ = statistic("loss sum");
    target_ = statistic("loss target");
}

void Head::mean_of_loss(BlockBuilder& b) const {
    b.kernel("loss mean",
             cross_entropy_forward(b.local_tokens(labels_), 1, Dtype::fp32, true),
             kOfHead,
             {&labels_, &maximum_, &sum_, &target_},
             {},
             {b.ops.tables().scalars()},
             {mean_loss(b)});
}

void Head::tiled_forward(BlockBuilder& b, const Parameter& output) {
    keep_statistics(b, norm_.layout);
    const TokenTiles tiles{b, norm_, b.plan.loss_tile_tokens};
    const LossTile tile = loss_tile(b, tiles, output);
    const Value maximum = tiles.part_of(maximum_);
    const Value sum = tiles.part_of(sum_);
    const Value target = tiles.part_of(target_);
    const Value labels = tiles.part_of(labels_);
    std::vector<const Value*> written{&maximum, &sum, &target};
    for (const Value& one : tile.unfused) {
        written.push_back(&one);
    }
    const KernelCall call = cross_entropy_forward(b.local_tokens(tile.logits),
                                                  b.local_width(tile.logits),
                                                  tile.logits.dtype,
                                                  fuses_loss(b.plan));
    for (std::int64_t i = 0; i < tiles.count(); ++i) {
        tiles.product("logits", i, tiles.part_of(norm_), output, tile.logits, false);
        tiles.kernel("loss", i, call, kOfHead, {&tile.logits, &labels}, written);
    }
    mean_of_loss(b);
}

Value Head::tiled_backward(BlockBuilder& b, Parameter& output) {
    const TokenTiles tiles{b, norm_, b.plan.loss_tile_tokens};
    const LossTile tile = loss_tile(b, tiles, output);
    const Value maximum = tiles.part_of(maximum_);
    const Value sum = tiles.part_of(sum_);
    const Value target = tiles.part_of(target_);
    const Value labels = tiles.part_of(labels_);
    const std::int64_t tokens = b.local_tokens(tile.logits);
    const std::int64_t vocab = b.local_width(tile.logits);
    const Dtype dtype = tile.logits.dtype;
    const bool fused = fuses_loss(b.plan);
    std::vector<const Value*> written;
    for (const Value& one : tile.unfused) {
        written.push_back(&one);
    }
    const Value dx = b.value("logits dgrad", norm_.shape[kWidth], norm_.layout, Lifetime::slot);
    for (std::int64_t i = 0; i < tiles.count(); ++i) {
        b.recomputing = true;
        tiles.product("logits", i, tiles.part_of(norm_), output, tile.logits, false);
        if (!fused) {
            const KernelCall again = cross_entropy_forward(tokens, vocab, dtype, false);
            tiles.kernel("loss", i, again, kOfHead, {&tile.logits, &labels}, written);
        }
        b.recomputing = false;
        tiles.kernel("loss backward",
                     i,
                     cross_entropy_backward(tokens, vocab, dtype, fused),
                     kOfHead,
                     {&labels, &maximum, &sum, &target},
                     written,
                     {b.ops.tables().scalars()},
                     {tile.logits.tensor});
        tiles.product("logits dgrad", i, tile.logits, output, tiles.part_of(dx), true);
        b.weight_product("logits wgrad", tiles.part_of(norm_), tile.logits, output);
    }
    return dx;
}

Value Head::backward(BlockBuilder& b, Parameter& norm, Parameter& output, Deferred* deferred) {
    if (b.plan.loss_tile_tokens > 0) {
        const Value dx = tiled_backward(b, output);
        return norm_backward(b, "final norm backward", dx, before_norm_, {}, norm);
    }
    const Value dn = backward_of(b, output, deferred);
    return norm_backward(b, "final norm backward", dn, before_norm_, {}, norm);
}

Value Head::backward_of(BlockBuilder& b, Parameter& output, Deferred* deferred) {
    const std::int64_t tokens = b.local_tokens(logits_);
    const std::int64_t vocab = b.local_width(logits_);
    std::vector<const Value*> reads{&labels_, &maximum_, &sum_, &target_};
    if (!probabilities_.empty()) {
        reads.push_back(&probabilities_);
    }
    std::vector<Value> buffers;  // the gradients of log-softmax and of the fp32 logits
    if (!probabilities_.empty() && !b.plan.loss_in_place) {
        buffers = {fp32_like(b, "loss gradient", logits_),
                   fp32_like(b, "logits gradient in fp32", logits_)};
    }
    std::vector<const Value*> written;
    for (const Value& buffer : buffers) {
        written.push_back(&buffer);
    }
    b.kernel("loss backward",
             cross_entropy_backward(tokens, vocab, logits_.dtype, fuses_loss(b.plan)),
             kOfHead,
             reads,
             written,
             {b.ops.tables().scalars()},
             {logits_.tensor});
    Parameter no_bias;
    const Value& kept = keeps_gathered(b) ? gathered_ : norm_;
    return column_backward(b, norm_, kept, {{"logits", &logits_, &output, &no_bias}}, deferred);
}

}  // namespace orrery

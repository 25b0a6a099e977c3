// SPDX-License-Identifier: Apache-2.0
// The CPU kernels together: one layer of a Llama-like transformer (RMSNorm, rotary embedding,
// grouped queries, SwiGLU, tied embedding), forward, backward and AdamW, in fp32.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "kernels/activation/activation_cpu.h"
#include "kernels/attention/attention_cpu.h"
#include "kernels/cross_entropy/cross_entropy_cpu.h"
#include "kernels/embedding/embedding_cpu.h"
#include "kernels/gemm/gemm_cpu.h"
#include "kernels/optimizer/optimizer_cpu.h"
#include "kernels/rmsnorm/rmsnorm_cpu.h"
#include "kernels/rope/rope_cpu.h"
#include "tests/kernels/numeric.h"

namespace orrery::cpu {
namespace cpu_training_test {

using numeric::Tensor;
using Tensors = std::map<std::string, Tensor>;

constexpr AttentionShape kAttention{
    .batch = 2, .seq_q = 10, .seq_kv = 10, .heads = 4, .kv_heads = 2, .head_dim = 6};
constexpr std::int64_t kTokens = kAttention.batch * kAttention.seq_q;
constexpr std::int64_t kHidden = 24;
constexpr std::int64_t kQkv = (4 + 2 * 2) * 6;
constexpr std::int64_t kFfn = 32;
constexpr std::int64_t kVocab = 30;

const std::map<std::string, std::int64_t>& weight_sizes() {
    static const std::map<std::string, std::int64_t> sizes{{"embedding", kVocab * kHidden},
                                                           {"norm1", kHidden},
                                                           {"qkv", kHidden * kQkv},
                                                           {"projection", kHidden * kHidden},
                                                           {"norm2", kHidden},
                                                           {"fc1", kHidden * 2 * kFfn},
                                                           {"fc2", kFfn * kHidden},
                                                           {"norm3", kHidden}};
    return sizes;
}

class Model {
public:
    explicit Model(std::uint64_t seed) : random_(seed) {
        for (const auto& [name, size] : weight_sizes()) {
            const bool norm = name.starts_with("norm");
            weights.emplace(name,
                            random_.tensor(size, Dtype::fp32, norm ? 0.5 : -0.4, norm ? 1.5 : 0.4));
            gradients.emplace(name, Tensor{size, Dtype::fp32});
        }
        tokens_ = random_.ids(kTokens, 0, kVocab - 1);
        targets_ = random_.ids(kTokens, kIgnoredTarget, kVocab - 1);
    }
    double forward();
    void backward();
    void step(std::int64_t number);

    Tensors weights;
    Tensors gradients;

private:
    TensorView weight(const std::string& name) { return weights.at(name).view(); }
    TensorView gradient(const std::string& name) { return gradients.at(name).view(); }
    // An activation, or the gradient of one.
    TensorView value(const std::string& name, std::int64_t width) {
        return values_.try_emplace(name, kTokens * width, Dtype::fp32).first->second.view();
    }
    void product(
        TensorView x, const std::string& name, TensorView y, std::int64_t in, std::int64_t out) {
        gemm({.m = kTokens, .n = out, .k = in}, x, weight(name), y);
    }
    void product_backward(TensorView dy,
                          TensorView x,
                          const std::string& name,
                          TensorView dx,
                          std::int64_t in,
                          std::int64_t out) {
        gemm({.m = kTokens, .n = in, .k = out, .transpose_b = true}, dy, weight(name), dx);
        gemm({.m = in, .n = out, .k = kTokens, .transpose_a = true},
             x,
             dy,
             gradient(name),
             {.accumulate = true});
    }
    void norm(const std::string& name, TensorView x, ConstTensorView residual, TensorView sum) {
        rmsnorm_forward(kNorm,
                        {.x = x,
                         .residual = residual,
                         .weight = weight(name),
                         .sum = sum,
                         .y = value(name, kHidden)});
    }
    void norm_backward(
        const std::string& name, TensorView dy, TensorView x, ConstTensorView dres, TensorView dx) {
        rmsnorm_backward(kNorm,
                         {.dy = dy,
                          .x = x,
                          .weight = weight(name),
                          .dresidual = dres,
                          .dx = dx,
                          .dweight = gradient(name)});
    }
    LossStatistics statistics() { return {value("max", 1), value("sum", 1), value("target", 1)}; }

    static constexpr NormShape kNorm{.tokens = kTokens, .hidden = kHidden};
    static constexpr EmbeddingShape kEmbedding{
        .tokens = kTokens, .hidden = kHidden, .rows = kVocab};
    static constexpr CrossEntropyShape kLoss{.tokens = kTokens, .vocab = kVocab};
    static RopeShape rope() {
        return {.sequence = contiguous_positions(kAttention.seq_q),
                .batch = kAttention.batch,
                .heads = kAttention.heads,
                .kv_heads = kAttention.kv_heads,
                .head_dim = kAttention.head_dim};
    }

    numeric::Draw random_;
    std::vector<std::int32_t> tokens_;
    std::vector<std::int32_t> targets_;
    Tensors values_;
    LossSum loss_;
};

double Model::forward() {
    const TensorView x0 = value("x0", kHidden);
    embedding_forward(kEmbedding, view_of(tokens_), weight("embedding"), x0);
    norm("norm1", x0, {}, {});
    const TensorView qkv = value("qkv", kQkv);
    product(value("norm1", kHidden), "qkv", qkv, kHidden, kQkv);
    rope_forward(rope(), qkv);
    attention_forward(kAttention,
                      whole_sequence(kAttention),
                      {.q = packed_query(kAttention, qkv),
                       .k = packed_key(kAttention, qkv),
                       .v = packed_value(kAttention, qkv),
                       .output = value("context", kHidden),
                       .log_sum_exp = value("lse", kAttention.heads)});
    product(value("context", kHidden), "projection", value("branch", kHidden), kHidden, kHidden);
    norm("norm2", value("branch", kHidden), x0, value("x1", kHidden));
    product(value("norm2", kHidden), "fc1", value("fc1", 2 * kFfn), kHidden, 2 * kFfn);
    swiglu_forward(
        {kTokens, kFfn}, Gated::swiglu, value("fc1", 2 * kFfn), {}, value("activated", kFfn));
    product(value("activated", kFfn), "fc2", value("branch", kHidden), kFfn, kHidden);
    norm("norm3", value("branch", kHidden), value("x1", kHidden), value("x2", kHidden));
    const TensorView logits = value("logits", kVocab);
    gemm({.m = kTokens, .n = kVocab, .k = kHidden, .transpose_b = true},
         value("norm3", kHidden),
         weight("embedding"),
         logits);
    loss_ = cross_entropy_forward(kLoss, logits, view_of(targets_), statistics(), value("loss", 1));
    return loss_.mean();
}

void Model::backward() {
    const TensorView dlogits = value("logits", kVocab);
    const float scale = 1.0f / static_cast<float>(loss_.tokens);
    cross_entropy_backward(kLoss, view_of(targets_), statistics(), scale, dlogits);
    const TensorView d = value("d", kHidden);    // along the residual
    const TensorView dn = value("dn", kHidden);  // of a norm's output
    gemm({.m = kTokens, .n = kHidden, .k = kVocab}, dlogits, weight("embedding"), dn);
    gemm({.m = kVocab, .n = kHidden, .k = kTokens, .transpose_a = true},
         dlogits,
         value("norm3", kHidden),
         gradient("embedding"),
         {.accumulate = true});
    norm_backward("norm3", dn, value("x2", kHidden), {}, d);
    const TensorView dfc1 = value("dfc1", 2 * kFfn);
    product_backward(d, value("activated", kFfn), "fc2", value("dactivated", kFfn), kFfn, kHidden);
    swiglu_backward({kTokens, kFfn},
                    Gated::swiglu,
                    value("dactivated", kFfn),
                    value("fc1", 2 * kFfn),
                    {},
                    dfc1);
    product_backward(dfc1, value("norm2", kHidden), "fc1", dn, kHidden, 2 * kFfn);
    norm_backward("norm2", dn, value("x1", kHidden), d, d);
    const TensorView dcontext = value("dcontext", kHidden);
    product_backward(d, value("context", kHidden), "projection", dcontext, kHidden, kHidden);
    const TensorView qkv = value("qkv", kQkv);
    const TensorView dqkv = value("dqkv", kQkv);
    attention_backward(kAttention,
                       whole_sequence(kAttention),
                       {.q = packed_query(kAttention, qkv),
                        .k = packed_key(kAttention, qkv),
                        .v = packed_value(kAttention, qkv),
                        .output = value("context", kHidden),
                        .log_sum_exp = value("lse", kAttention.heads),
                        .doutput = dcontext,
                        .dq = packed_query(kAttention, dqkv),
                        .dk = packed_key(kAttention, dqkv),
                        .dv = packed_value(kAttention, dqkv)});
    rope_backward(rope(), dqkv);
    product_backward(dqkv, value("norm1", kHidden), "qkv", dn, kHidden, kQkv);
    norm_backward("norm1", dn, value("x0", kHidden), d, d);
    embedding_backward(kEmbedding, view_of(tokens_), d, gradient("embedding"));
}

void Model::step(std::int64_t number) {
    for (const auto& [name, size] : weight_sizes()) {
        const auto state = [&, length = size](const std::string& which) {
            return values_.try_emplace(which, length, Dtype::fp32).first->second.view();
        };
        adamw({.learning_rate = 0.01f, .step = number},
              {.gradient = gradient(name),
               .m = state("m " + name),
               .v = state("v " + name),
               .parameter = weight(name)});
        gradient_scale(gradient(name), 0.0f);
    }
}

// Along a random direction of one weight, the loss changes as the gradient says.
TEST(CpuTraining, GradientsOfAWholeLayerAreTheLossesDerivatives) {
    Model model{1};
    model.forward();
    model.backward();
    numeric::Draw draw{2};
    constexpr double kStep = 0.01;
    for (const auto& [name, size] : weight_sizes()) {
        const Tensor before = model.weights.at(name);
        const Tensor& gradient = model.gradients.at(name);
        const numeric::Doubles g = gradient.doubles();
        const double length = std::sqrt(numeric::inner_product(g, g));
        // Half along the gradient, half anywhere: a change that is well above rounding.
        numeric::Doubles direction = draw.tensor(size, Dtype::fp32).doubles();
        const double drawn = std::sqrt(numeric::inner_product(direction, direction));
        for (std::size_t i = 0; i < direction.size(); ++i) {
            direction[i] = direction[i] / drawn + g[i] / length;
        }
        const auto loss_at = [&](double step) {
            for (std::int64_t i = 0; i < size; ++i) {
                const double moved = before.at(i) + step * direction[static_cast<std::size_t>(i)];
                store(model.weights.at(name).view(), i, static_cast<float>(moved));
            }
            return model.forward();
        };
        const double measured = (loss_at(kStep) - loss_at(-kStep)) / (2 * kStep);
        loss_at(0);
        const double expected = numeric::inner_product(g, direction);
        EXPECT_NEAR(measured / expected, 1.0, 2e-3) << name << " " << expected;
    }
}

TEST(CpuTraining, LearnsItsBatchByHeartAndTwiceWithTheSameBits) {
    Model model{3};
    Model again{3};
    const double first = model.forward();
    double last = first;
    for (std::int64_t step = 1; step <= 60; ++step) {
        last = model.forward();
        model.backward();
        model.step(step);
        EXPECT_EQ(again.forward(), last);
        again.backward();
        again.step(step);
    }
    EXPECT_GT(first, 2.0);
    EXPECT_LT(last, 0.1);
    EXPECT_EQ(model.weights, again.weights);
}

}  // namespace cpu_training_test
}  // namespace orrery::cpu

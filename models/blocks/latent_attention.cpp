// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/latent_attention.h"

#include "kernels/elementwise/elementwise.h"
#include "kernels/rmsnorm/rmsnorm.h"
#include "models/blocks/layer_nodes.h"
#include "models/blocks/operator_chains.h"

namespace orrery {
namespace {

constexpr auto kMovesBytes = Cause::memory_bound_kernels;

// A product with a weight that every tensor-parallel rank holds whole. Each rank computes its part
// of the sequence.
class WholeProductNode : public Node {
public:
    WholeProductNode(std::string_view name, Parameter& weight, Edge& x, Edge& y)
        : name_(name), weight_(weight), x_(x), y_(y) {}

    void forward(ForwardPass& pass) override {
        y_.value = pass.b.product(name_, x_.value, weight_, saved());
    }
    void backward(BackwardPass& pass) override {
        const bool first = x_.gradient.empty();
        x_.gradient = pass.b.gradient_product(
            name_ + " dgrad", y_.gradient, weight_, first ? nullptr : &x_.gradient);
        weight_gradient_op(pass.b, name_ + " wgrad", x_.value, y_.gradient, weight_, pass.deferred);
    }

private:
    std::string name_;
    Parameter& weight_;
    Edge& x_;
    Edge& y_;
};

// A norm outside the residual stream.
class LatentNormNode : public Node {
public:
    LatentNormNode(std::string_view name, Parameter& weight, Edge& x, Edge& y)
        : name_(name), weight_(weight), x_(x), y_(y) {}

    void forward(ForwardPass& pass) override {
        ResidualStream latent{.residual = x_.value, .pending = {}, .mask = {}, .biases = {}};
        y_.value = norm_forward(pass.b, name_, latent, weight_, {saved(), saved()}, before_);
    }
    void backward(BackwardPass& pass) override {
        x_.gradient = norm_backward(pass.b, name_ + " backward", y_.gradient, before_, {}, weight_);
    }

private:
    std::string name_;
    Parameter& weight_;
    Edge& x_;
    Edge& y_;
    NormActivations before_;
};

// Separates the latent vector of keys and values from the shared key, which all tensor-parallel
// ranks need whole.
class LatentSplitNode : public Node {
public:
    LatentSplitNode(Edge& down, Edge& latent, Edge& key)
        : down_(down), latent_(latent), key_(key) {}

    void forward(ForwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const Value& down = down_.value;
        latent_.value = b.value("key value latent", b.model.kv_lora_rank, down.layout, saved());
        const Value key =
            b.value("shared key", b.model.qk_pos_emb_head_dim, down.layout, Lifetime::slot);
        b.kernel("latent split",
                 transpose(b.local_tokens(down), b.local_width(down), down.dtype),
                 kMovesBytes,
                 {&down},
                 {&latent_.value, &key});
        key_.value = b.relayout("shared key gather", key, b.layouts.tokens);
    }
    void backward(BackwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const Value& down = down_.value;
        const Value dkey = b.relayout("shared key gradient reduce", key_.gradient, down.layout);
        down_.gradient =
            b.value("latent split backward", down.shape[kWidth], down.layout, pass.read_later());
        b.kernel("latent split backward",
                 transpose(b.local_tokens(down), b.local_width(down), down.dtype),
                 kMovesBytes,
                 {&latent_.gradient, &dkey},
                 {&down_.gradient});
    }

private:
    Edge& down_;
    Edge& latent_;
    Edge& key_;
};

// The operators of an eager rotary embedding, without the kernel that packs the heads.
void rotate_operators(BlockBuilder& b, std::string_view name, const Value& heads, bool back) {
    if (!b.plan.eager_rope || b.plan.compiled) {
        return;
    }
    const std::int64_t width = b.local_extent(
        b.model.num_attention_heads * b.model.qk_pos_emb_head_dim, kWidth, heads.layout);
    b.framework_ops(
        name,
        heads.tensor,
        b.local_tokens(heads) * width * (back ? kRotaryChain.backward : kRotaryChain.forward),
        back ? kRotaryBackwardKernels : kRotaryKernels);
}

// Packs queries, keys and values in the layout of attention, and rotates the positional parts.
class PackHeadsNode : public Node {
public:
    PackHeadsNode(Edge& query, Edge& key_value, Edge& key, Edge& qkv)
        : query_(query), key_value_(key_value), key_(key), qkv_(qkv) {}

    void forward(ForwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const Transformer& m = b.model;
        const std::vector<std::int64_t> parts{m.query_size(), m.kv_size(), m.value_size()};
        qkv_.value =
            b.value("packed heads", parts[0] + parts[1] + parts[2], query_.value.layout, saved());
        b.set_column_parts(qkv_.value, parts);
        rotate_operators(b, "rotary operators", query_.value, false);
        b.kernel("packed heads",
                 transpose(b.local_tokens(qkv_.value), b.local_width(qkv_.value), qkv_.value.dtype),
                 kMovesBytes,
                 {&query_.value, &key_value_.value, &key_.value},
                 {&qkv_.value});
    }
    void backward(BackwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const Value& dqkv = qkv_.gradient;
        const auto gradient_of = [&](std::string_view name, Edge& edge, const Layout& layout) {
            edge.gradient = b.value(name, edge.value.shape[kWidth], layout, pass.read_later());
        };
        gradient_of("query gradient", query_, query_.value.layout);
        gradient_of("key value gradient", key_value_, key_value_.value.layout);
        // Every head contributes to the gradient of the shared key.
        Layout terms = key_.value.layout;
        for (std::size_t digit = 0; digit < terms.size(); ++digit) {
            terms[digit] = dqkv.layout[digit] == sharded(kWidth) ? partial() : terms[digit];
        }
        gradient_of("shared key gradient", key_, terms);
        b.kernel("packed heads backward",
                 transpose(b.local_tokens(dqkv), b.local_width(dqkv), dqkv.dtype),
                 kMovesBytes,
                 {&dqkv},
                 {&query_.gradient, &key_value_.gradient, &key_.gradient});
        rotate_operators(b, "rotary operators backward", query_.gradient, true);
    }

private:
    Edge& query_;
    Edge& key_value_;
    Edge& key_;
    Edge& qkv_;
};

class HeadNormsNode : public Node {
public:
    HeadNormsNode(Parameter& query, Parameter& key, Edge& qkv, Edge& normed)
        : query_(query), key_(key), qkv_(qkv), normed_(normed) {}

    void forward(ForwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const Value& qkv = qkv_.value;
        normed_.value = b.value("normed heads", qkv.shape[kWidth], qkv.layout, saved());
        b.set_column_parts(normed_.value, qkv.column_parts);
        b.kernel("head norms",
                 norm_forward(kRmsNorm, rows(b, qkv), b.model.kv_channels, qkv.dtype, false),
                 kMovesBytes,
                 {&qkv},
                 {&normed_.value},
                 {query_.weight, key_.weight});
    }
    void backward(BackwardPass& pass) override {
        BlockBuilder& b = pass.b;
        const Value& qkv = qkv_.value;
        Layout ones = qkv.layout;  // each rank has the terms of its own heads
        for (DigitPlacement& p : ones) {
            p = p == replicated() ? p : partial();
        }
        query_.gradient_layout = key_.gradient_layout = ones;
        qkv_.gradient =
            b.value("head norms backward", qkv.shape[kWidth], qkv.layout, pass.read_later());
        b.set_column_parts(qkv_.gradient, qkv.column_parts);
        b.kernel("head norms backward",
                 norm_backward(kRmsNorm, rows(b, qkv), b.model.kv_channels, qkv.dtype, false),
                 kMovesBytes,
                 {&normed_.gradient, &qkv},
                 {&qkv_.gradient},
                 {query_.weight, key_.weight},
                 {query_.gradient, key_.gradient});
    }

private:
    static std::int64_t rows(const BlockBuilder& b, const Value& qkv) {
        const std::int64_t heads = b.model.num_attention_heads + b.model.num_query_groups;
        return b.local_tokens(qkv) * b.local_extent(heads, kWidth, qkv.layout);
    }

    Parameter& query_;
    Parameter& key_;
    Edge& qkv_;
    Edge& normed_;
};

}  // namespace

LatentHeads add_latent_heads(Tape& tape, const Transformer& model, LayerParameters& p, Edge& x) {
    LatentHeads heads;
    Edge* query_input = &x;
    if (model.q_lora_rank > 0) {
        Edge& down = tape.edge();
        Edge& normed = tape.edge();
        tape.add<WholeProductNode>("query down", p.query_down, x, down);
        tape.add<LatentNormNode>("query latent norm", p.query_latent_norm, down, normed);
        query_input = &normed;
    }
    Edge& key_value_down = tape.edge();
    Edge& latent = tape.edge();
    Edge& normed_latent = tape.edge();
    Edge& shared_key = tape.edge();
    Edge& query = tape.edge();
    Edge& key_value = tape.edge();
    Edge& qkv = tape.edge();
    auto& gathered = tape.add<ColumnInputNode>("query up", p.query_up, *query_input);
    auto& query_up =
        tape.add<ColumnProductNode>("query up", gathered, p.query_up, p.qkv_bias, query);
    auto& down = tape.add<WholeProductNode>("key value down", p.key_value_down, x, key_value_down);
    tape.add<LatentSplitNode>(key_value_down, latent, shared_key);
    tape.add<LatentNormNode>(
        "key value latent norm", p.key_value_latent_norm, latent, normed_latent);
    auto& input = tape.add<ColumnInputNode>("key value up", p.key_value_up, normed_latent);
    auto& up =
        tape.add<ColumnProductNode>("key value up", input, p.key_value_up, p.qkv_bias, key_value);
    auto& pack = tape.add<PackHeadsNode>(query, key_value, shared_key, qkv);
    // Backward passes read the packed heads only.
    query_up.set_saved(Lifetime::slot);
    up.set_saved(Lifetime::slot);
    heads.qkv = &qkv;
    heads.makers = {&gathered, &query_up, &input, &up, &pack};
    heads.reader = &down;
    return heads;
}

Edge& add_head_norms(Tape& tape, LayerParameters& p, Edge& qkv) {
    Edge& normed = tape.edge();
    tape.add<HeadNormsNode>(p.query_norm, p.key_norm, qkv, normed);
    return normed;
}

}  // namespace orrery

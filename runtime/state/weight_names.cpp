// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/weight_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <utility>

#include "engine/base/check.h"

namespace orrery {
namespace {

constexpr const char* kWordEmbedding = "embedding.word_embeddings.weight";

bool is_gpt2(const Transformer& m) {
    return m.normalization == Normalization::layernorm &&
           m.position_embedding == PositionEmbedding::learned && m.activation == Activation::gelu &&
           m.add_bias_linear && m.num_query_groups == m.num_attention_heads &&
           m.query_size() == m.hidden_size && m.sliding_window == 0 && !m.parallel_block &&
           m.num_experts == 0;
}

// A Llama apart from its MLPs.
bool is_llama_like(const Transformer& m) {
    return m.normalization == Normalization::rmsnorm &&
           m.position_embedding == PositionEmbedding::rope && m.activation == Activation::swiglu &&
           !m.add_bias_linear && m.sliding_window == 0 && !m.parallel_block;
}

// A Qwen2 is a Llama with biases of queries, keys and values.
bool is_llama_or_qwen2(const Transformer& m) {
    return is_llama_like(m) && m.num_experts == 0;
}

// Experts in every layer, whose weights are the softmax of the chosen logits. Orrery's router gives
// the same weights from a softmax over all logits.
bool is_mixtral(const Transformer& m) {
    return is_llama_like(m) && !m.add_qkv_bias && m.num_experts > 0 &&
           m.first_k_dense_replace == 0 && m.moe_layer_freq == 1 &&
           m.moe_shared_expert_intermediate_size == 0 &&
           m.moe_router_score_function == RouterScoreFunction::softmax &&
           m.moe_router_num_groups == 0 && m.moe_router_bias_update_rate == 0;
}

// Lists the weights of our parameters, one after the other.
class Names {
public:
    // Starts the next of our parameters.
    Names& of(std::string parameter, std::int64_t rows, std::int64_t columns) {
        parameter_ = std::move(parameter);
        rows_ = rows;
        columns_ = columns;
        next_ = 0;
        return take_rows(0, rows);
    }
    // The following calls refer to these rows.
    Names& take_rows(std::int64_t first, std::int64_t count) {
        first_row_ = first;
        num_rows_ = count;
        next_ = 0;
        return *this;
    }
    // Adds its next columns; (out, in) if transposed.
    Names& matrix(std::string name, std::int64_t columns, bool transposed) {
        std::vector<std::int64_t> shape{num_rows_, columns};
        if (transposed) {
            std::swap(shape[0], shape[1]);
        }
        return add(std::move(name), std::move(shape), columns, transposed);
    }
    Names& vector(std::string name, std::int64_t columns) {
        return add(std::move(name), {columns}, columns, false);
    }
    std::vector<NamedWeight> take() { return std::move(all_); }

private:
    Names& add(std::string name,
               std::vector<std::int64_t> shape,
               std::int64_t columns,
               bool transposed) {
        all_.push_back({.name = std::move(name),
                        .shape = std::move(shape),
                        .parameter = parameter_,
                        .rows = rows_,
                        .columns = columns_,
                        .first_row = first_row_,
                        .num_rows = num_rows_,
                        .first_column = next_,
                        .num_columns = columns,
                        .transposed = transposed});
        next_ += columns;
        return *this;
    }

    std::string parameter_;
    std::int64_t rows_ = 0;
    std::int64_t columns_ = 0;
    std::int64_t first_row_ = 0;
    std::int64_t num_rows_ = 0;
    std::int64_t next_ = 0;
    std::vector<NamedWeight> all_;
};

std::vector<NamedWeight> gpt2_weights(const Transformer& m) {
    const std::int64_t h = m.hidden_size;
    const std::int64_t f = m.ffn_hidden_size;
    Names names;
    const auto norm = [&](const std::string& ours, const std::string& theirs) {
        names.of(ours, 1, 2 * h).vector(theirs + ".weight", h).vector(theirs + ".bias", h);
    };
    const auto linear = [&](const std::string& ours,
                            const std::string& theirs,
                            std::int64_t input,
                            std::int64_t output) {
        names.of(ours + ".weight", input, output).matrix(theirs + ".weight", output, false);
        names.of(ours + ".bias", 1, output).vector(theirs + ".bias", output);
    };
    names.of(kWordEmbedding, m.vocab_size, h).matrix("transformer.wte.weight", h, false);
    names.of("embedding.position_embeddings.weight", m.seq_length, h)
        .matrix("transformer.wpe.weight", h, false);
    for (std::int64_t i = 0; i < m.num_layers; ++i) {
        const std::string ours = fmt::format("layers.{}.", i);
        const std::string theirs = fmt::format("transformer.h.{}.", i);
        norm(ours + "input_layernorm", theirs + "ln_1");
        linear(ours + "self_attention.linear_qkv", theirs + "attn.c_attn", h, 3 * h);
        linear(ours + "self_attention.linear_proj", theirs + "attn.c_proj", h, h);
        norm(ours + "pre_mlp_layernorm", theirs + "ln_2");
        linear(ours + "mlp.linear_fc1", theirs + "mlp.c_fc", h, f);
        linear(ours + "mlp.linear_fc2", theirs + "mlp.c_proj", f, h);
    }
    norm("final_layernorm", "transformer.ln_f");
    if (!m.tied_embeddings) {
        names.of("output_layer.weight", h, m.vocab_size)
            .matrix("lm_head.weight", m.vocab_size, true);
    }
    return names.take();
}

void add_llama_mlp(Names& names,
                   const Transformer& m,
                   const std::string& ours,
                   const std::string& theirs) {
    const std::int64_t h = m.hidden_size;
    const std::int64_t f = m.ffn_hidden_size;
    names.of(ours + "mlp.linear_fc1.weight", h, 2 * f)
        .matrix(theirs + "mlp.gate_proj.weight", f, true)
        .matrix(theirs + "mlp.up_proj.weight", f, true);
    names.of(ours + "mlp.linear_fc2.weight", f, h).matrix(theirs + "mlp.down_proj.weight", h, true);
}

// w1 is the gate, w3 is up and w2 is down.
void add_mixtral_experts(Names& names,
                         const Transformer& m,
                         const std::string& ours,
                         const std::string& theirs) {
    const std::int64_t h = m.hidden_size;
    const std::int64_t f = m.expert_ffn_size();
    const std::int64_t count = m.num_experts;
    const std::string block = theirs + "block_sparse_moe.";
    names.of(ours + "mlp.router.weight", h, count).matrix(block + "gate.weight", count, true);
    names.of(ours + "mlp.experts.linear_fc1.weight", count * h, 2 * f);
    for (std::int64_t e = 0; e < count; ++e) {
        names.take_rows(e * h, h)
            .matrix(fmt::format("{}experts.{}.w1.weight", block, e), f, true)
            .matrix(fmt::format("{}experts.{}.w3.weight", block, e), f, true);
    }
    names.of(ours + "mlp.experts.linear_fc2.weight", count * f, h);
    for (std::int64_t e = 0; e < count; ++e) {
        names.take_rows(e * f, f).matrix(fmt::format("{}experts.{}.w2.weight", block, e), h, true);
    }
}

std::vector<NamedWeight> llama_weights(const Transformer& m) {
    const std::int64_t h = m.hidden_size;
    Names names;
    names.of(kWordEmbedding, m.vocab_size, h).matrix("model.embed_tokens.weight", h, false);
    for (std::int64_t i = 0; i < m.num_layers; ++i) {
        const std::string ours = fmt::format("layers.{}.", i);
        const std::string theirs = fmt::format("model.layers.{}.", i);
        const std::string attention = theirs + "self_attn.";
        names.of(ours + "input_layernorm", 1, h).vector(theirs + "input_layernorm.weight", h);
        names.of(ours + "self_attention.linear_qkv.weight", h, m.query_size() + 2 * m.kv_size())
            .matrix(attention + "q_proj.weight", m.query_size(), true)
            .matrix(attention + "k_proj.weight", m.kv_size(), true)
            .matrix(attention + "v_proj.weight", m.kv_size(), true);
        if (m.add_qkv_bias) {
            names.of(ours + "self_attention.linear_qkv.bias", 1, m.query_size() + 2 * m.kv_size())
                .vector(attention + "q_proj.bias", m.query_size())
                .vector(attention + "k_proj.bias", m.kv_size())
                .vector(attention + "v_proj.bias", m.kv_size());
        }
        names.of(ours + "self_attention.linear_proj.weight", m.query_size(), h)
            .matrix(attention + "o_proj.weight", h, true);
        names.of(ours + "pre_mlp_layernorm", 1, h)
            .vector(theirs + "post_attention_layernorm.weight", h);
        if (m.num_experts > 0) {
            add_mixtral_experts(names, m, ours, theirs);
        } else {
            add_llama_mlp(names, m, ours, theirs);
        }
    }
    names.of("final_layernorm", 1, h).vector("model.norm.weight", h);
    if (!m.tied_embeddings) {
        names.of("output_layer.weight", h, m.vocab_size)
            .matrix("lm_head.weight", m.vocab_size, true);
    }
    return names.take();
}

// Calls `move(index in theirs, index in ours)` for every element.
template <class Move>
void for_each_element(const NamedWeight& w, Move move) {
    for (std::int64_t row = 0; row < w.num_rows; ++row) {
        for (std::int64_t column = 0; column < w.num_columns; ++column) {
            const std::int64_t theirs =
                w.transposed ? column * w.num_rows + row : row * w.num_columns + column;
            const std::int64_t ours = (w.first_row + row) * w.columns + w.first_column + column;
            move(static_cast<std::size_t>(theirs), static_cast<std::size_t>(ours));
        }
    }
}

// Tensors that other programs store beside the weights: causal masks, rotary frequencies, a tied
// output layer.
bool is_no_weight(std::string_view name, const Transformer& model) {
    return name.ends_with(".attn.bias") || name.ends_with(".attn.masked_bias") ||
           name.ends_with("rotary_emb.inv_freq") ||
           (model.tied_embeddings && name == "lm_head.weight");
}

bool is_float(const StoredTensor& tensor) {
    return tensor.type == "F32" || tensor.type == "BF16" || tensor.type == "F16";
}

const char* torch_dtype(std::string_view type) {
    return type == "BF16" ? "bfloat16" : (type == "F16" ? "float16" : "float32");
}

}  // namespace

Result<std::vector<NamedWeight>> hugging_face_weights(const Transformer& model) {
    if (is_gpt2(model)) {
        return gpt2_weights(model);
    }
    if (is_llama_or_qwen2(model) || is_mixtral(model)) {
        return llama_weights(model);
    }
    if (is_llama_like(model)) {
        return fail(
            "",
            "the model's experts are not a Mixtral's, whose weights have names",
            "experts in every layer, none shared, softmax scores without groups and biases");
    }
    return fail("",
                "the model is no GPT-2, Llama, Qwen2 or Mixtral, whose weights have names",
                "layernorm, learned positions, gelu and biases; or rmsnorm, rope, swiglu and none "
                "but add_qkv_bias");
}

std::vector<float> take(const NamedWeight& weight, std::span<const float> parameter) {
    ORRERY_CHECK(static_cast<std::int64_t>(parameter.size()) == weight.rows * weight.columns);
    std::vector<float> theirs(static_cast<std::size_t>(weight.num_rows * weight.num_columns));
    for_each_element(weight,
                     [&](std::size_t there, std::size_t here) { theirs[there] = parameter[here]; });
    return theirs;
}

void put(const NamedWeight& weight, std::span<const float> theirs, std::span<float> parameter) {
    ORRERY_CHECK(static_cast<std::int64_t>(parameter.size()) == weight.rows * weight.columns);
    ORRERY_CHECK(static_cast<std::int64_t>(theirs.size()) == weight.num_rows * weight.num_columns);
    for_each_element(weight,
                     [&](std::size_t there, std::size_t here) { parameter[here] = theirs[there]; });
}

// Epsilon and rotary base are those of kernels/norm_operands.h and kernels/rope/rope_cpu.h; GELU
// has its tanh form.
std::string hugging_face_config(const Transformer& m, std::string_view type) {
    const char* tied = m.tied_embeddings ? "true" : "false";
    if (is_gpt2(m)) {
        return fmt::format(
            "{{\n  \"architectures\": [\"GPT2LMHeadModel\"],\n  \"model_type\": \"gpt2\",\n"
            "  \"n_layer\": {},\n  \"n_embd\": {},\n  \"n_head\": {},\n  \"n_inner\": {},\n"
            "  \"n_positions\": {},\n  \"vocab_size\": {},\n"
            "  \"activation_function\": \"gelu_new\",\n  \"layer_norm_epsilon\": 1e-05,\n"
            "  \"embd_pdrop\": {},\n  \"attn_pdrop\": {},\n  \"resid_pdrop\": {},\n"
            "  \"tie_word_embeddings\": {},\n  \"torch_dtype\": \"{}\"\n}}\n",
            m.num_layers,
            m.hidden_size,
            m.num_attention_heads,
            m.ffn_hidden_size,
            m.seq_length,
            m.vocab_size,
            m.dropout,
            m.dropout,
            m.dropout,
            tied,
            torch_dtype(type));
    }
    ORRERY_CHECK(is_llama_or_qwen2(m) || is_mixtral(m));
    const bool experts = m.num_experts > 0;
    const bool qwen2 = m.add_qkv_bias;  // its class has these biases and no key for them
    const std::string of_experts =
        experts ? fmt::format(
                      "  \"num_local_experts\": {},\n  \"num_experts_per_tok\": {},\n"
                      "  \"router_aux_loss_coef\": {},\n  \"sliding_window\": null,\n",
                      m.num_experts,
                      m.moe_router_topk,
                      m.moe_aux_loss_coeff)
        : qwen2 ? "  \"use_sliding_window\": false,\n"
                : "  \"attention_bias\": false,\n  \"mlp_bias\": false,\n";
    return fmt::format(
        "{{\n  \"architectures\": [\"{}ForCausalLM\"],\n  \"model_type\": \"{}\",\n"
        "  \"num_hidden_layers\": {},\n  \"hidden_size\": {},\n  \"intermediate_size\": {},\n"
        "  \"num_attention_heads\": {},\n  \"num_key_value_heads\": {},\n  \"head_dim\": {},\n"
        "  \"max_position_embeddings\": {},\n  \"vocab_size\": {},\n  \"hidden_act\": \"silu\",\n"
        "  \"rms_norm_eps\": 1e-05,\n  \"rope_theta\": 10000.0,\n{}"
        "  \"tie_word_embeddings\": {},\n  \"torch_dtype\": \"{}\"\n}}\n",
        experts ? "Mixtral" : (qwen2 ? "Qwen2" : "Llama"),
        experts ? "mixtral" : (qwen2 ? "qwen2" : "llama"),
        m.num_layers,
        m.hidden_size,
        experts ? m.expert_ffn_size() : m.ffn_hidden_size,
        m.num_attention_heads,
        m.num_query_groups,
        m.kv_channels,
        m.seq_length,
        m.vocab_size,
        of_experts,
        tied,
        torch_dtype(type));
}

Result<bool> ImportedWeights::has_experts(const std::filesystem::path& path) {
    const auto file = Safetensors::open(path);
    if (!file) {
        return unexpected<Error>(file.error());
    }
    return std::ranges::any_of(file->tensors(), [](const StoredTensor& tensor) {
        return tensor.name.find(".block_sparse_moe.") != std::string::npos;
    });
}

ResultOrErrors<ImportedWeights> ImportedWeights::open(const std::filesystem::path& path,
                                                      const Transformer& model) {
    Errors errors;
    const auto complain = [&](std::string what, std::string hint = {}) {
        errors.push_back({path.string(), std::move(what), std::move(hint)});
    };
    auto file = Safetensors::open(path);
    auto weights = hugging_face_weights(model);
    if (!file || !weights) {
        errors.push_back(!file ? file.error() : weights.error());
        errors.back().where = path.string();
        return unexpected<Errors>(std::move(errors));
    }
    constexpr std::string_view kPrefix = "transformer.";
    std::vector<Source> sources;
    std::set<std::string> known;
    for (NamedWeight& weight : *weights) {
        std::string name = weight.name;
        if (file->find(name) == nullptr && name.starts_with(kPrefix) &&
            file->find(name.substr(kPrefix.size())) != nullptr) {
            name = name.substr(kPrefix.size());
        }
        const StoredTensor* tensor = file->find(name);
        if (tensor == nullptr) {
            complain(fmt::format("lacks the tensor '{}'", name));
            continue;
        }
        known.insert(name);
        if (tensor->shape != weight.shape) {
            complain(fmt::format("tensor '{}' has the shape [{}] instead of [{}]",
                                 name,
                                 fmt::join(tensor->shape, ", "),
                                 fmt::join(weight.shape, ", ")),
                     "is it of another model than the scenario's?");
        } else if (!is_float(*tensor)) {
            complain(fmt::format("tensor '{}' is of type {}", name, tensor->type),
                     "weights are F32, BF16 or F16");
        }
        sources.push_back({std::move(weight), std::move(name)});
    }
    for (const StoredTensor& tensor : file->tensors()) {
        if (known.count(tensor.name) == 0 && !is_no_weight(tensor.name, model)) {
            complain(fmt::format("has an unexpected tensor '{}'", tensor.name));
        }
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return ImportedWeights{std::move(*file), std::move(sources)};
}

Result<std::vector<float>> ImportedWeights::parameter(std::string_view name) const {
    std::vector<float> whole;
    for (const Source& source : sources_) {
        if (source.weight.parameter != name) {
            continue;
        }
        whole.resize(static_cast<std::size_t>(source.weight.rows * source.weight.columns));
        const auto theirs = file_.floats(*file_.find(source.name));
        if (!theirs) {
            return unexpected<Error>(theirs.error());
        }
        put(source.weight, *theirs, whole);
    }
    return whole;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The loss that an exported file has by the rules of Hugging Face's models (GPT2LMHeadModel,
// LlamaForCausalLM, Qwen2ForCausalLM), computed here in doubles from nothing but the file, is the
// loss that the executor has: names, orders of heads, rotary pairs, gate and up are what the names
// promise.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "runtime/state/safetensors.h"
#include "runtime/state/training_state.h"
#include "tests/runtime/tiny_model.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

using Row = std::vector<double>;
using Rows = std::vector<Row>;

class HuggingFaceModel {
public:
    HuggingFaceModel(const Transformer& model, const std::filesystem::path& path) : m_(model) {
        const auto file = Safetensors::open(path);
        EXPECT_TRUE(file);
        for (const StoredTensor& tensor : file->tensors()) {
            const std::vector<float> values = *file->floats(tensor);
            tensors_[tensor.name] = {values.begin(), values.end()};
        }
    }

    // Sum of the cross-entropy of the labels.
    double loss(const std::vector<std::int32_t>& tokens, const std::vector<std::int32_t>& labels) {
        const bool gpt2 = m_.normalization == Normalization::layernorm;
        const Rows hidden = gpt2 ? gpt2_hidden(tokens) : llama_hidden(tokens);
        const std::string head = m_.tied_embeddings ? "transformer.wte.weight" : "lm_head.weight";
        const Rows logits = linear(hidden, head);
        double sum = 0;
        for (std::size_t t = 0; t < labels.size(); ++t) {
            double total = 0;
            for (const double logit : logits[t]) {
                total += std::exp(logit);
            }
            sum += std::log(total) - logits[t][static_cast<std::size_t>(labels[t])];
        }
        return sum;
    }

private:
    const Row& at(const std::string& name) {
        EXPECT_EQ(tensors_.count(name), 1U) << name;
        return tensors_[name];
    }
    Row row(const std::string& table, std::size_t index) {
        const Row& all = at(table);
        const auto h = static_cast<std::ptrdiff_t>(m_.hidden_size);
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(index) * h;
        return {first, first + h};
    }
    // x W^T, as torch.nn.Linear stores W: (out, in).
    Rows linear(const Rows& x, const std::string& name) {
        const Row& w = at(name);
        const std::size_t in = x.front().size();
        Rows y(x.size(), Row(w.size() / in));
        for (std::size_t t = 0; t < x.size(); ++t) {
            for (std::size_t o = 0; o < y[t].size(); ++o) {
                for (std::size_t i = 0; i < in; ++i) {
                    y[t][o] += x[t][i] * w[o * in + i];
                }
            }
        }
        return y;
    }
    // With a bias if the file has one (Qwen2Attention).
    Rows biased(const Rows& x, const std::string& name) {
        Rows y = linear(x, name + ".weight");
        if (tensors_.contains(name + ".bias")) {
            add(y, Rows(y.size(), at(name + ".bias")));
        }
        return y;
    }
    // x W + b, as Conv1D stores W: (in, out).
    Rows conv1d(const Rows& x, const std::string& name) {
        const Row& w = at(name + ".weight");
        const Row& b = at(name + ".bias");
        Rows y(x.size(), b);
        for (std::size_t t = 0; t < x.size(); ++t) {
            for (std::size_t i = 0; i < x[t].size(); ++i) {
                for (std::size_t o = 0; o < b.size(); ++o) {
                    y[t][o] += x[t][i] * w[i * b.size() + o];
                }
            }
        }
        return y;
    }
    Rows layernorm(Rows x, const std::string& name) {
        for (Row& r : x) {
            const auto n = static_cast<double>(r.size());
            double mean = 0;
            double square = 0;
            for (const double v : r) {
                mean += v / n;
            }
            for (const double v : r) {
                square += (v - mean) * (v - mean) / n;
            }
            for (std::size_t i = 0; i < r.size(); ++i) {
                r[i] = (r[i] - mean) / std::sqrt(square + 1e-5) * at(name + ".weight")[i] +
                       at(name + ".bias")[i];
            }
        }
        return x;
    }
    Rows rmsnorm(Rows x, const std::string& name) {
        for (Row& r : x) {
            double square = 0;
            for (const double v : r) {
                square += v * v / static_cast<double>(r.size());
            }
            for (std::size_t i = 0; i < r.size(); ++i) {
                r[i] *= at(name)[i] / std::sqrt(square + 1e-5);
            }
        }
        return x;
    }
    static void add(Rows& x, const Rows& y) {
        for (std::size_t t = 0; t < x.size(); ++t) {
            for (std::size_t i = 0; i < x[t].size(); ++i) {
                x[t][i] += y[t][i];
            }
        }
    }
    // Rotates each head as transformers' rotate_half does.
    void rotate(Rows& x) const {
        const auto d = static_cast<std::size_t>(m_.kv_channels);
        for (std::size_t t = 0; t < x.size(); ++t) {
            for (std::size_t head = 0; head < x[t].size(); head += d) {
                for (std::size_t i = 0; i < d / 2; ++i) {
                    const double exponent = 2.0 * static_cast<double>(i) / static_cast<double>(d);
                    const double angle = static_cast<double>(t) / std::pow(10000.0, exponent);
                    double& a = x[t][head + i];
                    double& b = x[t][head + i + d / 2];
                    const double rotated = a * std::cos(angle) - b * std::sin(angle);
                    b = b * std::cos(angle) + a * std::sin(angle);
                    a = rotated;
                }
            }
        }
    }
    Rows attention(const Rows& q, const Rows& k, const Rows& v) const {
        const auto d = static_cast<std::size_t>(m_.kv_channels);
        const auto heads = static_cast<std::size_t>(m_.num_attention_heads);
        const std::size_t sharers = heads / static_cast<std::size_t>(m_.num_query_groups);
        Rows y(q.size(), Row(heads * d));
        for (std::size_t h = 0; h < heads; ++h) {
            const std::size_t kv = h / sharers * d;
            for (std::size_t t = 0; t < q.size(); ++t) {
                double total = 0;
                for (std::size_t s = 0; s <= t; ++s) {
                    double score = 0;
                    for (std::size_t i = 0; i < d; ++i) {
                        score += q[t][h * d + i] * k[s][kv + i];
                    }
                    const double weight = std::exp(score / std::sqrt(static_cast<double>(d)));
                    total += weight;
                    for (std::size_t i = 0; i < d; ++i) {
                        y[t][h * d + i] += weight * v[s][kv + i];
                    }
                }
                for (std::size_t i = 0; i < d; ++i) {
                    y[t][h * d + i] /= total;
                }
            }
        }
        return y;
    }

    Rows gpt2_hidden(const std::vector<std::int32_t>& tokens) {
        Rows x;
        for (std::size_t t = 0; t < tokens.size(); ++t) {
            x.push_back(row("transformer.wte.weight", static_cast<std::size_t>(tokens[t])));
            const Row position = row("transformer.wpe.weight", t);
            for (std::size_t i = 0; i < position.size(); ++i) {
                x[t][i] += position[i];
            }
        }
        for (std::int64_t l = 0; l < m_.num_layers; ++l) {
            const std::string name = "transformer.h." + std::to_string(l) + ".";
            const Rows qkv = conv1d(layernorm(x, name + "ln_1"), name + "attn.c_attn");
            Rows parts[3];
            for (const Row& r : qkv) {
                for (std::ptrdiff_t p = 0; p < 3; ++p) {
                    const auto first = r.begin() + p * static_cast<std::ptrdiff_t>(m_.hidden_size);
                    parts[p].emplace_back(first,
                                          first + static_cast<std::ptrdiff_t>(m_.hidden_size));
                }
            }
            add(x, conv1d(attention(parts[0], parts[1], parts[2]), name + "attn.c_proj"));
            Rows f = conv1d(layernorm(x, name + "ln_2"), name + "mlp.c_fc");
            for (Row& r : f) {
                for (double& u : r) {  // gelu_new
                    const double inner = std::sqrt(2 / M_PI) * (u + 0.044715 * u * u * u);
                    u = 0.5 * u * (1 + std::tanh(inner));
                }
            }
            add(x, conv1d(f, name + "mlp.c_proj"));
        }
        return layernorm(x, "transformer.ln_f");
    }
    Rows llama_hidden(const std::vector<std::int32_t>& tokens) {
        Rows x;
        for (const std::int32_t token : tokens) {
            x.push_back(row("model.embed_tokens.weight", static_cast<std::size_t>(token)));
        }
        for (std::int64_t l = 0; l < m_.num_layers; ++l) {
            const std::string name = "model.layers." + std::to_string(l) + ".";
            const Rows normed = rmsnorm(x, name + "input_layernorm.weight");
            Rows q = biased(normed, name + "self_attn.q_proj");
            Rows k = biased(normed, name + "self_attn.k_proj");
            rotate(q);
            rotate(k);
            const Rows v = biased(normed, name + "self_attn.v_proj");
            add(x, linear(attention(q, k, v), name + "self_attn.o_proj.weight"));
            const Rows read = rmsnorm(x, name + "post_attention_layernorm.weight");
            add(x,
                m_.num_experts > 0 ? experts(read, name + "block_sparse_moe.")
                                   : mlp(read,
                                         name + "mlp.gate_proj",
                                         name + "mlp.up_proj",
                                         name + "mlp.down_proj"));
        }
        return rmsnorm(x, "model.norm.weight");
    }
    Rows mlp(const Rows& x,
             const std::string& gate,
             const std::string& up,
             const std::string& down) {
        Rows f = linear(x, gate + ".weight");
        const Rows u = linear(x, up + ".weight");
        for (std::size_t t = 0; t < f.size(); ++t) {
            for (std::size_t i = 0; i < f[t].size(); ++i) {
                f[t][i] *= u[t][i] / (1 + std::exp(-f[t][i]));
            }
        }
        return linear(f, down + ".weight");
    }
    // MixtralSparseMoeBlock: softmax over all experts, the best of it made to add up to 1.
    Rows experts(const Rows& x, const std::string& block) {
        const Rows logits = linear(x, block + "gate.weight");
        Rows y(x.size(), Row(x.front().size()));
        for (std::size_t t = 0; t < x.size(); ++t) {
            std::vector<std::size_t> order(logits[t].size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::ranges::sort(order, [&](auto a, auto b) { return logits[t][a] > logits[t][b]; });
            order.resize(static_cast<std::size_t>(m_.moe_router_topk));
            double total = 0;
            for (const std::size_t e : order) {
                total += std::exp(logits[t][e]);
            }
            for (const std::size_t e : order) {
                const std::string expert = block + "experts." + std::to_string(e) + ".w";
                const Rows out = mlp({x[t]}, expert + "1", expert + "3", expert + "2");
                for (std::size_t i = 0; i < out[0].size(); ++i) {
                    y[t][i] += std::exp(logits[t][e]) / total * out[0][i];
                }
            }
        }
        return y;
    }

    Transformer m_;
    std::map<std::string, Row> tensors_;
};

// The sample `b` of a micro-batch.
std::vector<std::int32_t> sample_of(TensorView tokens, std::int64_t batch, std::int64_t b) {
    std::vector<std::int32_t> sample;
    for (std::int64_t i = b; i < tokens.size; i += batch) {
        sample.push_back(ids(tokens)[static_cast<std::size_t>(i)]);
    }
    return sample;
}

TEST(HuggingFaceLoss, OfAnExportedFileIsTheExecutorsLoss) {
    Transformer mixtral = tiny_llama();
    mixtral.num_experts = 4;
    mixtral.moe_ffn_hidden_size = 12;
    Transformer qwen2 = tiny_llama();
    qwen2.add_qkv_bias = true;
    for (const Transformer& model : {tiny_gpt(), tiny_llama(), mixtral, qwen2}) {
        const TestFolder folder;
        const ParallelPlan plan = tiny_plan().launched_from_cpp();
        TinyRun run{model, plan};
        run.draw_biases();
        ASSERT_TRUE(run.executor().run_forward());
        const RunState state{.model = model, .precision = "fp32"};
        ASSERT_TRUE(save_training(run.executor(), state, folder.path()));
        ASSERT_TRUE(export_weights(folder.path(), folder / "m", "F32"));
        HuggingFaceModel exported{model, folder / "m"};
        double sum = 0;
        for (std::int32_t m = 0; m < plan.num_micro_batches(); ++m) {
            for (std::int64_t b = 0; b < plan.micro_batch_size; ++b) {
                sum += exported.loss(sample_of(run.view("tokens", m), plan.micro_batch_size, b),
                                     sample_of(run.view("labels", m), plan.micro_batch_size, b));
            }
        }
        const auto tokens = static_cast<double>(plan.global_batch_size * model.seq_length);
        EXPECT_NEAR(run.loss(), sum / tokens, 2e-5 * run.loss());
        EXPECT_GT(std::fabs(run.loss() - std::log(32.0)), 0.05);  // weights matter
    }
}

}  // namespace
}  // namespace orrery

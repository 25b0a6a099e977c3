// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/weight_names.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "tests/runtime/tiny_model.h"
#include "tests/test_folder.h"

namespace orrery {
namespace {

std::vector<NamedWeight> weights_of(const Transformer& model) {
    return hugging_face_weights(model).value();
}

const NamedWeight& named(const std::vector<NamedWeight>& weights, const std::string& name) {
    const auto found = std::ranges::find(weights, name, &NamedWeight::name);
    if (found == weights.end()) {
        ADD_FAILURE() << name;
        return weights.front();
    }
    return *found;
}

std::vector<float> counted(std::size_t count) {
    std::vector<float> values(count);
    std::iota(values.begin(), values.end(), 0.0f);
    return values;
}

Transformer untied_gpt() {
    Transformer model = tiny_gpt();
    model.tied_embeddings = false;
    return model;
}

Transformer tiny_qwen2() {
    Transformer model = tiny_llama();
    model.add_qkv_bias = true;
    return model;
}

TEST(HuggingFaceWeights, ShapesAreThoseOfTransformers) {
    const auto gpt = weights_of(untied_gpt());
    using Shape = std::vector<std::int64_t>;
    EXPECT_EQ(named(gpt, "transformer.wte.weight").shape, (Shape{32, 16}));
    EXPECT_EQ(named(gpt, "transformer.wpe.weight").shape, (Shape{8, 16}));
    EXPECT_EQ(named(gpt, "transformer.h.1.attn.c_attn.weight").shape, (Shape{16, 48}));
    EXPECT_EQ(named(gpt, "transformer.h.1.attn.c_attn.bias").shape, (Shape{48}));
    EXPECT_EQ(named(gpt, "transformer.h.0.mlp.c_fc.weight").shape, (Shape{16, 32}));
    EXPECT_EQ(named(gpt, "transformer.h.0.mlp.c_proj.weight").shape, (Shape{32, 16}));
    EXPECT_EQ(named(gpt, "transformer.ln_f.bias").shape, (Shape{16}));
    EXPECT_EQ(named(gpt, "lm_head.weight").shape, (Shape{32, 16}));
    const auto llama = weights_of(tiny_llama());
    EXPECT_EQ(named(llama, "model.layers.1.self_attn.q_proj.weight").shape, (Shape{16, 16}));
    EXPECT_EQ(named(llama, "model.layers.1.self_attn.k_proj.weight").shape, (Shape{8, 16}));
    EXPECT_EQ(named(llama, "model.layers.0.mlp.up_proj.weight").shape, (Shape{32, 16}));
    EXPECT_EQ(named(llama, "model.layers.0.mlp.down_proj.weight").shape, (Shape{16, 32}));
    EXPECT_EQ(named(llama, "model.norm.weight").shape, (Shape{16}));
    EXPECT_EQ(named(llama, "lm_head.weight").shape, (Shape{32, 16}));
}

Transformer tiny_mixtral() {
    Transformer model = tiny_llama();
    model.num_experts = 4;
    model.moe_ffn_hidden_size = 12;
    return model;
}

TEST(HuggingFaceWeights, ExpertsAreThoseOfMixtral) {
    using Shape = std::vector<std::int64_t>;
    const auto weights = weights_of(tiny_mixtral());
    const std::string block = "model.layers.1.block_sparse_moe.";
    EXPECT_EQ(named(weights, block + "gate.weight").shape, (Shape{4, 16}));
    EXPECT_EQ(named(weights, block + "experts.3.w1.weight").shape, (Shape{12, 16}));
    EXPECT_EQ(named(weights, block + "experts.0.w2.weight").shape, (Shape{16, 12}));
    const std::vector<float> fc1 = counted(4 * 16 * 24);
    const auto up = take(named(weights, block + "experts.2.w3.weight"), fc1);
    EXPECT_EQ(up[7 * 16 + 5], fc1[(2 * 16 + 5) * 24 + 12 + 7]);
    const std::vector<float> fc2 = counted(4 * 12 * 16);
    const auto down = take(named(weights, block + "experts.3.w2.weight"), fc2);
    EXPECT_EQ(down[9 * 12 + 4], fc2[(3 * 12 + 4) * 16 + 9]);
    Transformer shared = tiny_mixtral();
    shared.moe_shared_expert_intermediate_size = 8;
    const auto none = hugging_face_weights(shared);
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().what.find("Mixtral"), std::string::npos);
}

TEST(HuggingFaceWeights, Qwen2HasBiasesOfQueriesKeysAndValues) {
    using Shape = std::vector<std::int64_t>;
    const auto weights = weights_of(tiny_qwen2());
    EXPECT_EQ(named(weights, "model.layers.1.self_attn.q_proj.bias").shape, (Shape{16}));
    const auto values = take(named(weights, "model.layers.1.self_attn.v_proj.bias"), counted(32));
    EXPECT_EQ(values.size(), 8u);
    EXPECT_EQ(values[3], 16 + 8 + 3);
    const std::string config = hugging_face_config(tiny_qwen2(), "F32");
    EXPECT_NE(config.find("\"Qwen2ForCausalLM\""), std::string::npos);
    EXPECT_EQ(config.find("attention_bias"), std::string::npos);
    Transformer experts = tiny_mixtral();
    experts.add_qkv_bias = true;
    EXPECT_FALSE(hugging_face_weights(experts));
}

// Element by element, as the two layouts are described.
TEST(HuggingFaceWeights, ElementsComeFromTheirPlaces) {
    const auto llama = weights_of(tiny_llama());
    const std::vector<float> qkv = counted(16 * 32);  // 16 queries, 8 keys, 8 values
    const auto keys = take(named(llama, "model.layers.0.self_attn.k_proj.weight"), qkv);
    EXPECT_EQ(keys[3 * 16 + 5], qkv[5 * 32 + 16 + 3]);  // output 3, input 5
    const std::vector<float> fc1 = counted(16 * 64);
    const auto up = take(named(llama, "model.layers.0.mlp.up_proj.weight"), fc1);
    EXPECT_EQ(up[7 * 16 + 2], fc1[2 * 64 + 32 + 7]);
    const auto gpt = weights_of(tiny_gpt());
    const std::vector<float> norm = counted(32);
    EXPECT_EQ(take(named(gpt, "transformer.h.0.ln_1.bias"), norm)[4], norm[16 + 4]);
    EXPECT_EQ(take(named(gpt, "transformer.h.0.attn.c_attn.weight"), counted(16 * 48)),
              counted(16 * 48));
}

TEST(HuggingFaceWeights, EveryElementIsTakenOnceAndPutBack) {
    for (const Transformer& model : {tiny_gpt(), untied_gpt(), tiny_llama(), tiny_qwen2()}) {
        std::map<std::string, std::vector<float>> rebuilt;
        std::int64_t elements = 0;
        for (const NamedWeight& w : weights_of(model)) {
            const auto size = static_cast<std::size_t>(w.rows * w.columns);
            auto& whole = rebuilt.try_emplace(w.parameter, size, -1.0f).first->second;
            const std::vector<float> theirs = take(w, counted(size));
            EXPECT_EQ(static_cast<std::int64_t>(theirs.size()),
                      std::accumulate(
                          w.shape.begin(), w.shape.end(), std::int64_t{1}, std::multiplies<>{}));
            put(w, theirs, whole);
            elements += static_cast<std::int64_t>(theirs.size());
        }
        for (const auto& [name, whole] : rebuilt) {
            EXPECT_EQ(whole, counted(whole.size())) << name;
        }
        EXPECT_EQ(elements, num_parameters(model));
        TinyRun run{model, tiny_plan()};
        for (const std::string& name : run.parameters()) {
            EXPECT_EQ(rebuilt[name].size(), run.values(name).size()) << name;
        }
    }
}

TEST(HuggingFaceWeights, OtherModelsHaveNoNames) {
    Transformer model = tiny_gpt();
    model.add_bias_linear = false;
    EXPECT_FALSE(hugging_face_weights(model));
}

// A file of a model's weights, each tensor of a value of its own; changed by the test.
struct File {
    explicit File(const Transformer& model) {
        for (const NamedWeight& w : weights_of(model)) {
            add(w.name, w.shape);
        }
    }
    void add(const std::string& name, std::vector<std::int64_t> shape, std::string type = "F32") {
        const std::int64_t elements =
            std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>{});
        tensors.push_back({name, std::move(type), std::move(shape), {}});
        values.emplace_back(static_cast<std::size_t>(elements), static_cast<float>(values.size()));
    }
    TensorToStore& find(const std::string& name) {
        return *std::ranges::find(tensors, name, &TensorToStore::name);
    }
    void write(const std::filesystem::path& path) {
        for (std::size_t i = 0; i < tensors.size(); ++i) {
            tensors[i].bytes = std::as_bytes(std::span{values[i]});
        }
        ASSERT_TRUE(write_safetensors(disk(), path, tensors));
    }
    std::vector<TensorToStore> tensors;
    std::vector<std::vector<float>> values;
};

std::string errors_of(const std::filesystem::path& path, const Transformer& model) {
    const auto imported = ImportedWeights::open(path, model);
    std::string all;
    for (const Error& error : imported ? Errors{} : imported.error()) {
        EXPECT_EQ(error.where, path.string());
        all += error.what + "\n";
    }
    return all;
}

TEST(ImportedWeights, GiveWholeParameters) {
    const TestFolder folder;
    File file{tiny_llama()};
    file.write(folder / "f");
    const auto imported = ImportedWeights::open(folder / "f", tiny_llama());
    ASSERT_TRUE(imported);
    const auto qkv = *imported->parameter("layers.0.self_attention.linear_qkv.weight");
    ASSERT_EQ(qkv.size(), 16U * 32U);
    const float query = qkv[0];
    EXPECT_EQ(qkv[15], query);
    EXPECT_EQ(qkv[16], query + 1);
    EXPECT_EQ(qkv[31], query + 2);
    EXPECT_TRUE(imported->parameter("none")->empty());
}

TEST(ImportedWeights, ThePrefixMayLackAndBuffersArePassedOver) {
    const TestFolder folder;
    File file{tiny_gpt()};
    for (TensorToStore& tensor : file.tensors) {
        tensor.name = tensor.name.substr(std::string{"transformer."}.size());
    }
    file.add("h.0.attn.bias", {1, 1, 8, 8});
    file.add("lm_head.weight", {32, 16});
    file.write(folder / "f");
    EXPECT_EQ(errors_of(folder / "f", tiny_gpt()), "");
}

TEST(ImportedWeights, EveryErrorIsListed) {
    const TestFolder folder;
    File file{tiny_llama()};
    file.find("model.norm.weight").name = "model.norm.scale";
    file.find("lm_head.weight").shape = {16, 32};
    file.find("model.embed_tokens.weight").type = "I32";
    file.write(folder / "f");
    EXPECT_EQ(errors_of(folder / "f", tiny_llama()),
              "tensor 'model.embed_tokens.weight' is of type I32\n"
              "lacks the tensor 'model.norm.weight'\n"
              "tensor 'lm_head.weight' has the shape [16, 32] instead of [32, 16]\n"
              "has an unexpected tensor 'model.norm.scale'\n");
    EXPECT_NE(errors_of(folder / "none", tiny_llama()).find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace orrery

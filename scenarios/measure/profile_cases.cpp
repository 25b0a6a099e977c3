// SPDX-License-Identifier: Apache-2.0
#include "scenarios/measure/profile_cases.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>

namespace orrery {
namespace {

struct Shape {
    bool llama;
    int layers;
    int hidden;
    int heads;
    int groups;  // of keys and values
    int ffn;
    int sequence;
    int micro_batch;
    int vocabulary;
};
constexpr std::array<Shape, 13> kShapes{{
    {false, 2, 64, 2, 2, 256, 32, 2, 128},
    {true, 2, 64, 2, 2, 192, 64, 4, 256},
    {false, 2, 64, 4, 4, 256, 128, 4, 512},
    {false, 2, 128, 2, 2, 512, 256, 1, 1024},
    {true, 2, 128, 4, 2, 384, 128, 2, 256},
    {false, 2, 128, 4, 4, 512, 32, 4, 256},
    {false, 2, 256, 8, 8, 1024, 64, 2, 256},
    {true, 2, 256, 4, 4, 704, 64, 4, 512},
    {false, 1, 256, 4, 4, 1024, 128, 4, 2048},
    {false, 1, 512, 8, 8, 2048, 128, 1, 512},
    {true, 1, 512, 8, 4, 1408, 128, 2, 256},
    {false, 1, 512, 8, 8, 2048, 64, 8, 256},
    {false, 1, 1024, 16, 16, 4096, 64, 2, 256},
}};

constexpr std::array<Shape, 9> kGpuShapes{{
    {false, 2, 1024, 16, 16, 4096, 1024, 4, 32768},
    {true, 2, 1024, 16, 4, 2816, 2048, 2, 32768},
    {false, 2, 2048, 16, 16, 8192, 1024, 2, 50304},
    {true, 2, 2048, 16, 8, 5632, 2048, 1, 32768},
    {false, 2, 768, 12, 12, 3072, 1024, 8, 50304},
    {true, 2, 4096, 32, 8, 14336, 2048, 1, 32768},
    {false, 1, 4096, 32, 32, 16384, 1024, 1, 32768},
    {true, 1, 4096, 32, 8, 11008, 4096, 1, 32768},
    {false, 2, 1600, 25, 25, 6400, 1024, 4, 50304},
}};

// How several ranks share the work. Pipelines want two layers.
struct Split {
    const char* tensor;  // of "all", "half" and "one" of the ranks
    const char* pipeline;
    bool sequence_parallel;
    const char* sharding;
};
constexpr std::array<Split, 6> kSplits{{
    {"one", "one", false, "no_shard"},
    {"all", "one", true, "no_shard"},
    {"one", "two", false, "no_shard"},
    {"one", "one", false, "optim_grads_params"},
    {"all", "one", false, "no_shard"},
    {"one", "one", false, "optim"},
}};

std::string model_text(const Shape& s) {
    std::string text = fmt::format(
        "model:\n  num_layers: {}\n  hidden_size: {}\n  num_attention_heads: {}\n"
        "  num_query_groups: {}\n  ffn_hidden_size: {}\n  seq_length: {}\n  vocab_size: {}\n",
        s.layers,
        s.hidden,
        s.heads,
        s.groups,
        s.ffn,
        s.sequence,
        s.vocabulary);
    if (s.llama) {
        text +=
            "  normalization: rmsnorm\n  position_embedding_type: rope\n  activation: swiglu\n"
            "  add_bias_linear: false\n  untie_embeddings_and_output_weights: true\n";
    }
    return text;
}

// The largest power of two that divides the ranks and both numbers of heads.
std::uint32_t tensor_size(std::uint32_t ranks, const Shape& shape) {
    std::uint32_t size = 1;
    while (ranks % (2 * size) == 0 && shape.groups % static_cast<int>(2 * size) == 0) {
        size *= 2;
    }
    return size;
}

std::string plan_text(const Shape& shape,
                      const Split& split,
                      std::uint32_t ranks,
                      const std::string& precision) {
    const std::uint32_t tensor =
        std::string_view{split.tensor} == "all" ? tensor_size(ranks, shape) : 1;
    const bool pipeline =
        std::string_view{split.pipeline} == "two" && shape.layers > 1 && ranks % 2 == 0;
    const std::uint32_t stages = pipeline ? 2 : 1;
    const std::uint32_t data = ranks / tensor / stages;
    return fmt::format(
        "plan:\n  tensor_model_parallel_size: {}\n  pipeline_model_parallel_size: {}\n"
        "  sequence_parallel: {}\n  data_parallel_sharding_strategy: {}\n"
        "  micro_batch_size: {}\n  global_batch_size: {}\n  precision: {}\n",
        tensor,
        stages,
        split.sequence_parallel && tensor > 1,
        data > 1 ? split.sharding : "no_shard",
        shape.micro_batch,
        2 * static_cast<std::uint32_t>(shape.micro_batch) * data,
        precision);
}

}  // namespace

namespace {

std::vector<ProfileCase> cases_of(std::span<const Shape> shapes,
                                  std::uint32_t ranks,
                                  const std::string& precision,
                                  const std::string& cluster) {
    std::vector<ProfileCase> cases;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const Shape& shape = shapes[i];
        const Split& split = kSplits[i % kSplits.size()];
        ProfileCase one{.name = fmt::format("{}-{}-{}x{}",
                                            shape.llama ? "llama" : "gpt",
                                            precision,
                                            shape.hidden,
                                            shape.sequence * shape.micro_batch),
                        .ranks = ranks,
                        .vocabulary = shape.vocabulary,
                        .scenario = {}};
        one.scenario = fmt::format(
            "name: {}\n{}{}{}"
            "job:\n  steps: 12\n  learning_rate: 1.0e-4\n  log_interval: 100\n  eval_steps: 0\n"
            "  clip_grad: 1.0e-6\n",  // gradients are scaled in every step, as they are early in
                                      // training
            one.name,
            cluster,
            model_text(shape),
            plan_text(shape, split, ranks, precision));
        cases.push_back(std::move(one));
    }
    return cases;
}

}  // namespace

std::vector<ProfileCase> profile_cases(std::uint32_t ranks, const std::string& precision) {
    const std::string cluster =
        fmt::format("cluster:\n  nodes: 1\n  node: {{base: cpu-core, gpus_per_node: {}}}\n", ranks);
    return cases_of(kShapes, ranks, precision, cluster);
}

std::vector<ProfileCase> gpu_profile_cases(std::uint32_t ranks,
                                           const std::string& precision,
                                           const std::string& cluster) {
    return cases_of(kGpuShapes, ranks, precision, cluster);
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/measure/profile_cases.h"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "models/plan/plan_fields.h"
#include "scenarios/format/document/read_field.h"
#include "scenarios/format/specs/plan_key.h"

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

// A way in which ranks share the work. Pipelines need two layers.
struct Split {
    const char* tensor;  // "all", "half" or "one" of the ranks
    const char* pipeline;
    bool sequence_parallel;
    ShardingStrategy sharding;
};
constexpr std::array<Split, 6> kSplits{{
    {"one", "one", false, ShardingStrategy::no_shard},
    {"all", "one", true, ShardingStrategy::no_shard},
    {"one", "two", false, ShardingStrategy::no_shard},
    {"one", "one", false, ShardingStrategy::optim_grads_params},
    {"all", "one", false, ShardingStrategy::no_shard},
    {"one", "one", false, ShardingStrategy::optim},
}};

void put_model(DocumentNode& scenario, const Shape& s) {
    const auto set = [&](const char* key, std::string value) {
        put(scenario, std::string{"model."} + key, scalar_node(std::move(value)));
    };
    set("num_layers", fmt::format("{}", s.layers));
    set("hidden_size", fmt::format("{}", s.hidden));
    set("num_attention_heads", fmt::format("{}", s.heads));
    set("num_query_groups", fmt::format("{}", s.groups));
    set("ffn_hidden_size", fmt::format("{}", s.ffn));
    set("seq_length", fmt::format("{}", s.sequence));
    set("vocab_size", fmt::format("{}", s.vocabulary));
    if (s.llama) {
        set("normalization", "rmsnorm");
        set("position_embedding_type", "rope");
        set("activation", "swiglu");
        set("add_bias_linear", "false");
        set("untie_embeddings_and_output_weights", "true");
    }
}

// The largest power of two that divides the number of ranks and both numbers of heads.
std::uint32_t tensor_size(std::uint32_t ranks, const Shape& shape) {
    std::uint32_t size = 1;
    while (ranks % (2 * size) == 0 && shape.groups % static_cast<int>(2 * size) == 0) {
        size *= 2;
    }
    return size;
}

void put_plan(DocumentNode& scenario,
              const Shape& shape,
              const Split& split,
              std::uint32_t ranks,
              const std::string& precision) {
    const std::uint32_t tensor =
        std::string_view{split.tensor} == "all" ? tensor_size(ranks, shape) : 1;
    const bool pipeline =
        std::string_view{split.pipeline} == "two" && shape.layers > 1 && ranks % 2 == 0;
    const std::uint32_t stages = pipeline ? 2 : 1;
    const std::uint32_t data = ranks / tensor / stages;
    using Plan = ParallelPlan;
    const auto set = [&](const auto& field, const auto& value) {
        put(scenario, plan_key(field), scalar_node(field_text(field, value)));
    };
    const auto set_word = [&](const auto& field, const std::string& word) {
        put(scenario, plan_key(field), scalar_node(word));
    };
    set(plan_field<&Plan::tensor_model_parallel_size>, std::int64_t{tensor});
    set(plan_field<&Plan::pipeline_model_parallel_size>, std::int64_t{stages});
    set(plan_field<&Plan::sequence_parallel>, split.sequence_parallel && tensor > 1);
    set(plan_field<&Plan::data_parallel_sharding_strategy>,
        data > 1 ? split.sharding : ShardingStrategy::no_shard);
    set(plan_field<&Plan::micro_batch_size>, std::int64_t{shape.micro_batch});
    set(plan_field<&Plan::global_batch_size>, std::int64_t{2} * shape.micro_batch * data);
    set_word(plan_field<&Plan::precision>, precision);
}

std::vector<ProfileCase> cases_of(std::span<const Shape> shapes,
                                  std::uint32_t ranks,
                                  const std::string& precision,
                                  const DocumentNode& cluster) {
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
                        .scenario = cluster};
        put(one.scenario, "name", scalar_node(one.name));
        put_model(one.scenario, shape);
        put_plan(one.scenario, shape, split, ranks, precision);
        // Gradients are clipped in every step, as is usual early in training.
        for (const auto& [key, value] : {std::pair{"job.steps", "12"},
                                         {"job.learning_rate", "1.0e-4"},
                                         {"job.log_interval", "100"},
                                         {"job.eval_steps", "0"},
                                         {"job.clip_grad", "1.0e-6"}}) {
            put(one.scenario, key, scalar_node(value));
        }
        cases.push_back(std::move(one));
    }
    return cases;
}

}  // namespace

std::vector<ProfileCase> profile_cases(std::uint32_t ranks, const std::string& precision) {
    DocumentNode cluster;
    put(cluster, "cluster.nodes", scalar_node("1"));
    put(cluster, "cluster.node.base", scalar_node("cpu-core"));
    put(cluster, "cluster.node.gpus_per_node", scalar_node(fmt::format("{}", ranks)));
    return cases_of(kShapes, ranks, precision, cluster);
}

std::vector<ProfileCase> gpu_profile_cases(std::uint32_t ranks,
                                           const std::string& precision,
                                           const DocumentNode& cluster) {
    return cases_of(kGpuShapes, ranks, precision, cluster);
}

}  // namespace orrery

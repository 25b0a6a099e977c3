// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/initialise.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/random.h"
#include "runtime/state/global_indices.h"
#include "runtime/state/held_parameters.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

double deviation(const std::vector<float>& values) {
    double sum = 0;
    for (const float v : values) {
        sum += static_cast<double>(v) * static_cast<double>(v);
    }
    return std::sqrt(sum / static_cast<double>(values.size()));
}

Transformer wider() {
    Transformer model = tiny_gpt();
    model.hidden_size = 64;
    model.ffn_hidden_size = 256;
    model.kv_channels = 32;
    return model;
}

TEST(InitialWeights, AreNormalAndSmallerWhereTheyWriteToTheResidualStream) {
    TinyRun run{wider(), tiny_plan()};
    initialise_weights(run.executor(), {.seed = 3, .num_layers = 2});
    EXPECT_NEAR(deviation(run.values("layers.0.mlp.linear_fc1.weight")), 0.02, 0.0006);
    EXPECT_NEAR(deviation(run.values("layers.1.mlp.linear_fc2.weight")), 0.01, 0.0003);
    EXPECT_NEAR(deviation(run.values("layers.1.self_attention.linear_proj.weight")), 0.01, 0.0006);
    EXPECT_EQ(deviation(run.values("layers.0.mlp.linear_fc1.bias")), 0.0);
    const std::vector<float> norm = run.values("final_layernorm");
    for (std::size_t i = 0; i < norm.size(); ++i) {
        EXPECT_EQ(norm[i], i < 64 ? 1.0f : 0.0f);
    }
}

TEST(InitialWeights, DependOnSeedAndNameAlone) {
    ParallelPlan other = tiny_plan();
    other.micro_batch_size = 1;
    other.recompute_granularity = Recompute::full;
    TinyRun a{tiny_gpt(), tiny_plan()};
    TinyRun b{tiny_gpt(), other};
    TinyRun c{tiny_gpt(), tiny_plan(), 2};
    const std::string name = "layers.0.mlp.linear_fc1.weight";
    EXPECT_EQ(a.values(name), b.values(name));
    EXPECT_NE(a.values(name), c.values(name));
    EXPECT_NE(a.values(name), a.values("layers.1.mlp.linear_fc1.weight"));
}

// A value by the definition, for one element by itself.
float value_of(const Tensor& tensor, std::int64_t index, std::uint64_t seed, std::int64_t layers) {
    const std::string_view name = tensor.parameter;
    if (name.ends_with("layernorm")) {
        return index < 64 ? 1.0f : 0.0f;
    }
    if (name.ends_with(".bias")) {
        return 0.0f;
    }
    const bool residual =
        name.ends_with("linear_proj.weight") || name.ends_with("linear_fc2.weight");
    const double shrink = residual ? std::sqrt(2.0 * static_cast<double>(layers)) : 1.0;
    const RandomKey key{.seed = seed,
                        .purpose = RandomPurpose::initial_weights,
                        .stream = stream_of_parameter(name)};
    return static_cast<float>(0.02 / shrink * static_cast<double>(normal(key, index)));
}

// Says which rank it is, and carries nothing.
class NoMessages final : public Transport {
public:
    NoMessages(std::uint32_t rank, std::uint32_t ranks) : rank_(rank), ranks_(ranks) {}
    std::uint32_t rank() const override { return rank_; }
    std::uint32_t num_ranks() const override { return ranks_; }
    Result<void> exchange(std::span<const Message>) override { return {}; }
    Result<void> post_send(const Message&) override { return {}; }
    Result<void> flush() override { return {}; }

private:
    std::uint32_t rank_;
    std::uint32_t ranks_;
};

const Tensor& parameter_of(const Program& program, const std::string& name) {
    return *std::ranges::find_if(program.tensors, [&](const Tensor& tensor) {
        return tensor.kind == TensorKind::weights && tensor.parameter == name;
    });
}

void expect_drawn_one_by_one(const Program& program, std::uint32_t rank) {
    NoMessages transport{rank, program.num_ranks()};
    auto executor = CpuExecutor::create(program, to_id<RankId>(rank), &transport);
    ASSERT_TRUE(executor) << executor.error().to_string();
    initialise_weights(**executor, {.seed = 9, .num_layers = 2});
    std::int64_t masters = 0;
    for (const HeldParameter& p : held_parameters(**executor)) {
        const Tensor& tensor = parameter_of(program, p.name);
        const GlobalIndices indices{program, to_id<RankId>(rank), tensor};
        for (std::int64_t i = 0; i < p.weight.size; ++i) {
            const float value = value_of(tensor, indices.of(p.held.first + i), 9, 2);
            ASSERT_EQ(load(p.weight, i), float_of_bf16(bf16_of_float(value))) << p.name << " " << i;
        }
        for (std::int64_t i = 0; i < p.master.size; ++i, ++masters) {
            ASSERT_EQ(load(p.master, i), value_of(tensor, indices.of(p.own.first + i), 9, 2))
                << p.name << " " << i;
            ASSERT_EQ(load(p.first_moment, i), 0.0f);
        }
    }
    EXPECT_GT(masters, 1000);
}

// However a parameter is cut, its elements have the values that are drawn one by one.
TEST(InitialWeights, HaveTheBitsOfElementsDrawnOneByOne) {
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::bf16;
    plan.data_parallel_size = 3;
    plan.global_batch_size = 6;
    for (const ShardingStrategy sharding : {ShardingStrategy::no_shard,
                                            ShardingStrategy::optim,
                                            ShardingStrategy::optim_grads_params}) {
        for (const std::int64_t tp : {1, 2}) {
            plan.data_parallel_sharding_strategy = sharding;
            plan.tensor_model_parallel_size = tp;
            const Program program = lower(wider(), plan);
            for (std::uint32_t r = 0; r < program.num_ranks(); ++r) {
                expect_drawn_one_by_one(program, r);
            }
        }
    }
}

TEST(InitialWeights, HaveMastersInFullPrecision) {
    ParallelPlan plan = tiny_plan();
    plan.precision = Dtype::bf16;
    TinyRun wide{tiny_gpt(), tiny_plan()};
    TinyRun narrow{tiny_gpt(), plan};
    const std::vector<float> state = narrow.values("stage 0 optimizer state");
    std::size_t at = state.size() / 3 * 2;
    // The state's tensors come in the order of the optimizer's weights, the embedding first.
    for (const float w : wide.values("embedding.word_embeddings.weight")) {
        EXPECT_EQ(state[at++], w);
    }
}

}  // namespace
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Models that a test can train in milliseconds, and an executor with weights, data and scalars.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "engine/program/device_scalars.h"
#include "models/lowering/lowering.h"
#include "runtime/cpu/cpu_executor.h"
#include "runtime/data/sampling.h"
#include "runtime/data/tokenize.h"
#include "runtime/state/initialise.h"

namespace orrery {

inline Transformer tiny_gpt() {
    return {.name = "tiny",
            .num_layers = 2,
            .hidden_size = 16,
            .ffn_hidden_size = 32,
            .num_attention_heads = 2,
            .num_query_groups = 2,
            .kv_channels = 8,
            .seq_length = 8,
            .vocab_size = 32};
}

inline Transformer tiny_llama() {
    Transformer model = tiny_gpt();
    model.num_query_groups = 1;
    model.normalization = Normalization::rmsnorm;
    model.position_embedding = PositionEmbedding::rope;
    model.activation = Activation::swiglu;
    model.add_bias_linear = false;
    model.tied_embeddings = false;
    return model;
}

inline ParallelPlan tiny_plan() {
    return {.micro_batch_size = 2, .global_batch_size = 4, .precision = Dtype::fp32};
}

// A Program that is ready to run, with the same weights and data for the same model and batch.
class TinyRun {
public:
    TinyRun(const Transformer& model, const ParallelPlan& plan, std::uint64_t seed = 1)
        : program_(std::make_unique<Program>(lower(model, plan))) {
        auto executor = CpuExecutor::create(*program_, RankId{0});
        if (!executor) {
            ADD_FAILURE() << executor.error().to_string();
            return;
        }
        executor_ = std::move(*executor);
        initialise_weights(
            *executor_, {.seed = seed, .num_layers = model.num_layers, .standard_deviation = 0.3});
        load(model, plan, seed);
        set(DeviceScalar::loss_scale,
            1.0 / static_cast<double>(plan.global_batch_size * model.seq_length));
        set(DeviceScalar::step, 1);
    }

    const Program& program() const { return *program_; }
    CpuExecutor& executor() { return *executor_; }

    TensorId find(const std::string& name) const {
        for (std::size_t t = 0; t < program_->tensors.size(); ++t) {
            if (program_->tensors[t].name == name) {
                return to_id<TensorId>(t);
            }
        }
        ADD_FAILURE() << "no tensor " << name;
        return {};
    }
    TensorView view(const std::string& name, std::int32_t micro_batch = -1) {
        return executor_->view(find(name), micro_batch);
    }
    std::vector<float> values(const std::string& name) {
        const TensorView v = view(name);
        std::vector<float> result;
        for (std::int64_t i = 0; i < v.size; ++i) {
            result.push_back(orrery::load(v, i));
        }
        return result;
    }
    void set(DeviceScalar scalar, double value) {
        store(view("device scalars"), static_cast<std::int64_t>(scalar), static_cast<float>(value));
    }
    // Biases are zero at the start of a training: gives them values that matter.
    void draw_biases() {
        for (const std::string& name : parameters()) {
            const TensorView v = view(name);
            for (std::int64_t i = 0; name.ends_with(".bias") && i < v.size; ++i) {
                store(v, i, 0.2f * static_cast<float>(i % 5 - 2));
            }
        }
    }
    double loss() { return static_cast<double>(values("loss")[0]); }
    // Names of the parameters.
    std::vector<std::string> parameters() const {
        std::vector<std::string> names;
        for (const Tensor& t : program_->tensors) {
            if (t.kind == TensorKind::weights) {
                names.push_back(t.name);
            }
        }
        return names;
    }

private:
    void load(const Transformer& model, const ParallelPlan& plan, std::uint64_t seed) {
        std::vector<std::uint16_t> ids;
        for (std::uint32_t i = 0; i < 500; ++i) {
            ids.push_back(static_cast<std::uint16_t>((i * i + 7 * i / 3) % model.vocab_size));
        }
        const Tokens tokens = Tokens::of(ids, model.vocab_size);
        const SampleOrder order{.seed = seed, .seq_length = model.seq_length};
        for (std::int32_t m = 0; m < plan.num_micro_batches(); ++m) {
            const auto batch = draw_batch(tokens,
                                          order,
                                          model.vocab_size,
                                          1,
                                          m * plan.micro_batch_size,
                                          plan.micro_batch_size);
            ASSERT_TRUE(batch);
            write(view("tokens", m), batch->inputs);
            write(view("labels", m), batch->labels);
        }
    }
    static void write(TensorView to, const std::vector<std::int32_t>& ids) {
        ASSERT_EQ(to.size, static_cast<std::int64_t>(ids.size()));
        std::memcpy(to.data, ids.data(), ids.size() * sizeof(std::int32_t));
    }

    std::unique_ptr<Program> program_;
    std::unique_ptr<CpuExecutor> executor_;
};

}  // namespace orrery

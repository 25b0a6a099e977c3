// SPDX-License-Identifier: Apache-2.0
// Trains the same model on the same data for the same steps, on one rank or on several threads that
// are ranks: what a test of layouts compares.
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <numeric>

#include "engine/program/device_scalars.h"
#include "models/lowering/lowering.h"
#include "runtime/cpu/cpu_executor.h"
#include "runtime/data/sampling.h"
#include "runtime/data/tokenize.h"
#include "runtime/state/global_indices.h"
#include "runtime/state/initialise.h"
#include "tests/runtime/communication/local_ranks.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {

inline constexpr std::int64_t kSteps = 3;
inline constexpr float kUnset = 1e30f;

struct Training {
    std::vector<double> losses;                         // by step
    std::vector<double> norms;                          // of gradients, by step
    std::map<std::string, std::vector<float>> weights;  // by parameter, at the end
    bool operator==(const Training&) const = default;
};

inline std::vector<TensorId> tensors_named(const Program& program, std::string_view name) {
    std::vector<TensorId> found;
    for (std::size_t t = 0; t < program.tensors.size(); ++t) {
        if (program.tensors[t].name == name) {
            found.push_back(to_id<TensorId>(t));
        }
    }
    return found;
}

// One rank's side of a training run; the views of tensors that it does not have are empty.
class RankRun {
public:
    RankRun(const Transformer& model,
            const ParallelPlan& plan,
            RankId rank,
            Transport* transport,
            const HostOptions& host = {})
        : RankRun(model, plan, rank, transport, lower(model, plan.launched_from_cpp()), host) {}
    // `program` is what the model and plan lower to, or a variation of it.
    RankRun(const Transformer& model,
            const ParallelPlan& plan,
            RankId rank,
            Transport* transport,
            Program program,
            const HostOptions& host = {})
        : model_(model), plan_(plan), rank_(rank), program_(std::move(program)) {
        auto executor = CpuExecutor::create(program_, rank, transport, host);
        if (!executor) {
            ADD_FAILURE() << executor.error().to_string();
            return;
        }
        executor_ = std::move(*executor);
        initialise_weights(*executor_,
                           {.seed = 3, .num_layers = model.num_layers, .standard_deviation = 0.3});
    }

    void run_kernels_with(CpuExecutor::KernelRunner run) {
        executor_->run_kernels_with(std::move(run));
    }

    void step(std::int64_t number, double clip_norm, std::mutex& lock, Training& result) {
        load_data(number);
        const auto set = [&](DeviceScalar scalar, double value) {
            store(view("device scalars"),
                  static_cast<std::int64_t>(scalar),
                  static_cast<float>(value));
        };
        set(DeviceScalar::loss_scale,
            1.0 / static_cast<double>(plan_.global_batch_size * model_.seq_length));
        set(DeviceScalar::step, static_cast<double>(number));
        set(DeviceScalar::learning_rate, 0.01);
        set(DeviceScalar::beta1, 0.9);
        set(DeviceScalar::beta2, 0.95);
        set(DeviceScalar::epsilon, 1e-6);
        set(DeviceScalar::weight_decay, 0.1);
        set(DeviceScalar::clip_norm, clip_norm);
        set(DeviceScalar::dropout, model_.dropout);
        set(DeviceScalar::balance, model_.moe_aux_loss_coeff);
        set(DeviceScalar::bias_update, model_.moe_router_bias_update_rate);
        const std::int64_t micro_batches = plan_.global_batch_size / plan_.micro_batch_size;
        set(DeviceScalar::first_round,
            std::bit_cast<float>(static_cast<std::uint32_t>((number - 1) * micro_batches)));
        const Result<void> done = executor_->run_step();
        ASSERT_TRUE(done) << done.error().to_string();
        const std::scoped_lock guard{lock};
        const auto s = static_cast<std::size_t>(number - 1);
        result.losses.resize(std::max(result.losses.size(), s + 1));
        result.norms.resize(result.losses.size());
        bool first = true;  // of the tensor-parallel ranks, along both digits of their axis
        for (std::uint32_t axis = 0; axis < program_.mesh_of(rank_).digits().size(); ++axis) {
            first = first && (!program_.mesh_of(rank_).digits()[axis].name.starts_with("tp") ||
                              program_.mesh_of(rank_).coordinate(rank_, axis) == 0);
        }
        if (const TensorView loss = view("loss"); first && !loss.empty()) {
            result.losses[s] += static_cast<double>(load(loss, 0));
        }
        result.norms[s] = static_cast<double>(load(view("gradient norm"), 0));
    }

    void collect(std::mutex& lock, Training& result) {
        ASSERT_TRUE(executor_->gather_parameters());
        const std::scoped_lock guard{lock};
        for (std::size_t t = 0; t < program_.tensors.size(); ++t) {
            const Tensor& tensor = program_.tensors[t];
            const TensorView v = executor_->view(to_id<TensorId>(t));
            const bool bias = tensor.parameter.ends_with("expert_bias");
            if ((tensor.kind != TensorKind::weights && !bias) || tensor.parameter.empty() ||
                v.empty()) {
                continue;
            }
            auto& whole = result.weights[tensor.parameter];
            const std::vector<std::int64_t>& shape = tensor.global_shape;
            const std::int64_t elements =
                std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies{});
            whole.resize(static_cast<std::size_t>(elements), kUnset);
            const GlobalIndices indices{program_, rank_, tensor};
            const ElementRange stored = executor_->shards().stored(to_id<TensorId>(t));
            for (std::int64_t i = 0; i < stored.count; ++i) {
                float& known = whole[static_cast<std::size_t>(indices.of(stored.first + i))];
                const float value = orrery::load(v, i);
                ASSERT_TRUE(known == kUnset || known == value)
                    << tensor.name << " differs between its copies";
                known = value;
            }
        }
    }

private:
    TensorView view(std::string_view name, std::int32_t micro_batch = -1) {
        for (const TensorId id : tensors_named(program_, name)) {
            if (const TensorView v = executor_->view(id, micro_batch); !v.empty()) {
                return v;
            }
        }
        return {};
    }

    void load_data(std::int64_t number) {
        std::vector<std::uint16_t> ids;
        for (std::uint32_t i = 0; i < 500; ++i) {
            ids.push_back(static_cast<std::uint16_t>((i * i + 7 * i / 3) % model_.vocab_size));
        }
        const Tokens tokens = Tokens::of(ids, model_.vocab_size);
        const SampleOrder order{.seed = 5, .seq_length = model_.seq_length};
        const std::int64_t dp = plan_.data_parallel_size;
        const std::int64_t d =
            program_.mesh_of(rank_).combined_coordinate(rank_, program_.mesh_of(rank_).axis("dp"));
        for (std::int32_t m = 0; m < plan_.num_micro_batches(); ++m) {
            const auto batch = draw_batch(tokens,
                                          order,
                                          model_.vocab_size,
                                          number,
                                          (m * dp + d) * plan_.micro_batch_size,
                                          plan_.micro_batch_size);
            ASSERT_TRUE(batch);
            write("tokens", m, batch->inputs);
            write("labels", m, batch->labels);
        }
    }
    // Of whole sequences the positions that the rank holds.
    void write(std::string_view name, std::int32_t m, const std::vector<std::int32_t>& ids) {
        const TensorView to = view(name, m);
        if (to.empty()) {
            return;
        }
        const Tensor& tensor = program_.tensors[index(tensors_named(program_, name).front())];
        const SequencePositions positions = token_positions(program_, rank_, tensor);
        ASSERT_EQ(to.size, positions.length * plan_.micro_batch_size);
        for (std::int64_t i = 0; i < to.size; ++i) {
            const std::int64_t position = positions.of(i / plan_.micro_batch_size);
            const std::int32_t id = ids[static_cast<std::size_t>(position * plan_.micro_batch_size +
                                                                 i % plan_.micro_batch_size)];
            std::memcpy(to.data + i * size_bytes(to.dtype), &id, sizeof(id));
        }
    }

    Transformer model_;
    ParallelPlan plan_;
    RankId rank_;
    Program program_;
    std::unique_ptr<CpuExecutor> executor_;
};

// `kernels` makes what runs the kernels of a rank, where it is not the CPU's.
inline Training train(const Transformer& model,
                      const ParallelPlan& plan,
                      std::int64_t steps = kSteps,
                      const std::function<CpuExecutor::KernelRunner()>& kernels = {},
                      double clip_norm = 0.5,
                      const HostOptions& host = {}) {
    const std::uint32_t ranks = lower(model, plan).num_ranks();
    Training result;
    std::mutex lock;
    const auto run = [&](RankId rank, Transport* transport) {
        RankRun own{model, plan, rank, transport, host};
        if (kernels) {
            own.run_kernels_with(kernels());
        }
        for (std::int64_t s = 1; s <= steps; ++s) {
            own.step(s, clip_norm, lock, result);
        }
        own.collect(lock, result);
    };
    if (ranks == 1) {
        run(RankId{0}, nullptr);
    } else {
        run_as_ranks(ranks, [&](std::unique_ptr<Transport> transport) {
            run(static_cast<RankId>(transport->rank()), transport.get());
        });
    }
    return result;
}

inline void expect_near(const Training& one, const Training& many) {
    for (std::size_t s = 0; s < one.losses.size(); ++s) {
        EXPECT_NEAR(many.losses[s], one.losses[s], 2e-5 * one.losses[s]) << "step " << s;
        EXPECT_NEAR(many.norms[s], one.norms[s], 2e-4 * one.norms[s]) << "step " << s;
    }
    ASSERT_EQ(one.weights.size(), many.weights.size());
    for (const auto& [name, values] : one.weights) {
        const auto found = many.weights.find(name);
        ASSERT_NE(found, many.weights.end()) << name;
        ASSERT_EQ(values.size(), found->second.size()) << name;
        for (std::size_t i = 0; i < values.size(); ++i) {
            // Adam's first steps are of the size of the learning rate whatever the gradient's:
            // where that is nearly zero, rounding decides. Few elements are that small.
            ASSERT_NEAR(values[i], found->second[i], 2e-3) << name << " " << i;
        }
    }
}

inline ParallelPlan plan_of(std::int64_t pp, std::int64_t dp, ShardingStrategy sharding) {
    ParallelPlan plan = tiny_plan();
    plan.micro_batch_size = 1;
    plan.global_batch_size = 8;
    plan.pipeline_model_parallel_size = pp;
    plan.data_parallel_size = dp;
    plan.data_parallel_sharding_strategy = sharding;
    return plan;
}

}  // namespace orrery

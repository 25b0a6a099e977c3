// SPDX-License-Identifier: Apache-2.0
// The same model, data and steps on one rank and on several, in every layout that real mode knows:
// the same losses and the same weights, up to the order of fp32 sums; and the same bits when run
// again.
#include <map>
#include <mutex>

#include "engine/device_scalars.h"
#include "models/lowering.h"
#include "runtime/cpu_executor.h"
#include "runtime/global_indices.h"
#include "runtime/initialise.h"
#include "runtime/sampling.h"
#include "runtime/tokenize.h"
#include "tests/runtime/communication/local_ranks.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {
namespace {

constexpr std::int64_t kSteps = 3;
constexpr float kUnset = 1e30f;

struct Training {
    std::vector<double> losses;                         // by step
    std::vector<double> norms;                          // of gradients, by step
    std::map<std::string, std::vector<float>> weights;  // by parameter, at the end
    bool operator==(const Training&) const = default;
};

std::vector<TensorId> tensors_named(const Program& program, std::string_view name) {
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
    RankRun(const Transformer& model, const ParallelPlan& plan, RankId rank, Transport* transport)
        : model_(model), plan_(plan), rank_(rank), program_(lower(model, plan)) {
        auto executor = CpuExecutor::create(program_, rank, transport);
        if (!executor) {
            ADD_FAILURE() << executor.error().to_string();
            return;
        }
        executor_ = std::move(*executor);
        initialise_weights(*executor_,
                           {.seed = 3, .num_layers = model.num_layers, .standard_deviation = 0.3});
    }

    void step(std::int64_t number, std::mutex& lock, Training& result) {
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
        set(DeviceScalar::clip_norm, 0.5);
        const Result<void> done = executor_->run_step();
        ASSERT_TRUE(done) << done.error().to_string();
        const std::scoped_lock guard{lock};
        const auto s = static_cast<std::size_t>(number - 1);
        result.losses.resize(kSteps);
        result.norms.resize(kSteps);
        const bool first = program_.mesh.coordinate(rank_, program_.mesh.axis("tp")) == 0;
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
            if (tensor.kind != TensorKind::weights || v.empty()) {
                continue;
            }
            auto& whole = result.weights[tensor.parameter];
            whole.resize(static_cast<std::size_t>(tensor.global_shape[0] * tensor.global_shape[1]),
                         kUnset);
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
        const std::int64_t d = program_.mesh.coordinate(rank_, program_.mesh.axis("dp"));
        for (std::int32_t m = 0; m < plan_.num_micro_batches(); ++m) {
            const auto batch = draw_batch(tokens,
                                          order,
                                          model_.vocab_size,
                                          number,
                                          (m * dp + d) * plan_.micro_batch_size,
                                          plan_.micro_batch_size);
            ASSERT_TRUE(batch);
            write(view("tokens", m), batch->inputs);
            write(view("labels", m), batch->labels);
        }
    }
    static void write(TensorView to, const std::vector<std::int32_t>& ids) {
        if (!to.empty()) {
            ASSERT_EQ(to.size, static_cast<std::int64_t>(ids.size()));
            std::memcpy(to.data, ids.data(), ids.size() * sizeof(std::int32_t));
        }
    }

    Transformer model_;
    ParallelPlan plan_;
    RankId rank_;
    Program program_;
    std::unique_ptr<CpuExecutor> executor_;
};

Training train(const Transformer& model, const ParallelPlan& plan) {
    const std::uint32_t ranks = lower(model, plan).num_ranks();
    Training result;
    std::mutex lock;
    const auto run = [&](RankId rank, Transport* transport) {
        RankRun own{model, plan, rank, transport};
        for (std::int64_t s = 1; s <= kSteps; ++s) {
            own.step(s, lock, result);
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

void expect_near(const Training& one, const Training& many) {
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

ParallelPlan plan_of(std::int64_t pp, std::int64_t dp, ShardingStrategy sharding) {
    ParallelPlan plan = tiny_plan();
    plan.micro_batch_size = 1;
    plan.global_batch_size = 8;
    plan.pipeline_model_parallel_size = pp;
    plan.data_parallel_size = dp;
    plan.data_parallel_sharding_strategy = sharding;
    return plan;
}

TEST(ParallelSteps, DataParallelRanksTrainWhatOneRankTrains) {
    const auto check = [](const Transformer& model, std::int64_t dp, ShardingStrategy sharding) {
        SCOPED_TRACE(testing::Message() << "dp " << dp << ", ZeRO " << static_cast<int>(sharding));
        expect_near(train(model, plan_of(1, 1, ShardingStrategy::no_shard)),
                    train(model, plan_of(1, dp, sharding)));
    };
    check(tiny_gpt(), 2, ShardingStrategy::no_shard);
    check(tiny_gpt(), 8, ShardingStrategy::optim);
    check(tiny_llama(), 4, ShardingStrategy::optim_grads);
    check(tiny_gpt(), 4, ShardingStrategy::optim_grads_params);
    check(tiny_llama(), 8, ShardingStrategy::optim_grads_params);
}

TEST(ParallelSteps, PipelinesTrainWhatOneRankTrains) {
    for (Transformer model : {tiny_gpt(), tiny_llama()}) {
        model.num_layers = 4;
        const Training one = train(model, plan_of(1, 1, ShardingStrategy::no_shard));
        for (const std::int64_t pp : {2, 4}) {
            for (const std::int64_t chunks : {1, 2}) {
                if (pp * chunks > model.num_layers) {
                    continue;
                }
                SCOPED_TRACE(testing::Message() << "pp " << pp << " x " << chunks);
                ParallelPlan plan = plan_of(pp, 1, ShardingStrategy::no_shard);
                plan.virtual_pipeline_model_parallel_size = chunks;
                plan.schedule =
                    chunks > 1 ? ScheduleKind::interleaved_1f1b : ScheduleKind::one_f_one_b;
                expect_near(one, train(model, plan));
            }
        }
    }
}

TEST(ParallelSteps, PipelinesOfShardedRanksTrainWhatOneRankTrainsToTheSameBitsEachTime) {
    Transformer model = tiny_gpt();
    model.num_layers = 4;
    const Training one = train(model, plan_of(1, 1, ShardingStrategy::no_shard));
    ParallelPlan plan = plan_of(2, 4, ShardingStrategy::optim);
    plan.overlap_grad_reduce = true;
    plan.overlap_param_gather = true;
    const Training many = train(model, plan);
    expect_near(one, many);
    EXPECT_EQ(many, train(model, plan));
}

TEST(ParallelSteps, TensorParallelRanksTrainWhatOneRankTrains) {
    Transformer two_groups = tiny_llama();
    two_groups.num_query_groups = 2;
    Transformer untied = tiny_gpt();
    untied.tied_embeddings = false;
    Transformer block = tiny_gpt();
    block.parallel_block = true;
    bool sequence_parallel = false;
    for (const Transformer& model : {tiny_gpt(), two_groups, untied, block, tiny_gpt()}) {
        SCOPED_TRACE(testing::Message() << "sequence parallel " << sequence_parallel);
        ParallelPlan plan = plan_of(1, 1, ShardingStrategy::no_shard);
        const Training one = train(model, plan);
        plan.tensor_model_parallel_size = 2;
        plan.sequence_parallel = sequence_parallel;
        expect_near(one, train(model, plan));
        sequence_parallel = !sequence_parallel;
    }
}

TEST(ParallelSteps, EverythingTogetherTrainsWhatOneRankTrains) {
    Transformer model = tiny_gpt();
    model.tied_embeddings = true;
    const Training one = train(model, plan_of(1, 1, ShardingStrategy::no_shard));
    for (const auto recompute : {Recompute::none, Recompute::selective, Recompute::full}) {
        ParallelPlan plan =
            plan_of(2,
                    2,
                    recompute == Recompute::selective ? ShardingStrategy::optim_grads_params
                                                      : ShardingStrategy::optim_grads);
        plan.tensor_model_parallel_size = 2;
        plan.sequence_parallel = true;
        plan.overlap_grad_reduce = true;
        plan.overlap_param_gather = true;
        plan.recompute_granularity = recompute;
        expect_near(one, train(model, plan));
    }
}

}  // namespace
}  // namespace orrery

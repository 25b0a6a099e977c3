// SPDX-License-Identifier: Apache-2.0
// Training of tiny models on the simulated device, one rank a thread.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/trainer.h"
#include "tests/runtime/communication/local_ranks.h"
#include "tests/runtime/cuda/simulated_device.h"
#include "tests/runtime/tiny_model.h"

namespace orrery {

inline Tokens some_text() {
    std::vector<std::uint16_t> ids;
    for (std::uint32_t i = 0; i < 900; ++i) {
        ids.push_back(static_cast<std::uint16_t>((i * i + 7 * i / 3) % 32));
    }
    return Tokens::of(ids, 32);
}

struct TrainedRank {
    std::vector<double> losses;
    std::vector<double> norms;
    std::vector<float> weights;
    double validation = 0;
    bool operator==(const TrainedRank&) const = default;
};

inline constexpr int kSteps = 4;  // every op launched, captured, and replayed twice

// Trains and evaluates as one rank; the weights are what the rank holds.
inline TrainedRank train_rank(const Transformer& model,
                              const ParallelPlan& plan,
                              DeviceChoice device,
                              Transport* transport,
                              std::vector<std::string>* notes = nullptr) {
    const TrainingJob job{
        .device = device, .steps = 50, .seed = 5, .learning_rate = 1e-2, .eval_steps = 1};
    TrainedRank run;
    auto trainer = Trainer::create(model, plan, job, some_text(), transport);
    EXPECT_TRUE(trainer) << trainer.error().to_string();
    for (int s = 0; trainer && s < kSteps; ++s) {
        const Result<StepReport> report = (*trainer)->step();
        EXPECT_TRUE(report) << report.error().to_string();
        if (!report) {
            return run;
        }
        run.losses.push_back(report->loss);
        run.norms.push_back(report->gradient_norm);
    }
    run.validation = *(*trainer)->evaluate();
    const Program& program = (*trainer)->program();
    for (std::size_t t = 0; t < program.tensors.size(); ++t) {
        if (program.tensors[t].kind == TensorKind::weights) {
            const ConstTensorView weight = (*trainer)->executor().read(to_id<TensorId>(t));
            for (std::int64_t i = 0; i < weight.size; ++i) {
                run.weights.push_back(load(weight, i));
            }
        }
    }
    if (notes != nullptr) {
        *notes = (*trainer)->executor().notes();
    }
    return run;
}

struct ParallelCase {
    std::string name;
    ParallelPlan plan;
    Transformer model = tiny_gpt();
};

template <class Add>
void add_sharded_cases(const Add& add) {
    for (const auto strategy : {ShardingStrategy::optim,
                                ShardingStrategy::optim_grads,
                                ShardingStrategy::optim_grads_params}) {
        add("zero " + std::to_string(static_cast<int>(strategy)), [&](ParallelPlan& p) {
            p.data_parallel_size = 3;
            p.global_batch_size = 6;
            p.data_parallel_sharding_strategy = strategy;
            p.overlap_grad_reduce = true;
            p.overlap_param_gather = true;
            p.ddp_bucket_size = 600;
        });
    }
    add("hpz", [](ParallelPlan& p) {
        p.data_parallel_size = 4;
        p.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
        p.zero_hpz_partition_size = 2;
    });
}

// tiny_gpt has two layers, two heads and tied embeddings.
inline std::vector<ParallelCase> parallel_cases() {
    ParallelPlan base = tiny_plan();
    base.micro_batch_size = 1;
    base.global_batch_size = 4;
    std::vector<ParallelCase> cases;
    const auto add = [&](std::string name, const auto& change) {
        cases.push_back({std::move(name), base});
        change(cases.back().plan);
    };
    add("dp", [](ParallelPlan& p) {
        p.data_parallel_size = 2;
        p.overlap_grad_reduce = true;
        p.ddp_bucket_size = 600;
    });
    add_sharded_cases(add);
    add("tp sp", [](ParallelPlan& p) {
        p.tensor_model_parallel_size = 2;
        p.sequence_parallel = true;
    });
    add("tp in pieces", [](ParallelPlan& p) {
        p.tensor_model_parallel_size = 2;
        p.sequence_parallel = true;
        p.tp_comm_overlap = true;
    });
    add("unfused loss", [](ParallelPlan& p) {
        p.tensor_model_parallel_size = 2;
        p.fused_cross_entropy = false;
    });
    add("cp ring", [](ParallelPlan& p) {
        p.context_parallel_size = 2;
        p.context_parallel_comm = ContextParallelComm::ring;
    });
    add("cp ring of four, dp", [](ParallelPlan& p) {
        p.context_parallel_size = 4;
        p.context_parallel_comm = ContextParallelComm::ring;
        p.data_parallel_size = 2;
    });
    add("cp head exchange", [](ParallelPlan& p) {
        p.context_parallel_size = 2;
        p.context_parallel_comm = ContextParallelComm::all_to_all;
    });
    add("pp", [](ParallelPlan& p) { p.pipeline_model_parallel_size = 2; });
    add("tp pp", [](ParallelPlan& p) {
        p.tensor_model_parallel_size = 2;
        p.pipeline_model_parallel_size = 2;
    });
    add("tp pp dp", [](ParallelPlan& p) {
        p.tensor_model_parallel_size = 2;
        p.pipeline_model_parallel_size = 2;
        p.data_parallel_size = 2;
        p.sequence_parallel = true;
        p.overlap_p2p = true;
        p.overlap_grad_reduce = true;
    });
    return cases;
}

// Stages between the first and the last, which are in no communicator of the tied embedding.
inline std::vector<ParallelCase> deep_pipelines() {
    std::vector<ParallelCase> cases;
    for (const std::int64_t stages : {3, 4}) {
        ParallelCase& c = cases.emplace_back();
        c.name = "pp " + std::to_string(stages);
        c.model.num_layers = stages;
        c.plan = tiny_plan();
        c.plan.micro_batch_size = 1;
        c.plan.pipeline_model_parallel_size = stages;
    }
    return cases;
}

inline std::vector<TrainedRank> train_ranks(const ParallelPlan& plan,
                                            DeviceChoice device,
                                            std::uint64_t seed,
                                            const Transformer& model = tiny_gpt()) {
    const auto ranks =
        static_cast<std::uint32_t>(plan.model_parallel_size() * plan.data_parallel_size);
    std::vector<TrainedRank> runs(ranks);
    run_as_ranks(ranks, [&](std::unique_ptr<Transport> transport) {
        simulated::begin_device(seed * 100 + transport->rank());
        const std::uint32_t rank = transport->rank();
        runs[rank] = train_rank(model, plan, device, transport.get());
    });
    return runs;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/assumed_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

namespace orrery {
namespace {

// That an assumed value is another: sources' stacks have their defaults, and mostly they stand.
constexpr double kOtherwise = 0.25;

// The part of the same generation that a source which names none may mean: for China, NVIDIA sells
// the A100 and the H100 with less NVLink as A800 and H800.
constexpr std::array<std::array<std::string_view, 2>, 2> kSiblings{
    {{"a100-80g", "a800-80g"}, {"h100-80g", "h800"}}};

class Alternatives {
public:
    explicit Alternatives(const PublishedCase& row) : row_(row) {}

    void add(const std::string& column);
    std::vector<Alternative> take() { return std::move(found_); }

private:
    ParallelPlan& push(const std::string& column, std::string stated, std::string value) {
        found_.push_back({column, std::move(stated), std::move(value), row_});
        return found_.back().row.plan;
    }
    void flip(const std::string& column, bool ParallelPlan::*field, bool matters) {
        if (matters) {
            const bool now = row_.plan.*field;
            push(column, now ? "true" : "false", now ? "false" : "true").*field = !now;
        }
    }
    void scale(const std::string& column, std::int64_t ParallelPlan::*field) {
        const std::int64_t now = row_.plan.*field;
        push(column, std::to_string(now), std::to_string(2 * now)).*field = 2 * now;
        if (now % 2 == 0) {
            push(column, std::to_string(now), std::to_string(now / 2)).*field = now / 2;
        }
    }
    template <class Enum, std::size_t N>
    void neighbours(const std::string& column,
                    Enum ParallelPlan::*field,
                    const std::array<const char*, N>& names) {
        const auto now = static_cast<std::size_t>(row_.plan.*field);
        for (const std::size_t next : {now - 1, now + 1}) {
            if (next < N) {
                push(column, names[now], names[next]).*field = static_cast<Enum>(next);
            }
        }
    }
    bool add_overlap(const std::string& column);
    void add_gpu(const std::string& column);

    const PublishedCase& row_;
    std::vector<Alternative> found_;
};

bool Alternatives::add_overlap(const std::string& column) {
    const ParallelPlan& p = row_.plan;
    const bool many = row_.num_gpus > p.model_parallel_size();
    const bool shards = p.data_parallel_sharding_strategy != ShardingStrategy::no_shard;
    const bool tensor = p.tensor_model_parallel_size > 1;
    if (column == "overlap_grad_reduce") {
        flip(column, &ParallelPlan::overlap_grad_reduce, many);
    } else if (column == "overlap_param_gather") {
        flip(column, &ParallelPlan::overlap_param_gather, many && shards);
    } else if (column == "tp_comm_overlap") {
        flip(column, &ParallelPlan::tp_comm_overlap, tensor && p.sequence_parallel);
    } else if (column == "overlap_p2p") {
        flip(column, &ParallelPlan::overlap_p2p, p.pipeline_model_parallel_size > 1);
    } else if (column == "sequence_parallel") {
        flip(column, &ParallelPlan::sequence_parallel, tensor);
    } else {
        return false;
    }
    return true;
}

void Alternatives::add_gpu(const std::string& column) {
    for (const auto& [one, other] : kSiblings) {
        if (row_.gpu == one || row_.gpu == other) {
            const std::string_view instead = row_.gpu == one ? other : one;
            push(column, row_.gpu, std::string{instead});
            found_.back().row.gpu = instead;
        }
    }
}

void Alternatives::add(const std::string& column) {
    if (add_overlap(column)) {
        return;
    }
    if (column == "gpu") {
        add_gpu(column);
    } else if (column == "micro_batch_size") {
        scale(column, &ParallelPlan::micro_batch_size);
    } else if (column == "virtual_pipeline_model_parallel_size" &&
               row_.plan.virtual_pipeline_model_parallel_size > 1) {
        scale(column, &ParallelPlan::virtual_pipeline_model_parallel_size);
    } else if (column == "data_parallel_sharding_strategy") {
        static constexpr std::array kNames{"no_shard", "optim", "optim_grads"};
        if (row_.plan.data_parallel_sharding_strategy != ShardingStrategy::optim_grads_params) {
            neighbours(column, &ParallelPlan::data_parallel_sharding_strategy, kNames);
        }
    } else if (column == "recompute_granularity") {
        static constexpr std::array kNames{"none", "selective", "full"};
        neighbours(column, &ParallelPlan::recompute_granularity, kNames);
    } else if (column == "flash_attention") {
        push(column,
             row_.flash_attention ? "true" : "false",
             row_.flash_attention ? "false" : "true");
        found_.back().row.flash_attention = !row_.flash_attention;
    } else if (column == "nic_gbps_per_gpu" && row_.num_gpus > row_.gpus_per_node) {
        for (const double factor : {0.5, 2.0}) {
            push(column,
                 fmt::format("{:g}", row_.nic_gbps_per_gpu),
                 fmt::format("{:g}", factor * row_.nic_gbps_per_gpu));
            found_.back().row.nic_gbps_per_gpu *= factor;
        }
    }
}

}  // namespace

std::vector<Alternative> alternatives(const PublishedCase& row) {
    Alternatives all{row};
    for (const std::string& column : row.assumed) {
        all.add(column);
    }
    return all.take();
}

double assumed_spread(const PublishedCase& row, double predicted_s, const PredictRow& predict) {
    std::map<std::string, double> farthest;  // by column
    for (const Alternative& other : alternatives(row)) {
        if (const std::optional<double> seconds = predict(other.row)) {
            double& far = farthest[other.column];
            far = std::max(far, std::abs(std::log(*seconds / predicted_s)));
        }
    }
    double variance = 0;
    for (const auto& [column, far] : farthest) {
        variance += kOtherwise * far * far;
    }
    return std::sqrt(variance);
}

}  // namespace orrery

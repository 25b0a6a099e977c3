// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/start_up.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "scenarios/studies/campaign/state_times.h"

namespace orrery {
namespace {

std::int64_t ranks_of(const ParallelPlan& plan) {
    return plan.data_parallel_size * plan.model_parallel_size();
}

// Operations of the store for n processes that make `groups` groups of `kinds` kinds.
std::int64_t operations_of(std::int64_t n,
                           std::int64_t groups,
                           std::int64_t kinds,
                           BarrierRule rule) {
    const std::int64_t barriers = rule == BarrierRule::every_group ? groups : kinds;
    return n * (2 + kinds + 2 * barriers);
}

// MegaScale's 2,048 GPUs (tensor 8, pipeline 8, data 32) have 1,120 groups of 6 kinds.
constexpr double kPublishedOperations = 2048.0 * (2 + 6 + 2 * 1120);

WallTime time_of(std::int64_t operations, const StartUpPlan& start_up) {
    const double each = start_up.store_operation ? start_up.store_operation->seconds()
                                                 : store_operation_s(start_up.store);
    return bounded_time(static_cast<double>(operations) * each);
}

struct Published {
    double gpus;
    double all_s;
    double communicators_s;
};
constexpr std::array kColdStarts = {Published{16384, 200, 17},
                                    Published{22528, 300, 30},
                                    Published{65536, 600, 100},
                                    Published{98304, 900, 200}};

}  // namespace

std::vector<GroupKind> group_kinds(const ParallelPlan& plan) {
    const std::int64_t n = ranks_of(plan);
    const std::int64_t replicas = plan.context_parallel_size * plan.data_parallel_size;
    const std::int64_t lines = plan.tensor_model_parallel_size * replicas;  // along the pipeline
    std::vector<GroupKind> kinds = {{"data", n / plan.data_parallel_size},
                                    {"model", plan.data_parallel_size},
                                    {"tensor", plan.pipeline_model_parallel_size * replicas},
                                    {"pipeline", lines},
                                    {"embedding", lines},
                                    {"position embedding", lines}};
    if (plan.context_parallel_size > 1) {
        kinds.push_back({"context", n / plan.context_parallel_size});
        kinds.push_back(
            {"data with context", n / (plan.data_parallel_size * plan.context_parallel_size)});
    }
    if (plan.hsdp_shard_size > 0) {
        kinds.push_back({"shards", n / plan.hsdp_shard_size});
        kinds.push_back(
            {"replicas",
             n / std::max<std::int64_t>(1, plan.data_parallel_size / plan.hsdp_shard_size)});
    }
    return kinds;
}

double store_operation_s(StoreKind kind) {
    return (kind == StoreKind::blocking ? 1047 : 361) / kPublishedOperations;
}

Meeting meeting_of(const ParallelPlan& plan, const StartUpPlan& start_up) {
    const std::vector<GroupKind> kinds = group_kinds(plan);
    Meeting meeting;
    for (const GroupKind& kind : kinds) {
        meeting.groups += kind.groups;
    }
    meeting.operations = operations_of(
        ranks_of(plan), meeting.groups, static_cast<std::int64_t>(kinds.size()), start_up.barriers);
    meeting.time = time_of(meeting.operations, start_up);
    return meeting;
}

// Linear between and beyond the published points, constant before the first.
WallTime process_start(std::int64_t gpus) {
    const auto n = std::max(static_cast<double>(gpus), kColdStarts.front().gpus);
    std::size_t i = 1;
    while (i + 1 < kColdStarts.size() && n > kColdStarts[i].gpus) {
        ++i;
    }
    const Published& a = kColdStarts[i - 1];
    const Published& b = kColdStarts[i];
    const double from = a.all_s - a.communicators_s;
    const double to = b.all_s - b.communicators_s;
    return WallTime::seconds(from + (n - a.gpus) / (b.gpus - a.gpus) * (to - from));
}

WallTime checkpoint_agreement(std::int64_t gpus) {
    constexpr double kSeconds = 0.34;
    constexpr double kGpus = 1488;
    const double levels = std::log2(std::max(1.0, static_cast<double>(gpus)));
    return WallTime::seconds(kSeconds * levels / std::log2(kGpus));
}

}  // namespace orrery

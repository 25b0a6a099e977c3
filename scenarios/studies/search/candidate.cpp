// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/candidate.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>

#include "engine/base/parallel.h"

namespace orrery {
namespace {

// The times of kernels on each kind of nodes.
std::vector<PlanBound::KernelTimes> times_of(const ClusterCosts& costs) {
    std::vector<PlanBound::KernelTimes> times;
    for (std::size_t kind = 0; kind < costs.num_kinds(); ++kind) {
        times.emplace_back(
            [&costs, kind](const Program& program) { return costs.mean_device(program, kind); });
    }
    return times;
}

Bytes most_memory(const ClusterVariant& on) {
    Bytes most = on.device.memory;
    for (const DeviceSpec& device : on.devices) {
        most = std::max(most, device.memory);
    }
    return most;
}

// The model that bounds are taken of. A layer with experts computes no less than one MLP as wide as
// the experts of a token. Such an MLP moves no tokens and has no weights of other experts.
Transformer bounded_model(Transformer model) {
    if (model.num_experts == 0) {
        return model;
    }
    model.ffn_hidden_size =
        model.moe_router_topk * model.expert_ffn_size() + model.moe_shared_expert_intermediate_size;
    model.num_experts = 0;
    model.moe_shared_expert_intermediate_size = 0;
    model.mtp_num_layers = 0;
    return model;
}

ParallelPlan bounded_plan(ParallelPlan plan) {
    const ParallelPlan defaults;
    plan.expert_model_parallel_size = defaults.expert_model_parallel_size;
    plan.expert_tensor_parallel_size = defaults.expert_tensor_parallel_size;
    plan.moe_token_dispatcher_type = defaults.moe_token_dispatcher_type;
    plan.moe_shared_expert_overlap = false;
    plan.overlap_moe_expert_parallel_comm = false;
    plan.delay_wgrad_compute = false;
    plan.recompute_modules &= ~modules_with(kExpertParts);
    return plan;
}

// The plans of one tensor and one context-parallel size.
class PartOfSpace {
public:
    PartOfSpace(const Scenario& scenario,
                const SearchSpec& spec,
                std::size_t cluster,
                const ClusterCosts& costs,
                const Score& score)
        : scenario_(scenario),
          spec_(spec),
          cluster_(cluster),
          score_(score),
          model_(bounded_model(scenario.model)),
          bound_(model_,
                 costs.network(),
                 times_of(costs),
                 StageKinds{spec.clusters[cluster].cluster}) {}

    Candidates enumerate(const RankSizes& sizes, const std::function<bool()>& stop);

private:
    void consider(PlanPoint point);

    const Scenario& scenario_;
    const SearchSpec& spec_;
    std::size_t cluster_;
    const Score& score_;
    Transformer model_;  // that bounds are of
    PlanBound bound_;
    Candidates found_;
};

void PartOfSpace::consider(PlanPoint point) {
    ++found_.admitted;
    if (point.split == StageSplit::balanced) {
        point.plan.pipeline_layout = bound_.balanced(bounded_plan(point.plan));
        const bool even =
            std::ranges::adjacent_find(point.plan.pipeline_layout, std::ranges::not_equal_to{}) ==
            point.plan.pipeline_layout.end();
        if (even) {
            ++found_.left_out.same_plan;
            return;
        }
    }
    const ClusterVariant& on = spec_.clusters[cluster_];
    Candidate candidate{.plan = std::move(point.plan), .cluster = cluster_};
    candidate.bound = bound_.of(bounded_plan(candidate.plan));
    if (candidate.bound.memory > most_memory(on)) {
        count_too_large(candidate.bound.memory, on, found_.left_out);
        return;
    }
    if (breaks_limit(candidate.bound.time, on, score_, spec_, found_.left_out)) {
        return;
    }
    candidate.objective_bound = score_.of(candidate.bound.time, on);
    candidate.guess = score_.of(candidate.bound.guess, on);
    found_.plans.push_back(std::move(candidate));
}

Candidates PartOfSpace::enumerate(const RankSizes& sizes, const std::function<bool()>& stop) {
    found_.points = for_each_plan(
        spec_.space,
        scenario_.model,
        scenario_.plan,
        searched_gpus(spec_.clusters[cluster_].cluster),
        sizes,
        [&](PlanPoint point) { consider(std::move(point)); },
        found_.left_out.rules,
        stop);
    return std::move(found_);
}

}  // namespace

void count_too_large(Bytes memory, const ClusterVariant& on, LeftOut& out) {
    ++out.memory;
    out.least_memory = std::min(
        out.least_memory,
        static_cast<double>(memory.count()) / static_cast<double>(most_memory(on).count()));
}

bool breaks_limit(
    Time step, const ClusterVariant& on, const Score& score, const SearchSpec& spec, LeftOut& out) {
    const Limit limit = score.broken_limit(step, on);
    if (limit == Limit::deadline) {
        ++out.deadline;
        out.least_days = std::min(out.least_days, score.days(step));
    } else if (limit == Limit::budget) {
        ++out.budget;
        out.least_money = std::min(out.least_money, score.money(step, on) * spec.tokens);
    }
    return limit != Limit::none;
}

Candidates candidates_on(const Scenario& scenario,
                         const SearchSpec& spec,
                         std::size_t cluster,
                         const ClusterCosts& costs,
                         const Score& score,
                         std::uint32_t jobs,
                         const std::function<bool()>& stop) {
    const std::vector<RankSizes> sizes =
        rank_sizes(spec.space, searched_gpus(spec.clusters[cluster].cluster));
    std::vector<Candidates> parts(sizes.size());
    std::mutex asking;
    std::atomic<bool> stopped = false;
    const std::function<bool()> one_asks = [&] {
        if (!stopped && stop) {
            const std::scoped_lock lock(asking);
            stopped = stopped || stop();
        }
        return stopped.load();
    };
    for_each_index(sizes.size(), jobs, [&](std::size_t i) {
        parts[i] = PartOfSpace{scenario, spec, cluster, costs, score}.enumerate(sizes[i], one_asks);
    });
    Candidates all;
    for (Candidates& part : parts) {
        all.points += part.points;
        all.admitted += part.admitted;
        all.left_out += part.left_out;
        std::ranges::move(part.plans, std::back_inserter(all.plans));
    }
    return all;
}

}  // namespace orrery

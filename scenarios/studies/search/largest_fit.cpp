// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/largest_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "models/lowering/lowering.h"
#include "models/plan/validate_long_context.h"
#include "models/plan/validate_plan.h"
#include "network/fabric/memory_tiers.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/simulate/memory_overheads.h"
#include "scenarios/studies/simulate/program_summary.h"

namespace orrery {

namespace {

constexpr std::int64_t kSequenceUnit = 1024;  // tokens per rank
constexpr std::int64_t kPrecision = 128;      // relative precision of the answer is 1 / this
constexpr std::int64_t kMostUnits = 1 << 20;

// The scenario with `units` units of the sought size.
class SizedScenario {
public:
    SizedScenario(const Scenario& scenario, FitOf what) : scenario_(scenario), what_(what) {
        const ParallelPlan& plan = scenario.plan;
        const std::int64_t ranks_of_sequence =
            plan.context_parallel_size *
            (plan.sequence_parallel ? plan.tensor_model_parallel_size : 1);
        const std::int64_t stages = plan.pipeline_model_parallel_size * plan.chunks_of_stage();
        unit_ = what == FitOf::sequence ? kSequenceUnit * ranks_of_sequence : stages;
        scenario_.plan.pipeline_layout.clear();
    }

    std::int64_t size(std::int64_t units) const { return units * unit_; }

    // The most units that the plan's kernels reach, whatever memory holds.
    std::int64_t most_units() const {
        if (what_ != FitOf::sequence || !scenario_.plan.norm_32_bit_offsets) {
            return kMostUnits;
        }
        const std::int64_t tokens = tokens_of_32_bit_offsets(scenario_.model, scenario_.plan);
        const std::int64_t units = tokens / (kSequenceUnit * scenario_.plan.micro_batch_size);
        return std::clamp(units, std::int64_t{1}, kMostUnits);
    }

    Result<MemoryUse> memory(std::int64_t units) {
        Transformer& model = scenario_.model;
        (what_ == FitOf::sequence ? model.seq_length : model.num_layers) = size(units);
        const Errors errors =
            check(model,
                  scenario_.plan,
                  scenario_.plan.model_parallel_size() * scenario_.plan.data_parallel_size);
        if (!errors.empty()) {
            return tl::unexpected(errors.front());
        }
        return memory_of_step(scenario_);
    }

private:
    Scenario scenario_;
    FitOf what_;
    std::int64_t unit_ = 1;
};

}  // namespace

Result<MemoryUse> memory_of_step(const Scenario& scenario) {
    const Program program = lower(scenario.model, scenario.plan);
    MemoryUse use = memory_use(program, memory_of_roles(program, scenario));
    add_host_memory(program, scenario.cluster, use);
    // The network, for NCCL's memory, is built only if the plan fits without it.
    return use.fits ? whole_memory_use(program, scenario) : Result<MemoryUse>{std::move(use)};
}

Result<LargestFit> largest_fit(const Scenario& scenario, FitOf what) {
    SizedScenario sized{scenario, what};
    LargestFit found;
    std::int64_t fits = 0;  // in units
    std::int64_t fails = 1;
    const std::int64_t most = sized.most_units();
    while (true) {  // double until it fails
        if (fails > most) {
            fails = most + 1;
            break;
        }
        Result<MemoryUse> use = sized.memory(fails);
        if (!use) {
            return tl::unexpected(use.error());
        }
        if (!use->fits) {
            found.beyond = std::move(*use);
            break;
        }
        if (fails >= kMostUnits) {  // a power of two, and so the last size before the end
            return fail(scenario.cluster_where,
                        fmt::format("{} fit, and memory does not grow", sized.size(fails)),
                        "a plan that keeps activations");
        }
        found.memory = std::move(*use);
        fits = fails;
        fails *= 2;
    }
    if (fits == 0) {
        return fail(scenario.cluster_where,
                    fmt::format("not even {} fit: they take {:.1f} GB",
                                sized.size(1),
                                static_cast<double>(found.beyond.needed().count()) * 1e-9),
                    "a plan that shards or offloads more");
    }
    while (fails - fits > 1 + fits / kPrecision) {
        const std::int64_t middle = fits + (fails - fits) / 2;
        Result<MemoryUse> use = sized.memory(middle);
        if (!use) {
            return tl::unexpected(use.error());
        }
        const bool good = use->fits;
        (good ? found.memory : found.beyond) = std::move(*use);
        (good ? fits : fails) = middle;
    }
    found.most = sized.size(fits);
    found.ends_with_offsets = fails > most;
    return found;
}

namespace {

// Keys that move a part of the state to the next tier.
struct TierStep {
    const char* where;
    std::vector<std::string> set;
    MemoryTier needs;
    std::function<void(ParallelPlan&)> change;
};

const std::vector<TierStep>& tier_steps() {
    static const std::vector<TierStep> kSteps{
        {"on the GPUs",
         {},
         MemoryTier::hbm,
         [](ParallelPlan& plan) {
             plan.optimizer_cpu_offload = plan.delayed_param_update = false;
             plan.offload_fp32_weights = false;
             plan.optimizer_offload_tier = OffloadTier::host;
             plan.param_offload_tier = plan.grad_offload_tier = StateTier::device;
             plan.param_offload_fraction = plan.optimizer_offload_fraction = 1;
         }},
        {"optimizer state in host memory",
         {"plan.optimizer_cpu_offload=true"},
         MemoryTier::dram,
         [](ParallelPlan& plan) { plan.optimizer_cpu_offload = true; }},
        {"gradients in host memory, too",
         {"plan.grad_offload_tier=host"},
         MemoryTier::dram,
         [](ParallelPlan& plan) { plan.grad_offload_tier = StateTier::host; }},
        {"weights in host memory, too",
         {"plan.data_parallel_sharding_strategy=optim_grads_params",
          "plan.param_offload_tier=host"},
         MemoryTier::dram,
         [](ParallelPlan& plan) {
             plan.data_parallel_sharding_strategy = ShardingStrategy::optim_grads_params;
             plan.param_offload_tier = StateTier::host;
         }},
        {"all on drives",
         {"plan.optimizer_offload_tier=file",
          "plan.grad_offload_tier=file",
          "plan.param_offload_tier=file"},
         MemoryTier::nvme,
         [](ParallelPlan& plan) {
             plan.optimizer_offload_tier = OffloadTier::file;
             plan.param_offload_tier = plan.grad_offload_tier = StateTier::file;
         }},
    };
    return kSteps;
}

bool has_everywhere(const ClusterSpec& cluster, MemoryTier tier) {
    for (std::uint32_t kind = 0; kind < cluster.num_kinds(); ++kind) {
        if (!has_tier(cluster.kind(kind).node, tier)) {
            return false;
        }
    }
    return true;
}

}  // namespace

std::vector<TierFit> layers_by_tier(const Scenario& scenario) {
    std::vector<TierFit> fits;
    Scenario own = scenario;
    std::vector<std::string> set;
    for (const TierStep& step : tier_steps()) {
        step.change(own.plan);
        set.insert(set.end(), step.set.begin(), step.set.end());
        TierFit& fit = fits.emplace_back();
        fit.where = step.where;
        fit.set = set;
        if (!has_everywhere(own.cluster, step.needs)) {
            fit.why = step.needs == MemoryTier::dram ? "the node's host_memory is not known"
                                                     : "the node has no nvme_drives";
            continue;
        }
        const Result<LargestFit> found = largest_fit(own, FitOf::layers);
        if (!found) {
            fit.why = found.error().what;
            continue;
        }
        fit.layers = found->most;
        Transformer model = own.model;
        model.num_layers = found->most;
        fit.parameters = num_parameters(model);
    }
    return fits;
}

}  // namespace orrery

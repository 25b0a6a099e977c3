// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/largest_fit.h"

#include <fmt/format.h>

#include "models/lowering.h"
#include "models/validate_plan.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/simulate/memory_overheads.h"
#include "scenarios/studies/simulate/program_summary.h"

namespace orrery {

namespace {

constexpr std::int64_t kSequenceUnit = 1024;  // tokens of a rank
constexpr std::int64_t kPrecision = 128;      // the answer is within a part of this
constexpr std::int64_t kMostUnits = 1 << 20;

// The scenario with `units` units of what is sought.
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
    // Only a plan that fits alone is worth the network that says what NCCL takes.
    return use.fits ? whole_memory_use(program, scenario) : Result<MemoryUse>{std::move(use)};
}

Result<LargestFit> largest_fit(const Scenario& scenario, FitOf what) {
    SizedScenario sized{scenario, what};
    LargestFit found;
    std::int64_t fits = 0;  // units
    std::int64_t fails = 1;
    while (true) {  // doubles until it fails
        Result<MemoryUse> use = sized.memory(fails);
        if (!use) {
            return tl::unexpected(use.error());
        }
        if (!use->fits) {
            found.beyond = std::move(*use);
            break;
        }
        if (fails >= kMostUnits) {
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
    return found;
}

}  // namespace orrery

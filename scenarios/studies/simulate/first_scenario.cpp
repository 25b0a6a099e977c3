// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/first_scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "models/lowering/lowering.h"
#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/read/reader.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/simulate/memory_overheads.h"
#include "scenarios/studies/simulate/program_summary.h"

namespace orrery {
namespace {

constexpr const char* kUsualFabric = "ndr400-rail";
constexpr std::int64_t kMicroBatches = 16;  // per replica, if no batch is given
constexpr std::int64_t kNodesMax = 4096;    // largest cluster that a hint proposes

// Ways to save memory, in the order in which they are tried.
enum class Saving : std::uint8_t { none, sequence_parallel, recompute, shard_weights };

struct ReplicaSplit {
    std::int64_t tensor = 1;
    std::int64_t pipeline = 1;
    std::int64_t expert = 1;
    Saving saving = Saving::none;
};

DocumentNode number(std::int64_t value, const char* remark) {
    return scalar_node(std::to_string(value), remark);
}

DocumentNode cluster_and_model(const FirstScenario& wanted, std::int64_t nodes) {
    DocumentNode root;
    root.kind = DocumentNode::Kind::map;
    put(root, "kind", scalar_node("scenario"));
    put(root, "cluster.nodes", number(nodes, ""));
    put(root, "cluster.node", scalar_node(wanted.node, "orrery catalogue nodes"));
    if (nodes > 1) {
        put(root,
            "cluster.fabric",
            scalar_node(wanted.fabric.empty() ? kUsualFabric : wanted.fabric,
                        "orrery catalogue fabrics"));
    }
    put(root, "model", scalar_node(wanted.model, "orrery catalogue models"));
    return root;
}

void put_first_plan(DocumentNode& root, const ReplicaSplit& split, std::int64_t batch) {
    put(root,
        "plan.tensor_model_parallel_size",
        number(split.tensor, "ranks that split each layer"));
    if (split.tensor > 1 && split.saving != Saving::none) {
        put(root, "plan.sequence_parallel", scalar_node("true", "they split activations, too"));
    }
    put(root, "plan.pipeline_model_parallel_size", number(split.pipeline, "stages"));
    if (split.expert > 1) {
        put(root,
            "plan.expert_model_parallel_size",
            number(split.expert, "ranks that share the experts"));
    }
    put(root, "plan.micro_batch_size", number(1, "sequences a rank computes at once"));
    put(root, "plan.global_batch_size", number(batch, "sequences of a step"));
    put(root, "plan.precision", scalar_node("bf16"));
    const bool shards = split.saving == Saving::shard_weights;
    put(root,
        "plan.data_parallel_sharding_strategy",
        shards ? scalar_node("optim_grads_params", "ZeRO 3: replicas share weights, too")
               : scalar_node("optim", "ZeRO 1: replicas share the optimizer's state"));
    put(root, "plan.overlap_grad_reduce", scalar_node("true"));
    put(root, "plan.overlap_param_gather", scalar_node("true"));
    if (split.saving >= Saving::recompute) {
        put(root,
            "plan.recompute_granularity",
            scalar_node("full", "layers are computed again: it would not fit without"));
    }
}

ResultOrErrors<Scenario> read_first_document(const DocumentNode& root, bool network_only) {
    ReadOptions options;
    options.network_only = network_only;
    return read_scenario_text(to_yaml(root), "new scenario", "", options);
}

// Powers of two up to `most`, or only the wanted size.
std::vector<std::int64_t> sizes(std::uint32_t wanted, std::int64_t most) {
    if (wanted > 0) {
        return {wanted};
    }
    std::vector<std::int64_t> found;
    for (std::int64_t size = 1; size <= most; size *= 2) {
        found.push_back(size);
    }
    return found;
}

// Tries the plans of a cluster in order.
class Chooser {
public:
    Chooser(const FirstScenario& wanted, std::int64_t nodes, std::vector<Saving> savings)
        : wanted_(wanted),
          document_(cluster_and_model(wanted, nodes)),
          savings_(std::move(savings)) {}

    // The document of the first plan that fits. If none fits, `errors` says why.
    std::optional<DocumentNode> choose();

    Errors errors{};                   // of the last refused plan
    std::optional<MemoryUse> least{};  // smallest of the plans that do not fit

private:
    std::vector<ReplicaSplit> splits() const;
    bool fits(const Scenario& scenario);

    const FirstScenario& wanted_;
    DocumentNode document_;
    std::vector<Saving> savings_;
    bool dense_ = false;  // set by the first scenario that is read
    std::int64_t ranks_ = 1;
    std::int64_t ranks_a_node_ = 1;
};

std::vector<ReplicaSplit> Chooser::splits() const {
    std::vector<ReplicaSplit> found;
    for (const std::int64_t tensor : sizes(wanted_.tensor, ranks_a_node_)) {
        for (const std::int64_t pipeline : sizes(wanted_.pipeline, ranks_ / tensor)) {
            for (const std::int64_t expert : {ranks_a_node_, std::int64_t{1}}) {
                for (const Saving saving : savings_) {
                    found.push_back({tensor, pipeline, expert, saving});
                }
            }
        }
    }
    // Prefers replicas with few ranks and few stages, and savings that slow every step last.
    // Sharded weights are gathered layer by layer: with them more tensor-parallel ranks come first,
    // because each gathers less.
    std::ranges::stable_sort(found, {}, [](const ReplicaSplit& split) {
        const bool shards = split.saving == Saving::shard_weights;
        return std::tuple{std::max(split.saving, Saving::sequence_parallel),
                          shards ? -split.tensor : split.tensor * split.pipeline,
                          split.pipeline};
    });
    return found;
}

bool Chooser::fits(const Scenario& scenario) {
    const Program program = lower(scenario.model, scenario.plan);
    Result<MemoryUse> use = memory_use(program, memory_of_roles(program, scenario));
    if (use->fits) {
        use = whole_memory_use(program, scenario);
    }
    if (!use) {
        errors.push_back(use.error());
        return false;
    }
    if (!use->fits && (!least || use->needed() < least->needed())) {
        least = *use;
    }
    return use->fits;
}

std::optional<DocumentNode> Chooser::choose() {
    const auto cluster = read_first_document(document_, true);
    if (!cluster) {
        errors = cluster.error();
        return {};
    }
    ranks_ = cluster->cluster.num_ranks();
    ranks_a_node_ = cluster->cluster.node.gpus_per_node;
    for (const ReplicaSplit& split : splits()) {
        if (dense_ && split.expert > 1) {
            continue;
        }
        const std::int64_t replicas = std::max<std::int64_t>(
            1, ranks_ / std::max<std::int64_t>(1, split.tensor * split.pipeline));
        DocumentNode document = document_;
        put_first_plan(
            document, split, wanted_.batch > 0 ? wanted_.batch : replicas * kMicroBatches);
        const auto scenario = read_first_document(document, false);
        if (!scenario) {
            errors = scenario.error();
            continue;
        }
        dense_ = scenario->model.num_experts == 0;
        if (!(dense_ && split.expert > 1) && fits(*scenario)) {
            return document;
        }
    }
    return {};
}

Errors no_plan(const FirstScenario& wanted, std::int64_t nodes, const MemoryUse& least) {
    std::string hint = "a smaller model, or larger servers";
    for (std::int64_t more = 2 * nodes; more <= kNodesMax; more *= 2) {
        FirstScenario free = wanted;
        free.tensor = free.pipeline = free.batch = 0;
        if (Chooser{free, more, {Saving::recompute, Saving::shard_weights}}.choose()) {
            hint = fmt::format("--nodes {}", more);
            break;
        }
    }
    const bool fixed = wanted.tensor > 0 || wanted.pipeline > 0;
    return {{"init",
             fmt::format("no plan of {} fits on {} x {}: the smallest needs {} of {} a GPU",
                         wanted.model,
                         nodes,
                         wanted.node,
                         to_short_text(least.needed()),
                         to_short_text(least.device)),
             fixed ? hint + ", or without --tensor and --pipeline" : hint}};
}

}  // namespace

ResultOrErrors<std::string> first_scenario(const FirstScenario& wanted) {
    const std::int64_t nodes = std::max(1U, wanted.nodes);
    Chooser chooser{
        wanted,
        nodes,
        {Saving::none, Saving::sequence_parallel, Saving::recompute, Saving::shard_weights}};
    if (const auto document = chooser.choose()) {
        return to_yaml(*document,
                       {"A first scenario, by orrery init. orrery keys lists every key.",
                        "orrery check, simulate, explain and search take it."});
    }
    if (chooser.least) {
        return unexpected<Errors>(no_plan(wanted, nodes, *chooser.least));
    }
    for (Error& error : chooser.errors) {
        error.where = "init";  // the file with the place is not written
    }
    return unexpected<Errors>(std::move(chooser.errors));
}

}  // namespace orrery

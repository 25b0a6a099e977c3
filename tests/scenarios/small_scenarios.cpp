// SPDX-License-Identifier: Apache-2.0
#include "tests/scenarios/small_scenarios.h"

#include <cctype>
#include <stdexcept>

#include "scenarios/format/read/reader.h"

namespace orrery {

namespace {

constexpr const char* kText = R"(cluster:
  nodes: 2
  node:
    base: dgx-a100-80g
    gpus_per_node: 4
  fabric:
    base: single-switch-100
    nics_per_node: 4
model:
  num_layers: 8
  hidden_size: 1024
  num_attention_heads: 16
  seq_length: 1024
  vocab_size: 8192
plan:
  micro_batch_size: 2
  global_batch_size: 32
  eager_framework: false  # ops this small would take no time beside their calls
)";

using Settings = std::vector<std::string>;

Settings with(Settings settings, const Settings& more) {
    settings.insert(settings.end(), more.begin(), more.end());
    return settings;
}

std::vector<SmallScenario> make_all() {
    const Settings tensor{"plan.tensor_model_parallel_size=4"};
    const Settings pipeline{"plan.pipeline_model_parallel_size=4"};
    const Settings chunks = with(pipeline, {"plan.virtual_pipeline_model_parallel_size=2"});
    const Settings context{"plan.context_parallel_size=2"};
    const Settings overlap{"plan.overlap_grad_reduce=true", "plan.overlap_param_gather=true"};
    const std::string zero = "plan.data_parallel_sharding_strategy=";
    const Settings both = with(with(chunks, {"plan.tensor_model_parallel_size=2"}),
                               {"plan.sequence_parallel=true", zero + "optim"});
    return {
        {"dp", {}},
        {"dp, overlapped", {"plan.overlap_grad_reduce=true"}},
        {"zero 1", {zero + "optim"}},
        {"zero 1, overlapped", with(overlap, {zero + "optim"})},
        {"zero 2, overlapped", with(overlap, {zero + "optim_grads"})},
        {"zero 3", with(overlap, {zero + "optim_grads_params"})},
        {"tp", tensor},
        {"tp + sp", with(tensor, {"plan.sequence_parallel=true"})},
        {"tp + sp, overlapped",
         with(tensor, {"plan.sequence_parallel=true", "plan.tp_comm_overlap=true"})},
        {"tp over the network",
         {"plan.tensor_model_parallel_size=8", "plan.sequence_parallel=true"}},
        {"shared key-value heads",
         with(tensor, {"model.num_query_groups=2", "plan.sequence_parallel=true"})},
        {"one key-value head over the network",
         {"model.num_query_groups=1", "plan.tensor_model_parallel_size=8"}},
        {"pp", pipeline},
        {"pp, uneven", with(pipeline, {"plan.pipeline_layout=[1, 3, 3, 1]"})},
        {"pp, gpipe", with(pipeline, {"plan.schedule=gpipe"})},
        {"pp, interleaved", chunks},
        {"pp, interleaved, overlapped", with(chunks, {"plan.overlap_p2p=true"})},
        {"cp", context},
        {"cp, all to all", with(context, {"plan.context_parallel_comm=all_to_all"})},
        {"recomputation", {"plan.recompute_granularity=full"}},
        {"unfused", {"plan.attention_kernel=unfused", "plan.fused_norm=false"}},
        {"tp + sp + pp + dp", both},
        {"all that can overlap",
         with(with(both, overlap), {"plan.overlap_p2p=true", "plan.tp_comm_overlap=true"})},
        {"analytic", with(both, {"network=analytic"})},
        {"one NIC a server", with(both, {"cluster.fabric.nics_per_node=1"})},
        {"two pipelines on one NIC",
         with(pipeline, {"cluster.fabric.nics_per_node=1", "plan.rank_order=tp-cp-pp-dp"})},
    };
}

}  // namespace

Scenario small_scenario(const std::string& name, const std::vector<std::string>& settings) {
    ReadOptions options;
    options.catalogue = ORRERY_SOURCE_DIR "/scenarios/catalogue";
    options.overrides = settings;
    auto scenario = read_scenario_text(kText, name + ".yaml", ".", options);
    if (!scenario) {
        throw std::runtime_error(scenario.error().front().to_string());
    }
    scenario->name = name;
    return *std::move(scenario);
}

const std::vector<SmallScenario>& named_small_scenarios() {
    static const std::vector<SmallScenario> all = make_all();
    return all;
}

const std::vector<Scenario>& small_scenarios() {
    static const std::vector<Scenario> all = [] {
        std::vector<Scenario> read;
        for (const SmallScenario& small : named_small_scenarios()) {
            read.push_back(small_scenario(small.name, small.settings));
        }
        return read;
    }();
    return all;
}

std::string test_name(const SmallScenario& scenario) {
    std::string text;
    for (const char c : scenario.name) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
        if (plain || (!text.empty() && text.back() != '_')) {
            text += plain ? c : '_';
        }
    }
    return text;
}

void PrintTo(const SmallScenario& scenario, std::ostream* out) {
    *out << scenario.name;
}

}  // namespace orrery

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

std::vector<Scenario> make_all() {
    const Settings tensor{"plan.tensor_model_parallel_size=4"};
    const Settings pipeline{"plan.pipeline_model_parallel_size=4"};
    const Settings chunks = with(pipeline, {"plan.virtual_pipeline_model_parallel_size=2"});
    const Settings context{"plan.context_parallel_size=2"};
    const Settings overlap{"plan.overlap_grad_reduce=true", "plan.overlap_param_gather=true"};
    const std::string zero = "plan.data_parallel_sharding_strategy=";
    const Settings both = with(with(chunks, {"plan.tensor_model_parallel_size=2"}),
                               {"plan.sequence_parallel=true", zero + "optim"});
    return {
        small_scenario("dp", {}),
        small_scenario("dp, overlapped", {"plan.overlap_grad_reduce=true"}),
        small_scenario("zero 1", {zero + "optim"}),
        small_scenario("zero 1, overlapped", with(overlap, {zero + "optim"})),
        small_scenario("zero 2, overlapped", with(overlap, {zero + "optim_grads"})),
        small_scenario("zero 3", with(overlap, {zero + "optim_grads_params"})),
        small_scenario("tp", tensor),
        small_scenario("tp + sp", with(tensor, {"plan.sequence_parallel=true"})),
        small_scenario("tp + sp, overlapped",
                       with(tensor, {"plan.sequence_parallel=true", "plan.tp_comm_overlap=true"})),
        small_scenario("tp over the network",
                       {"plan.tensor_model_parallel_size=8", "plan.sequence_parallel=true"}),
        small_scenario("shared key-value heads",
                       with(tensor, {"model.num_query_groups=2", "plan.sequence_parallel=true"})),
        small_scenario("one key-value head over the network",
                       {"model.num_query_groups=1", "plan.tensor_model_parallel_size=8"}),
        small_scenario("pp", pipeline),
        small_scenario("pp, uneven", with(pipeline, {"plan.pipeline_layout=[1, 3, 3, 1]"})),
        small_scenario("pp, gpipe", with(pipeline, {"plan.schedule=gpipe"})),
        small_scenario("pp, interleaved", chunks),
        small_scenario("pp, interleaved, overlapped", with(chunks, {"plan.overlap_p2p=true"})),
        small_scenario("cp", context),
        small_scenario("cp, all to all", with(context, {"plan.context_parallel_comm=all_to_all"})),
        small_scenario("recomputation", {"plan.recompute_granularity=full"}),
        small_scenario("unfused", {"plan.attention_kernel=unfused", "plan.fused_norm=false"}),
        small_scenario("tp + sp + pp + dp", both),
        small_scenario(
            "all that can overlap",
            with(with(both, overlap), {"plan.overlap_p2p=true", "plan.tp_comm_overlap=true"})),
        small_scenario("analytic", with(both, {"network=analytic"})),
        small_scenario("one NIC a server", with(both, {"cluster.fabric.nics_per_node=1"})),
        small_scenario(
            "two pipelines on one NIC",
            with(pipeline, {"cluster.fabric.nics_per_node=1", "plan.rank_order=tp-cp-pp-dp"})),
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

const std::vector<Scenario>& small_scenarios() {
    static const std::vector<Scenario> all = make_all();
    return all;
}

std::string test_name(const Scenario& scenario) {
    std::string text;
    for (const char c : scenario.name) {
        const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0;
        if (plain || (!text.empty() && text.back() != '_')) {
            text += plain ? c : '_';
        }
    }
    return text;
}

void PrintTo(const Scenario& scenario, std::ostream* out) {
    *out << scenario.name;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Every field of a cluster, of its nodes, fabric and devices changes the answer of a simulation.
#include <fmt/format.h>

#include "models/plan/validate_plan.h"
#include "network/fabric/cable_list.h"
#include "network/fabric/fabric.h"
#include "scenarios/studies/serve/serving_prices.h"
#include "tests/fields/field_rows.h"
#include "tests/fields/scenario_answer.h"

namespace orrery {
namespace cluster_fields_test {

// Errors of a fabric, and its links with their latencies: what flows and packets move over.
std::string fabric_text(const Scenario& scenario) {
    const Result<Fabric> fabric = build_fabric(scenario.cluster);
    if (!fabric) {
        return fabric.error().to_string();
    }
    std::string text;
    for (std::uint32_t l = 0; l < fabric->links().size(); ++l) {
        const LinkInfo& link = fabric->links()[l];
        text += fmt::format("{} {} {}\n",
                            link.capacity.bits_per_second(),
                            link.link_class,
                            fabric->link_latency(LinkId{l}).picoseconds());
    }
    return text;
}

// What the device lacks for the plan.
std::string refusals(const Scenario& scenario) {
    std::string text;
    for (const Error& error : check_device(scenario.plan, scenario.device)) {
        text += error.to_string() + "\n";
    }
    return text;
}

// A served step that waits for the host alone.
std::string served_host(const Scenario& scenario) {
    const ServingEngine engine{.host_per_step = Time::seconds(1)};
    auto prices = ServingPrices::make(scenario, scenario.model, {}, engine);
    if (!prices) {
        return prices.error().to_string();
    }
    const Batch batch{.steps = {{.new_tokens = 1, .context = 1, .samples = true}}};
    std::vector<Time> stages(1);
    (*prices)->times(batch, stages);
    return fmt::format("{}", stages.front().picoseconds());
}

const FieldAnswers<Scenario> kAnswers{refusals, fabric_text, answer_of, served_host};

using Row = FieldRow<Scenario>;

// Four servers on a tree whose links are shared, all data-parallel.
Scenario base() {
    Scenario scenario = small_scenario("fields",
                                       {"cluster.nodes=8",
                                        "cluster.node.gpus_per_node=2",
                                        "cluster.fabric.nics_per_node=2",
                                        "plan.tensor_model_parallel_size=2",
                                        "plan.global_batch_size=16",
                                        "model.num_layers=2"});
    FabricSpec& fabric = scenario.cluster.fabric;
    fabric.kind = FabricKind::clos;
    fabric.tiers = 3;
    fabric.nodes_per_leaf_set = 2;
    fabric.leaf_sets_per_pod = 2;
    fabric.multi_rail = false;
    fabric.oversubscription = 2;
    fabric.spine_oversubscription = 2;
    fabric.uplink_bandwidth = fabric.nic_bandwidth;
    fabric.core_bandwidth = fabric.nic_bandwidth;
    return scenario;
}

// Tensor-parallel ranks on different servers, so that small messages cross the network.
void talk_across(Scenario& s) {
    s.plan.tensor_model_parallel_size = 4;
    s.plan.data_parallel_size = 4;
}

void state_in_file(Scenario& s) {
    s.plan.optimizer_cpu_offload = true;
    s.plan.optimizer_offload_tier = OffloadTier::file;
    s.device.host_memory_bandwidth = Bandwidth::bits_per_second(200'000'000'000);
}

// Half of the servers have adapters of another class.
void two_kinds(Scenario& s) {
    s.cluster.fabric.kind = FabricKind::single_switch;
    s.cluster.kinds = {{.node = s.cluster.node, .num_nodes = 4, .nic_class = NicClass::infiniband},
                       {.node = s.cluster.node, .num_nodes = 4, .nic_class = NicClass::roce}};
    s.cluster.ethernet.kind = FabricKind::single_switch;
    s.cluster.ethernet.nics_per_node = 1;
    s.cluster.ethernet.nic_bandwidth = Bandwidth::bits_per_second(25'000'000'000);
    s.devices = {s.device, s.device};
}

TEST(ClusterFields, OfAKindOfNodes) {
    const Row rows[] = {
        {"node", [](Scenario& s) { s.cluster.kinds[1].node.name += "!"; }, two_kinds},
        {"num_nodes",
         [](Scenario& s) {
             s.cluster.kinds[0].num_nodes = 3;
             s.cluster.kinds[1].num_nodes = 5;
         },
         two_kinds},
        {"nic_class",
         [](Scenario& s) { s.cluster.kinds[1].nic_class = NicClass::ethernet; },
         two_kinds},
        {"nics_per_node",
         [](Scenario& s) { s.cluster.kinds[1].nics_per_node = 1; },
         [](Scenario& s) {
             two_kinds(s);
             talk_across(s);
         }},
        {"nic_bandwidth",
         [](Scenario& s) {
             s.cluster.kinds[1].nic_bandwidth = Bandwidth::bits_per_second(1'000'000'000);
         },
         two_kinds},
    };
    expect_effects<NodeKind>(rows, base(), kAnswers);
}

TEST(ClusterFields, OfTheCluster) {
    const Row rows[] = {
        {"num_nodes", [](Scenario& s) { s.cluster.num_nodes = 9; }},
        {"node", [](Scenario& s) { s.cluster.node.name += "!"; }},
        {"fabric", [](Scenario& s) { s.cluster.fabric.name += "!"; }},
        {"kinds", two_kinds},
        {"ethernet",
         [](Scenario& s) {
             s.cluster.ethernet.nic_bandwidth = Bandwidth::bits_per_second(10'000'000'000);
         },
         two_kinds},
        {"slow_node_share",
         [](Scenario& s) { s.cluster.slow_node_share = 0.5; },
         [](Scenario& s) { s.cluster.slow_node_slowdown = 0.2; }},
        {"slow_node_slowdown",
         [](Scenario& s) { s.cluster.slow_node_slowdown = 0.2; },
         [](Scenario& s) { s.cluster.slow_node_share = 0.5; }},
        {"gpu_of_rank",
         [](Scenario& s) {
             for (std::uint32_t r = 0; r < 16; ++r) {
                 s.cluster.gpu_of_rank.push_back(r % 8 * 2 + r / 8);
             }
         }},
    };
    expect_effects<ClusterSpec>(rows, base(), kAnswers);
}

TEST(ClusterFields, OfANode) {
    const auto pcie = [](Scenario& s) { s.cluster.node.intra_node = IntraNodeKind::pcie; };
    const Bandwidth more = Bandwidth::bits_per_second(7'000'000'000'000);
    const auto sockets = [pcie](Scenario& s) {
        pcie(s);
        s.cluster.node.num_sockets = 2;
        s.cluster.node.socket_bandwidth = Bandwidth::bits_per_second(20'000'000'000);
    };
    const Row rows[] = {
        {"name", [](Scenario& s) { s.cluster.node.name += "!"; }},
        {"device",
         [](Scenario& s) { s.cluster.node.device += "!"; },
         {},
         "the reader looks it up: Scenario::device is what counts"},
        {"gpus_per_node", [](Scenario& s) { s.cluster.node.gpus_per_node = 4; }},
        {"trays", [](Scenario& s) { s.cluster.node.trays = 2; }},
        {"nics_per_tray",
         [](Scenario& s) { s.cluster.node.nics_per_tray = 2; },
         {},
         "the reader makes the fabric's nics_per_node of it: read_cluster_test.cpp"},
        {"intra_node", pcie},
        {"nvlink_bandwidth",
         [](Scenario& s) {
             s.cluster.node.nvlink_bandwidth = Bandwidth::bits_per_second(100'000'000'000);
         }},
        {"nvlink_efficiency", [](Scenario& s) { s.cluster.node.nvlink_efficiency = 0.5; }},
        {"nvls",
         [](Scenario& s) { s.cluster.node.nvls = true; },
         [](Scenario& s) {
             s = small_scenario("nvls",
                                {"cluster.nodes=1",
                                 "cluster.node=dgx-h100",
                                 "cluster.fabric.nics_per_node=8",
                                 "plan.global_batch_size=16",
                                 "model.num_layers=2"});
             s.cluster.node.nvls = false;
         }},
        {"pcie_bandwidth",
         [](Scenario& s) {
             s.cluster.node.pcie_bandwidth = Bandwidth::bits_per_second(10'000'000'000);
         },
         pcie},
        {"pcie_efficiency", [](Scenario& s) { s.cluster.node.pcie_efficiency = 0.1; }, pcie},
        {"nvlink_latency",
         [](Scenario& s) { s.cluster.node.nvlink_latency = Time::picoseconds(9'000'000); }},
        {"pcie_latency",
         [](Scenario& s) { s.cluster.node.pcie_latency = Time::picoseconds(9'000'000); },
         pcie},
        {"num_sockets", [](Scenario& s) { s.cluster.node.num_sockets = 1; }, sockets},
        {"socket_bandwidth",
         [](Scenario& s) {
             s.cluster.node.socket_bandwidth = Bandwidth::bits_per_second(10'000'000'000);
         },
         sockets},
        {"c2c_bandwidth", [&](Scenario& s) { s.cluster.node.c2c_bandwidth = more; }},
        {"host_memory", [](Scenario& s) { s.cluster.node.host_memory = {}; }},
        {"host_memory_bandwidth",
         [&](Scenario& s) { s.cluster.node.host_memory_bandwidth = more; }},
        {"nvme_drives", [](Scenario& s) { s.cluster.node.nvme_drives += 1; }},
        {"nvme_read_bandwidth", [&](Scenario& s) { s.cluster.node.nvme_read_bandwidth = more; }},
        {"nvme_write_bandwidth", [&](Scenario& s) { s.cluster.node.nvme_write_bandwidth = more; }},
        {"nvme_size",
         [](Scenario& s) { s.cluster.node.nvme_size = Bytes{1'000'000}; },
         state_in_file},
        {"amd_cpu", [](Scenario& s) { s.cluster.node.amd_cpu ^= true; }, sockets},
        {"host_speed", [](Scenario& s) { s.cluster.node.host_speed = 0.5; }},
    };
    expect_effects<NodeSpec>(rows, base(), kAnswers);
}

TEST(ClusterFields, OfAFabric) {
    const auto gbps = [](std::int64_t rate) {
        return Bandwidth::bits_per_second(rate * 1'000'000'000);
    };
    const Row rows[] = {
        {"name", [](Scenario& s) { s.cluster.fabric.name += "!"; }},
        {"kind", [](Scenario& s) { s.cluster.fabric.kind = FabricKind::rail; }},
        {"nics_per_node", [](Scenario& s) { s.cluster.fabric.nics_per_node = 1; }},
        {"nic_bandwidth", [&](Scenario& s) { s.cluster.fabric.nic_bandwidth = gbps(50); }},
        {"efficiency", [](Scenario& s) { s.cluster.fabric.efficiency = 0.5; }},
        {"nic_latency",
         [](Scenario& s) { s.cluster.fabric.nic_latency = Time::picoseconds(90'000'000); },
         talk_across},
        {"link_latency",
         [](Scenario& s) { s.cluster.fabric.link_latency = Time::picoseconds(90'000'000); },
         talk_across},
        {"message_latency",
         [](Scenario& s) { s.cluster.fabric.message_latency = Time::picoseconds(90'000'000); },
         talk_across},
        {"reported_latency",
         [](Scenario& s) { s.cluster.fabric.reported_latency = Time::picoseconds(90'000'000); },
         talk_across},
        {"eager_size",
         [](Scenario& s) { s.cluster.fabric.eager_size = Bytes(1 << 30); },
         [](Scenario& s) {
             talk_across(s);
             s.cluster.fabric.reported_latency = Time::picoseconds(90'000'000);
         }},
        {"nvls_tree_chunk",
         [](Scenario& s) { s.cluster.fabric.nvls_tree_chunk = Bytes(4096); },
         {},
         "of NVLSTree, which no call here takes: nccl_graph_test.cpp, pipeline_fill_test.cpp"},
        {"nccl_choices",
         [](Scenario& s) {
             s.cluster.fabric.nccl_choices = {
                 {.function = NcclFunction::all_reduce,
                  .ranks_per_node = 2,
                  .choice = NcclCombination{NcclAlgorithm::tree, NcclProtocol::ll}}};
         }},
        {"tiers", [](Scenario& s) { s.cluster.fabric.tiers = 2; }},
        {"nodes_per_leaf_set", [](Scenario& s) { s.cluster.fabric.nodes_per_leaf_set = 4; }},
        {"multi_rail", [](Scenario& s) { s.cluster.fabric.multi_rail = true; }},
        {"uplink_bandwidth", [&](Scenario& s) { s.cluster.fabric.uplink_bandwidth = gbps(50); }},
        {"oversubscription", [](Scenario& s) { s.cluster.fabric.oversubscription = 1; }},
        {"uplink_cables", [](Scenario& s) { s.cluster.fabric.uplink_cables = 2; }},
        {"leaf_sets_per_pod", [](Scenario& s) { s.cluster.fabric.leaf_sets_per_pod = 4; }},
        {"core_bandwidth", [&](Scenario& s) { s.cluster.fabric.core_bandwidth = gbps(50); }},
        {"spine_oversubscription",
         [](Scenario& s) { s.cluster.fabric.spine_oversubscription = 1; }},
        {"core_cables", [](Scenario& s) { s.cluster.fabric.core_cables = 2; }},
        {"switch_radix", [](Scenario& s) { s.cluster.fabric.switch_radix = 1; }},
        {"routing", [](Scenario& s) { s.cluster.fabric.routing = RoutingKind::static_rail; }},
        {"qps_per_connection", [](Scenario& s) { s.cluster.fabric.qps_per_connection = 4; }},
        {"hash_seed", [](Scenario& s) { s.cluster.fabric.hash_seed = 12345; }},
        {"hash_seeds", [](Scenario& s) { s.cluster.fabric.hash_seeds = HashSeeds::one; }},
        {"cables",
         [](Scenario& s) { s.cluster.fabric.cables = nullptr; },
         {},
         "of kind file, for which it never is null: cable_list_test.cpp"},
    };
    expect_effects<FabricSpec>(rows, base(), kAnswers);
}

TEST(ClusterFields, OfADevice) {
    const auto by_peak = [](Scenario& s, Dtype dtype) { s.plan.precision = dtype; };
    const auto tera = [](double peak) { return FlopRate::per_second(peak * 1e12); };
    const auto microseconds = [](std::int64_t us) { return Time::picoseconds(us * 1'000'000); };
    const auto on_mesh = [](Scenario& s) {
        s.device.core_mesh_rows = s.device.core_mesh_columns = 100;
        s.device.core_hop_latency = s.device.core_step_latency = Time::picoseconds(1'000);
        s.device.core_link_bandwidth = Bandwidth::bits_per_second(1'000'000'000'000);
    };
    const Row rows[] = {
        {"name", [](Scenario& s) { s.device.name += "!"; }},
        {"generation", [](Scenario& s) { s.device.generation = "volta"; }},
        {"compute_capability", [](Scenario& s) { s.device.compute_capability = 90; }},
        {"num_sms", [](Scenario& s) { s.device.num_sms = 60; }},
        {"peak_fp32",
         [&](Scenario& s) { s.device.peak_fp32 = tera(5); },
         [&](Scenario& s) { by_peak(s, Dtype::fp32); }},
        {"peak_fp16", [&](Scenario& s) { s.device.peak_fp16 = tera(50); }},
        {"bf16",
         [](Scenario& s) { s.device.bf16 = false; },
         [&](Scenario& s) { by_peak(s, Dtype::bf16); }},
        {"peak_fp8",
         [&](Scenario& s) { s.device.peak_fp8 = tera(5000); },
         [&](Scenario& s) { by_peak(s, Dtype::fp8); }},
        {"peak_fp4",
         [&](Scenario& s) { s.device.peak_fp4 = tera(9000); },
         {},
         "of served products alone: serving_prices_test.cpp"},
        {"attention_kernels", [](Scenario& s) { s.device.attention_kernels = {"none"}; }},
        {"memory_bandwidth",
         [](Scenario& s) {
             s.device.memory_bandwidth = Bandwidth::bits_per_second(1'000'000'000'000);
         }},
        {"memory", [](Scenario& s) { s.device.memory = Bytes{1}; }},
        {"host_memory_bandwidth",
         [](Scenario& s) {
             s.device.host_memory_bandwidth = Bandwidth::bits_per_second(1'000'000);
         },
         [](Scenario& s) {
             s.plan.optimizer_cpu_offload = true;
             s.cluster.node.host_memory = Bytes{1'000'000'000'000};
             s.cluster.node.host_memory_bandwidth = Bandwidth::bits_per_second(800'000'000'000);
             s.device.host_memory_bandwidth = Bandwidth::bits_per_second(200'000'000'000);
         }},
        {"kernel_latency", [&](Scenario& s) { s.device.kernel_latency = microseconds(50); }},
        {"launch_cost", [&](Scenario& s) { s.device.launch_cost = microseconds(900); }},
        {"graph_launch_cost",
         [&](Scenario& s) { s.device.graph_launch_cost = microseconds(900); },
         [](Scenario& s) { s.plan.cuda_graphs = true; }},
        {"core_mesh_rows", [](Scenario& s) { s.device.core_mesh_rows = 400; }, on_mesh},
        {"core_mesh_columns", [](Scenario& s) { s.device.core_mesh_columns = 2; }, on_mesh},
        {"core_hop_latency",
         [&](Scenario& s) { s.device.core_hop_latency = microseconds(1); },
         on_mesh},
        {"core_step_latency",
         [&](Scenario& s) { s.device.core_step_latency = microseconds(1); },
         on_mesh},
        {"core_link_bandwidth",
         [](Scenario& s) { s.device.core_link_bandwidth = Bandwidth::bits_per_second(1'000'000); },
         on_mesh},
        {"power",
         [](Scenario& s) { s.device.power = 700; },
         [](Scenario& s) { s.device.power_limit = 500; }},
        {"power_limit",
         [](Scenario& s) { s.device.power_limit = 500; },
         [](Scenario& s) { s.device.power = 700; }},
    };
    expect_effects<DeviceSpec>(rows, base(), kAnswers);
}

}  // namespace cluster_fields_test
}  // namespace orrery

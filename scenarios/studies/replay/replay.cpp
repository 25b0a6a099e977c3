// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/replay/replay.h"

#include <fmt/format.h>

#include <numeric>

#include "engine/world/simulated_executor.h"
#include "network/fabric/fabric.h"
#include "network/nccl_network.h"
#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/network/network_rates.h"

namespace orrery {

ResultOrErrors<ReplayAnswer> replay(const ForeignStep& step, const Scenario& scenario) {
    const auto one = [](Error error) { return unexpected<Errors>({std::move(error)}); };
    const ResultOrErrors<Program> program = program_of(step);
    if (!program) {
        return unexpected<Errors>(program.error());
    }
    if (step.ranks.size() > scenario.cluster.num_gpus()) {
        return one({scenario.cluster_where,
                    fmt::format("the cluster has {} GPUs, the traces have {} ranks",
                                scenario.cluster.num_gpus(),
                                step.ranks.size()),
                    "more nodes: --set cluster.nodes=N"});
    }
    ClusterSpec cluster = scenario.cluster;
    cluster.gpu_of_rank.resize(step.ranks.size());
    std::iota(cluster.gpu_of_rank.begin(), cluster.gpu_of_rank.end(), 0U);
    Result<Fabric> fabric = build_fabric(cluster);
    if (!fabric) {
        return one(fabric.error());
    }
    if (const Result<void> ready = check_fidelity(scenario.network); !ready) {
        return one(ready.error());
    }
    if (scenario.network == NetworkFidelity::packet) {
        return one({scenario.network_settings.packet.where,
                    "network: packet is not for replayed traces",
                    "analytic, fluid or simgrid"});
    }
    const bool contention = scenario.network != NetworkFidelity::analytic;
    NcclNetworkOptions options = nccl_options(scenario);
    options.contention = contention;
    const NcclNetwork network{std::move(*fabric), options};
    SimulationInput input;
    input.program = &*program;
    input.network = &network;
    input.devices = {DeviceTimings{}};
    input.steps = 1;
    const auto fidelity = network.has_contention() ? scenario.network : NetworkFidelity::analytic;
    const auto rates = make_rates(fidelity, network.links());
    const SimulationOutcome result = simulate(input, *rates);
    if (!result) {
        return one(result.error());
    }
    const CauseTimes& path = result->critical_path;
    const auto ranks = static_cast<std::int64_t>(step.ranks.size());
    return ReplayAnswer{.ranks = ranks,
                        .ops = num_ops(*program),
                        .step = result->iteration,
                        .compute = path[Cause::useful_compute],
                        .collectives = path[Cause::exposed_other],
                        .messages = path[Cause::exposed_pipeline],
                        .contention = path[Cause::network_contention],
                        .slowest = result->slowest_rank,
                        .compute_mean = Time::picoseconds(
                            result->busy_sum[Cause::useful_compute].picoseconds() / ranks),
                        .flows = result->flows};
}

}  // namespace orrery

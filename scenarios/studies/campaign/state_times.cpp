// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/campaign/state_times.h"

#include <algorithm>
#include <limits>

#include "models/transformer/transformer.h"
#include "scenarios/studies/campaign/start_up.h"
#include "scenarios/studies/simulate/degraded_steps.h"

namespace orrery {
namespace {

WallTime seconds_of(double bytes, Bandwidth bandwidth) {
    return bounded_time(bytes * 8 / static_cast<double>(bandwidth.bits_per_second()));
}

}  // namespace

WallTime bounded_time(double seconds) {
    return std::min(WallTime::seconds(seconds), WallTime::days(1e6));
}

StateTimes state_times(const Scenario& scenario) {
    const StoragePlan& storage = scenario.campaign.storage;
    const NodeSpec& node = scenario.cluster.node;
    const auto parameters = static_cast<double>(num_parameters(scenario.model));
    const double gpus = std::max(1U, scenario.cluster.num_ranks());
    const double nodes = gpus / std::max(1U, node.gpus_per_node);  // the last may be partly full
    const double bytes = parameters * storage.bytes_per_parameter;
    const auto parts = static_cast<double>(scenario.plan.model_parallel_size());
    const bool sharded = job_shape(scenario).state_sharded;
    // Bytes of a GPU's checkpoint part. Replicas of an unsharded state divide the writing, but each
    // loads its whole part.
    const double own = bytes / (sharded ? gpus : parts);
    const double weights = 2 * parameters / parts;
    // Bytes on a GPU, which are copied to its host unchanged (MegaScale, section 4.4).
    const bool all_sharded = scenario.plan.shards_weights();
    const double resident =
        sharded && !all_sharded ? weights + (bytes - 2 * parameters) / gpus : own;
    const Bandwidth to_host = Bandwidth::bits_per_second(static_cast<std::int64_t>(
        static_cast<double>(node.pcie_bandwidth.bits_per_second()) * node.pcie_efficiency));
    const Bandwidth nics = Bandwidth::bits_per_second(
        scenario.cluster.num_nodes > 1 ? scenario.cluster.fabric.nic_bandwidth.bits_per_second() *
                                             std::max(1U, scenario.cluster.fabric.nics_per_node)
                                       : std::numeric_limits<std::int64_t>::max() / 64);
    const double all_nics = nodes * static_cast<double>(nics.bits_per_second());
    const auto limited = [&](Bandwidth store) {
        return Bandwidth::bits_per_second(static_cast<std::int64_t>(
            std::min(static_cast<double>(store.bits_per_second()), all_nics)));
    };
    const Bandwidth per_gpu = Bandwidth::bits_per_second(
        std::max<std::int64_t>(1, nics.bits_per_second() / std::max(1U, node.gpus_per_node)));
    StateTimes times;
    times.to_host =
        seconds_of(resident, to_host) + checkpoint_agreement(scenario.cluster.num_ranks());
    times.write = seconds_of(bytes, limited(storage.write));
    times.planning = storage.planning;
    times.read = seconds_of(bytes, limited(storage.read));
    if (scenario.plan.data_parallel_size > 1) {
        times.broadcast = seconds_of(sharded ? weights : own, per_gpu);
    }
    times.from_peer = seconds_of(own, per_gpu) + seconds_of(own, to_host);
    times.store_share = static_cast<double>(limited(storage.write).bits_per_second()) / all_nics;
    return times;
}

}  // namespace orrery

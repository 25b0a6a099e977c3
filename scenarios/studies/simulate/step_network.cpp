// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_network.h"

#include <utility>

#include "scenarios/format/specs/node_devices.h"
#include "scenarios/studies/network/network_rates.h"
#include "scenarios/studies/network/packet_parts.h"
#include "scenarios/studies/simulate/step_faults.h"

namespace orrery {

Result<StepNetwork> build_step_network(const Scenario& scenario,
                                       const std::vector<FaultEvent>& faults,
                                       std::optional<Cause> without) {
    if (const Result<void> ready = check_fidelity(scenario.network); !ready) {
        return tl::unexpected(ready.error());
    }
    const bool contention =
        scenario.network != NetworkFidelity::analytic && without != Cause::network_contention;
    const bool packets = contention && scenario.network == NetworkFidelity::packet;
    std::optional<PacketParts> parts;
    if (packets) {
        auto made = packet_parts(scenario.cluster, scenario.network_settings);
        if (!made) {
            return tl::unexpected(made.error());
        }
        parts = std::move(*made);
    }
    Result<Fabric> fabric = parts ? std::move(parts->fabric) : build_fabric(scenario.cluster);
    if (!fabric) {
        return tl::unexpected(fabric.error());
    }
    if (const Result<void> moving = slow_links(faults, scenario, *fabric); !moving) {
        return tl::unexpected(moving.error());
    }
    StepNetwork network;
    NcclNetworkOptions options = nccl_options(scenario);
    options.contention = contention;
    options.congestion = packets ? std::nullopt : scenario.network_settings.congestion;
    options.number_connections = packets;
    options.all_to_all_share = packets ? 1 : options.all_to_all_share;  // packets model waits
    network.nccl = std::make_unique<NcclNetwork>(std::move(*fabric), options);
    if (packets) {
        auto made =
            PacketNetwork::make(*network.nccl, std::move(parts->topology), parts->parameters);
        if (!made) {
            return tl::unexpected(at_packets(made.error(), scenario.network_settings));
        }
        network.packets = std::make_unique<PacketNetwork>(std::move(*made));
    }
    return network;
}

}  // namespace orrery

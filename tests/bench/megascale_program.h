// SPDX-License-Identifier: Apache-2.0
// A synthetic training step of the size of MegaScale's 12,288 GPU job (Jiang et al., NSDI 2024):
// tensor groups of 8 inside a node, 8 pipeline stages in 1F1B order, data-parallel groups across
// nodes, some 60 ops a slot. Sizes are round numbers: it measures the executor, not MegaScale.
#pragma once

#include "engine/world/simulation.h"

namespace orrery {

struct MegascaleShape {
    std::uint32_t data_parallel = 192;
    std::uint32_t stages = 8;
    std::uint32_t micro_batches = 200;
    std::uint32_t collectives_a_slot = 14;
};

Program megascale_program(const MegascaleShape& shape);

// Per rank a port of the NVSwitch and a NIC, each in both directions; nothing else is scarce.
class RailNetwork final : public NetworkModel {
public:
    explicit RailNetwork(std::uint32_t num_ranks);
    TransferPlan plan(const TransferCall& call, std::span<const RankId> members) const override;
    std::span<const LinkInfo> links() const override { return links_; }
    std::span<const std::string> link_class_names() const override { return names_; }
    bool has_contention() const override { return true; }

private:
    std::uint32_t num_ranks_;
    std::vector<LinkInfo> links_;
    std::vector<std::string> names_{"nvlink", "nic"};
};

SimulationInput megascale_input(const Program& program, const NetworkModel& network);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The nodes of a cluster: all of one kind (cluster.nodes and cluster.node), or of several
// (cluster.kinds, a list of nodes, node, nic_class, nics_per_node and nic_bandwidth).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "kernels/device_spec.h"
#include "network/fabric/cluster_spec.h"
#include "network/nccl/nccl_topology.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/document/map_reader.h"

namespace orrery {

// Replaces the catalogue name under `key` by its entry. Null on an error.
const DocumentNode* resolved(DocumentNode& parent,
                             std::string_view key,
                             std::string_view section,
                             const std::string& path,
                             const Catalogue& catalogue,
                             Errors& errors);

// Sources for reading a node.
struct NodeSources {
    const Catalogue& catalogue;
    const std::filesystem::path& folder;  // of the scenario
    Errors& errors;
};

// Reads `parent`'s key "node", whose dotted name is `path`, with its device. Returns its NCCL
// topology if it names one.
std::optional<NcclTopology> read_node_of(DocumentNode& parent,
                                         const std::string& path,
                                         NodeSpec& node,
                                         DeviceSpec& device,
                                         const NodeSources& sources);

// Reads cluster.kinds of `section`: fills the cluster's kinds, nodes and first node. Returns the
// devices by kind.
std::vector<DeviceSpec> read_kinds(DocumentNode& section,
                                   MapReader& reader,
                                   ClusterSpec& cluster,
                                   const NodeSources& sources);

}  // namespace orrery

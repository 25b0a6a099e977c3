// SPDX-License-Identifier: Apache-2.0
// cluster.node.nccl_topology: a server as NCCL dumped it (NCCL_TOPO_DUMP_FILE). What the XML says
// become keys of the node and of the fabric, as if they had been written there, unless they are.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/base/result.h"
#include "network/nccl/nccl_topology.h"
#include "scenarios/format/document/document_node.h"

namespace orrery {

// The file's place is relative to the file that names it (`folder`: the scenario's). Nothing
// without that key or on errors.
std::optional<NcclTopology> fill_from_nccl_topology(DocumentNode& node,
                                                    const std::filesystem::path& folder,
                                                    Errors& errors);
// NICs and their bandwidth; places are those of the node's key.
void fill_fabric_from(const NcclTopology& topology, const DocumentNode& node, DocumentNode& fabric);

}  // namespace orrery

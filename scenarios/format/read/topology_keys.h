// SPDX-License-Identifier: Apache-2.0
// cluster.node.nccl_topology: a server in NCCL's dump (NCCL_TOPO_DUMP_FILE). The XML's values
// become keys of the node and of the fabric, unless the scenario has these keys.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/base/result.h"
#include "network/nccl/nccl_topology.h"
#include "scenarios/format/document/document_node.h"

namespace orrery {

// `folder` is the scenario's folder, to which the file is relative. Nothing without the key or on
// errors.
std::optional<NcclTopology> fill_from_nccl_topology(DocumentNode& node,
                                                    const std::filesystem::path& folder,
                                                    Errors& errors);
// NICs and their bandwidth, at the place of the node's key.
void fill_fabric_from(const NcclTopology& topology, const DocumentNode& node, DocumentNode& fabric);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The fabric as an engine's NCCL uses it (serving.engine.nvls).
#pragma once

#include "network/fabric/fabric.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

// Errors are those of build_fabric().
inline Result<Fabric> engine_fabric(ClusterSpec cluster, const ServingEngine& engine) {
    cluster.node.nvls = cluster.node.nvls && engine.nvls;
    return build_fabric(cluster);
}

}  // namespace orrery

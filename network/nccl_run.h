// SPDX-License-Identifier: Apache-2.0
// A collective as it runs: what NCCL chose, on the channels that the call may use (its maxCTAs), or
// moved by copy engines.
#pragma once

#include <cstdint>

#include "engine/program/program.h"
#include "network/fabric/cluster_spec.h"
#include "network/nccl/nccl_tuning.h"

namespace orrery {

NcclFunction nccl_function(CollectiveKind kind);

// What the bytes of a transfer count: what passes each ring edge, or the whole vector.
std::int64_t nccl_progress(const CollectiveCall& call, NcclAlgorithm a, std::uint32_t num_ranks);

// What moves a call between members on `num_nodes` nodes: copy engines reach one node only.
TransferEngine transfer_engine(const CollectiveCall& call, std::uint32_t num_nodes);

struct NcclRun {
    NcclChoice choice;
    double bandwidth = 0;  // GB/s of the vector
    TransferEngine engine = TransferEngine::sm;
};

// `chosen`: by NCCL, without limits.
NcclRun nccl_run(const CollectiveCall& call,
                 const NcclChoice& chosen,
                 const NcclTuning& tuning,
                 const NodeSpec& node);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The execution of a collective: NCCL's choice on the channels that the call may use (its maxCTAs),
// or copy engines.
#pragma once

#include <cstdint>

#include "engine/program/program.h"
#include "network/fabric/cluster_spec.h"
#include "network/nccl/nccl_tuning.h"

namespace orrery {

NcclFunction nccl_function(CollectiveKind kind);

// The meaning of a transfer's bytes: the bytes over each edge of a ring, or the whole vector.
std::int64_t nccl_progress(const CollectiveCall& call, NcclAlgorithm a, std::uint32_t num_ranks);

// The engine for a call between members on `num_nodes` nodes: copy engines reach only one node.
TransferEngine transfer_engine(const CollectiveCall& call, std::uint32_t num_nodes);

struct NcclRun {
    NcclChoice choice;
    double bandwidth = 0;  // GB/s of the vector
    TransferEngine engine = TransferEngine::sm;
};

// `chosen` is NCCL's choice without limits.
NcclRun nccl_run(const CollectiveCall& call,
                 const NcclChoice& chosen,
                 const NcclTuning& tuning,
                 const NodeSpec& node);

}  // namespace orrery

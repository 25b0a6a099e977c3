// SPDX-License-Identifier: Apache-2.0
// The time of a pipelined collective beyond latency and bytes / bandwidth: chunks in flight while a
// part of the pipeline is idle, at its start and its end.
//   ring:     the last chunk is received after the last one was sent: one chunk per channel.
//   chain:    a broadcast passes round a ring. A NIC sends a chunk that its GPU has written whole
//             (src/transport/net.cc, sendProxyProgress): one chunk per channel and message between
//             nodes. Inside a node GPUs pass on what has arrived.
//   NVLS:     a chunk of every head goes up (sum) and down (result): two.
//   NVLSTree: up and down every level of the tree over nodes: two per level.
// Chunk sizes are NCCL 2.28's (src/enqueue.cc). The tree's own fill is part of NCCL's correction of
// its bandwidth by size, PAT's is in its latency. The counts of chunks are ours, checked against
// published all_reduce times (tests/network/collectives_published_test.cpp).
#pragma once

#include <cstdint>

#include "network/nccl/nccl_tuning.h"

namespace orrery {

struct PipelinedCall {
    std::int64_t bytes = 0;
    std::uint32_t num_nodes = 1;
    std::uint32_t num_ranks = 1;
    std::uint32_t heads = 1;           // GPUs per node that own a slice (NVLS)
    std::uint32_t passes = 1;          // around a ring: 2 for all_reduce
    bool chain = false;                // broadcast
    std::int64_t nvls_tree_chunk = 0;  // NCCL_NVLSTREE_MAX_CHUNKSIZE; 0: NCCL's
};

// Bytes of the vector that all channels (and heads) together have in flight.
std::int64_t nccl_bytes_in_flight(const NcclChoice& choice, const PipelinedCall& call);

// `bandwidth` in GB/s of the whole vector, as NcclChoice::bandwidth.
double pipeline_fill_us(const NcclChoice& choice, const PipelinedCall& call, double bandwidth);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "network/nccl_run.h"

#include <algorithm>

#include "engine/base/check.h"
#include "network/collectives/ring.h"
#include "network/nccl/nccl_channel.h"
#include "network/nccl/nccl_graph.h"

namespace orrery {
namespace {

// NCCL's estimate decides the choice, and also limits the rate, with two exceptions. Rings of small
// calls are limited by their few channels (nccl_channel.h). And for all_reduce with NVLS inside a
// node, NCCL's estimate uses the bandwidth of rings, although the limit is the NVLink port: (p+1)/p
// of the bytes pass it, at nvls_efficiency of NCCL's NVLink bandwidth. Published H200 figures for
// 5, 6, 7 and 8 GPUs agree with that count of bytes to 2 %. NVLSTree does the same inside its
// nodes, and is also limited by its channels between them.
double bandwidth_of(const CollectiveCall& call,
                    const NcclChoice& choice,
                    const NcclCommunicator& communicator,
                    const NodeSpec& node) {
    const std::uint32_t cc = communicator.compute_capability;
    const bool ring = choice.algorithm == NcclAlgorithm::ring;
    if (ring && call.kind != CollectiveKind::broadcast) {
        // (n - 1)/n of the vector's bytes pass each edge, twice for all_reduce.
        const double n = communicator.num_ranks;
        const double passes = call.kind == CollectiveKind::all_reduce ? 2 : 1;
        const double edge =
            choice.channels * nccl_channel_bandwidth(choice.protocol, cc, communicator.num_nodes);
        return edge > 0 ? std::min(choice.bandwidth, edge * n / (passes * (n - 1)))
                        : choice.bandwidth;
    }
    const bool tree = choice.algorithm == NcclAlgorithm::nvls_tree;
    if (!(tree || choice.algorithm == NcclAlgorithm::nvls) ||
        call.kind != CollectiveKind::all_reduce) {
        return choice.bandwidth;
    }
    const double port = nccl_intra_bandwidth(node, cc) * nvls_efficiency(cc);
    const double p = static_cast<double>(communicator.num_ranks) / communicator.num_nodes;
    const double inside = port * p / (p + 1);
    return tree ? std::min(inside, nvls_tree_network_bandwidth(communicator)) : inside;
}

}  // namespace

NcclFunction nccl_function(CollectiveKind kind) {
    switch (kind) {
        case CollectiveKind::all_gather:
            return NcclFunction::all_gather;
        case CollectiveKind::reduce_scatter:
            return NcclFunction::reduce_scatter;
        case CollectiveKind::broadcast:
            return NcclFunction::broadcast;
        default:
            return NcclFunction::all_reduce;
    }
}

std::int64_t nccl_progress(const CollectiveCall& call, NcclAlgorithm a, std::uint32_t num_ranks) {
    const std::int64_t bytes = call.bytes.count();
    return a == NcclAlgorithm::ring ? ring_edge_bytes(call.kind, bytes, num_ranks) : bytes;
}

TransferEngine transfer_engine(const CollectiveCall& call, std::uint32_t num_nodes) {
    const bool copies = call.mover.engine == TransferEngine::copy_engine;
    return copies && num_nodes > 1 ? TransferEngine::sm : call.mover.engine;
}

// maxCTAs does not change NCCL's choice of algorithm and protocol, because their graphs are found
// before; it removes channels. Each channel has its share of the total rate: two blocks saturate an
// NVLink (NCCL issue 1703), so that fewer leave bandwidth unused. If NICs limit the call, a channel
// could still fill its share of the NVLinks.
//
// Copy engines push blocks around a ring, as in Transformer Engine's `ring_exchange`: every step
// has a copy, a flag and a wait. Assumption: a step takes as long as one of NCCL's Simple protocol,
// which has the same three, and the copies reach its bandwidth.
NcclRun nccl_run(const CollectiveCall& call,
                 const NcclChoice& chosen,
                 const NcclTuning& tuning,
                 const NodeSpec& node) {
    const NcclCommunicator& communicator = tuning.communicator();
    const TransferEngine engine = transfer_engine(call, communicator.num_nodes);
    if (engine == TransferEngine::copy_engine) {
        const auto ring = tuning.estimate(nccl_function(call.kind),
                                          NcclAlgorithm::ring,
                                          NcclProtocol::simple,
                                          call.bytes.count());
        ORRERY_CHECK(ring.has_value());
        return {*ring, ring->bandwidth, engine};
    }
    NcclRun run{chosen, bandwidth_of(call, chosen, communicator, node), engine};
    const std::uint32_t limit = call.mover.sm_limit;
    if (limit > 0 && limit < run.choice.channels) {
        const auto bytes = std::max<std::int64_t>(call.bytes.count(), 1);
        const double passes =
            static_cast<double>(nccl_progress(call, run.choice.algorithm, communicator.num_ranks)) /
            static_cast<double>(bytes);
        const double inside = nccl_intra_bandwidth(node, communicator.compute_capability);
        const double all = communicator.num_nodes > 1 ? std::max(inside, run.bandwidth * passes)
                                                      : run.bandwidth * passes;
        run.bandwidth =
            std::min(run.bandwidth, all * limit / run.choice.channels / std::max(passes, 1e-9));
        run.choice.channels = limit;
    }
    return run;
}

}  // namespace orrery

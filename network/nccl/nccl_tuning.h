// SPDX-License-Identifier: Apache-2.0
// NCCL 2.28's choice of algorithm, protocol and channels for a collective: the smallest of its own
// estimates
//     time = latency + bytes / bandwidth
// over every enabled (algorithm, protocol). Formulas and constants: NCCL 2.28.9,
// src/graph/tuning.cc and src/enqueue.cc (restated from their description). Not included: the
// search for graphs (nccl_graph.h), and collnet (needs a switch that aggregates).
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "engine/program/kernel_call.h"
#include "network/fabric/nccl_choice_table.h"

namespace orrery {

// Kinds of path, nearest first; comparisons use this order.
enum class NcclPath : std::uint8_t { loc, nvl, nvb, c2c, pix, pxb, p2c, pxn, phb, sys, net, dis };

enum class NcclCpu : std::uint8_t { intel, amd, other };

// The result of the topology search for one algorithm. Without channels the algorithm is not
// available.
struct NcclGraph {
    std::uint32_t channels = 0;
    double bw_intra = 0;  // GB/s of one channel
    double bw_inter = 0;
    NcclPath type_intra = NcclPath::nvl;
    NcclPath type_inter = NcclPath::pix;
    double latency_inter = 0;  // us, as the network's plugin reports it
    bool same_channels = true;
};

struct NcclCommunicator {
    std::uint32_t compute_capability = 90;  // minimum of the members
    std::uint32_t num_nodes = 1;
    std::uint32_t num_ranks = 1;
    NcclCpu cpu = NcclCpu::intel;
    std::uint32_t channels = 0;        // for ring, tree and PAT
    std::uint32_t nvls_channels = 0;   // for NVLS and NVLSTree
    bool nvswitch = false;             // with multicast
    bool plain_tree = false;           // the largest tree pattern puts all traffic on the first GPU
    bool ll128 = true;                 // all members have the same capability
    double message_us = 0;             // of the network, if it is more than NCCL's constants
    std::int64_t eager_bytes = 0;      // messages up to it don't take NcclGraph::latency_inter
    std::int64_t nvls_tree_chunk = 0;  // the largest, as the network's plugin sets it; 0: NCCL's
    std::array<NcclGraph, kNumNcclAlgorithms> graphs{};
    NcclChoiceTable choices{};  // of the network's plugin, which precede NCCL's own

    const NcclGraph& graph(NcclAlgorithm a) const { return graphs[static_cast<std::size_t>(a)]; }
    NcclGraph& graph(NcclAlgorithm a) { return graphs[static_cast<std::size_t>(a)]; }
};

struct NcclChoice {
    NcclAlgorithm algorithm = NcclAlgorithm::ring;
    NcclProtocol protocol = NcclProtocol::simple;
    double time_us = 0;
    double latency_us = 0;       // with the corrections for this size
    double bandwidth = 0;        // GB/s of nBytes, with the corrections for this size
    std::uint32_t channels = 0;  // channels (= SMs) that the call runs on
    std::uint32_t threads = 0;   // per channel
};

class NcclTuning {
public:
    explicit NcclTuning(const NcclCommunicator& communicator);

    // Before the corrections for a size. Bandwidth 0: cannot run.
    double latency_us(NcclFunction f, NcclAlgorithm a, NcclProtocol p) const;
    double bandwidth(NcclFunction f, NcclAlgorithm a, NcclProtocol p) const;

    // NCCL's estimate for this size; no value if the combination cannot run.
    std::optional<NcclChoice> estimate(NcclFunction f,
                                       NcclAlgorithm a,
                                       NcclProtocol p,
                                       std::int64_t bytes) const;
    // NCCL's choice. `wire` matters because multicast cannot add every type, and because long
    // chains of fp8 additions are avoided.
    NcclChoice choose(NcclFunction f, std::int64_t bytes, Dtype wire) const;

    const NcclCommunicator& communicator() const { return communicator_; }

private:
    struct Entry {
        double latency_us = 0;
        double bandwidth = 0;
    };
    const Entry& entry(NcclFunction f, NcclAlgorithm a, NcclProtocol p) const;
    void set_channels(std::int64_t bytes, NcclChoice& choice) const;

    NcclCommunicator communicator_;
    std::array<std::array<std::array<Entry, kNumNcclProtocols>, kNumNcclAlgorithms>,
               kNumNcclFunctions>
        table_{};
};

// Fraction of the NVLink bandwidth that in-switch reduction reaches (0: no such hardware).
double nvls_efficiency(std::uint32_t compute_capability);
// The bandwidth of the whole vector that NVLSTree's channels reach between nodes, GB/s.
double nvls_tree_network_bandwidth(const NcclCommunicator& communicator);
// Start-up of any kernel of this protocol, and one step between two nodes or inside one, as in ring
// collectives (us). Point-to-point messages use them, too.
double nccl_base_latency_us(NcclProtocol p);
double nccl_step_latency_us(NcclProtocol p, bool network, bool nvlink);
// The time of a message of this protocol on a network whose messages take `message_us`. Simple also
// waits for the completion.
double nccl_message_latency_us(NcclProtocol p, double message_us);

}  // namespace orrery

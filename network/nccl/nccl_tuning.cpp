// SPDX-License-Identifier: Apache-2.0
#include "network/nccl/nccl_tuning.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engine/base/check.h"
#include "network/nccl/nccl_channel.h"

namespace orrery {
namespace {

using A = NcclAlgorithm;
using F = NcclFunction;
using P = NcclProtocol;

constexpr std::size_t at(A a) {
    return static_cast<std::size_t>(a);
}
constexpr std::size_t at(F f) {
    return static_cast<std::size_t>(f);
}
constexpr std::size_t at(P p) {
    return static_cast<std::size_t>(p);
}

using ByProtocol = std::array<double, kNumNcclProtocols>;
using ByNodes = std::array<double, 3>;        // one node, two nodes, more
using ByGeneration = std::array<ByNodes, 4>;  // Volta, Ampere, Hopper, Blackwell

// In the order of NcclAlgorithm: tree, ring, nvls, nvls_tree, pat. Microseconds.
constexpr std::array<ByProtocol, kNumNcclAlgorithms> kBaseLatencies{
    {{6.8, 14.0, 8.4}, {6.6, 14.0, 8.4}, {0, 0, 0}, {0, 0, 0}, {8, 8, 8}}};
constexpr std::array<ByProtocol, kNumNcclAlgorithms> kNvlinkLatencies{
    {{0.6, 1.25, 4.0}, {0.6, 1.9, 3.4}, {0, 0, 25}, {0, 0, 25}, {0, 0, 4.0}}};
constexpr std::array<ByProtocol, kNumNcclAlgorithms> kPciLatencies{
    {{1.0, 1.9, 4.0}, {1.0, 2.5, 5.7}, {0, 0, 0}, {0, 0, 0}, {0, 0, 4.0}}};
constexpr std::array<ByProtocol, kNumNcclAlgorithms> kNetLatencies{
    {{5.0, 8.5, 14}, {2.7, 4.0, 14.0}, {0, 0, 18}, {0, 0, 20.9}, {0, 0, 14}}};

// GB/s: of the communicator for LL, of one channel otherwise.
constexpr ByGeneration kLlMax{{{39, 39, 20.4}, {87.7, 22.5, 19}, {141, 45, 35}, {282, 90, 70}}};
constexpr ByGeneration kRingLl128PerChannel{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 36.7}, {73.4, 34.6, 73.4}}};
constexpr ByGeneration kTreeLl128PerChannel{
    {{20, 20, 20}, {20, 20, 20}, {36.7, 36.7, 29.0}, {55.6, 31.67, 20.0}}};
constexpr ByGeneration kTreePerChannel{
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {38.7, 41.4, 36}, {70, 42.8, 24}}};
constexpr ByGeneration kNvlsTreePerChannel{
    {{26.5, 18.5, 10}, {24, 23.6, 17.8}, {0, 57.7, 45.5}, {0, 96, 43.8}}};

// Fraction of the tree's bandwidth by log2(bytes / 64), measured by NCCL's authors: 64 B … 256 MB.
constexpr std::size_t kNumTreeSizes = 23;
constexpr std::array<std::array<double, kNumTreeSizes>, kNumNcclProtocols> kTreeCorrection{
    {{1, 1, 1, 1, .9, .8, .7, .7, .7, .7, .6, .5, .4, .4, .5, .6, .7, .8, .9, 1, 1, 1, 1},
     {1, 1, 1, 1, 1, .9, .8, .8, .8, .7, .6, .6, .6, .6, .6, .6, .8, .9, .9, .9, .9, 1, 1},
     {.9, .9, .9, .9, .9, .9, .9, .8, .7, .6, .6, .5, .5, .5, .5, .6, .7, .8, .7, .7, .8, .9, .9}}};

std::size_t generation(std::uint32_t compute_capability) {
    return compute_capability >= 100  ? 3
           : compute_capability >= 90 ? 2
           : compute_capability >= 80 ? 1
                                      : 0;
}

std::uint32_t log2_floor(std::uint64_t n) {
    return n == 0 ? 0 : static_cast<std::uint32_t>(std::bit_width(n) - 1);
}

std::uint32_t num_steps(F f, std::uint32_t n) {
    switch (f) {
        case F::all_reduce:
            return 2 * (n - 1);
        case F::all_gather:
        case F::reduce_scatter:
            return n - 1;
        default:
            return n;
    }
}

// The common quantities of all formulas.
struct Inputs {
    const NcclCommunicator& c;
    std::size_t row;     // by generation
    std::size_t column;  // by number of nodes
    double ranks_per_node;
    double ll_max;

    explicit Inputs(const NcclCommunicator& communicator)
        : c(communicator),
          row(generation(c.compute_capability)),
          column(c.num_nodes <= 2 ? c.num_nodes - 1 : 2),
          ranks_per_node(static_cast<double>(c.num_ranks) / c.num_nodes),
          // With several nodes the host's CPU forwards LL, so that its row counts, not the GPU's.
          ll_max(c.num_nodes == 1        ? kLlMax[row][0]
                 : c.cpu == NcclCpu::amd ? kLlMax[1][column]
                                         : kLlMax[0][column]) {}
};

bool runs(F f, A a, P p) {
    switch (a) {
        case A::ring:
            return true;
        case A::tree:
            return f == F::all_reduce;
        case A::nvls_tree:
            return f == F::all_reduce && p == P::simple;
        case A::nvls:
            return f != F::broadcast && f != F::reduce && p == P::simple;
        case A::pat:
            return (f == F::all_gather || f == F::reduce_scatter) && p == P::simple;
    }
    return false;
}

bool enabled(const Inputs& in, A a, P p) {
    const auto& c = in.c;
    const auto& g = c.graph(a);
    if (g.channels == 0) {
        return false;
    }
    const bool one_node = c.num_nodes == 1;
    if (a == A::nvls || a == A::nvls_tree) {
        // NVLS over several nodes needs collnet.
        return c.nvswitch && c.compute_capability >= 90 && g.channels >= 2 &&
               (a == A::nvls) == one_node;
    }
    if (a == A::pat) {
        return c.compute_capability >= 60 && c.num_nodes == c.num_ranks;
    }
    if (p == P::ll128) {
        const auto farthest = c.compute_capability >= 90 ? NcclPath::pxn : NcclPath::pxb;
        return c.ll128 && c.compute_capability >= 70 && g.type_intra <= NcclPath::nvb &&
               g.type_inter <= farthest;
    }
    return true;
}

// The bandwidth of a channel of NVLS or NVLSTree between nodes.
double nvls_channel_inter(const Inputs& in, A a) {
    const double inter =
        in.c.graph(a).bw_inter * (in.c.num_nodes <= 2 && a == A::nvls_tree ? 2.0 : 1.0);
    return a == A::nvls_tree ? std::min(inter, kNvlsTreePerChannel[in.row][in.column]) : inter;
}

double nvls_channel_bandwidth(const Inputs& in, F f, A a) {
    const auto& g = in.c.graph(a);
    const double channels = g.channels;
    double intra =
        g.bw_intra * nvls_efficiency(in.c.compute_capability) * (channels - 1) / channels;
    intra *= f == F::all_reduce ? 2.0 : (in.ranks_per_node - 1) / in.ranks_per_node;
    return std::min(intra, nvls_channel_inter(in, a));
}

double ring_bus_bandwidth(const Inputs& in, P p, double bus) {
    const double channels = in.c.graph(A::ring).channels;
    switch (p) {
        case P::ll:
            return std::min(in.ll_max, 0.5 * bus);
        case P::ll128:
            return std::min(0.92 * bus, channels * kRingLl128PerChannel[in.row][in.column]);
        default:
            return bus;
    }
}

double tree_bus_bandwidth(const Inputs& in, P p, double bus) {
    const double channels = in.c.graph(A::tree).channels;
    double bw = std::min(0.92 * bus, channels * kTreePerChannel[in.row][in.column]);
    if (p == P::ll) {
        bw = std::min(bw / 3.8, in.ll_max);
    } else if (p == P::ll128) {
        const double share = in.c.num_nodes == 1 ? 7.0 / 9.0 : 120.0 / 128.0;
        bw = std::min(bw * share, channels * kTreeLl128PerChannel[in.row][in.column]);
    }
    return in.c.plain_tree ? 0.85 * bw : bw;
}

// The bandwidth of the whole vector (algorithm bandwidth), GB/s.
double table_bandwidth(const Inputs& in, F f, A a, P p) {
    const auto& c = in.c;
    const auto& g = c.graph(a);
    double bw = c.num_nodes <= 2 ? g.bw_intra : g.bw_inter;
    if (a == A::nvls || a == A::nvls_tree) {
        bw = nvls_channel_bandwidth(in, f, a);
    }
    double bus = g.channels * bw;
    if (a == A::pat) {
        bus *= 0.75;
    } else if (a == A::ring) {
        bus = ring_bus_bandwidth(in, p, bus);
    } else if (a == A::tree) {
        bus = tree_bus_bandwidth(in, p, bus);
    }
    if (a == A::tree) {
        return 0.5 * bus;
    }
    const bool unconverted = a != A::ring && f != F::all_reduce;
    return unconverted ? bus : bus * c.num_ranks / num_steps(f, c.num_ranks);
}

double ring_latency(const Inputs& in, F f, P p, double base, double intra, double inter) {
    const auto& c = in.c;
    const std::uint32_t steps = num_steps(f, c.num_ranks);
    const bool network = c.num_nodes > 1;
    if (f == F::broadcast || f == F::reduce) {
        const bool same = c.graph(A::ring).same_channels;
        const auto from = !same && p == P::simple ? A::tree : A::ring;
        const double lat = network ? kNetLatencies[at(from)][at(p)] : intra;
        return same ? base + lat : base + steps * lat;
    }
    const std::uint32_t inter_steps =
        !network ? 0 : (f == F::all_reduce ? 2 : 1) * (c.num_nodes - 1);
    double overhead = !network ? 0.0 : c.cpu == NcclCpu::amd ? 2.0 : 1.0;
    overhead *= p == P::simple ? 3.0 : 1.0;
    return base + (steps - inter_steps) * std::max(intra, overhead) + inter_steps * inter;
}

double table_latency(const Inputs& in, F f, A a, P p) {
    const auto& c = in.c;
    const auto& g = c.graph(a);
    const double base = kBaseLatencies[at(a)][at(p)];
    const auto& intra_table = g.type_intra == NcclPath::nvl ? kNvlinkLatencies : kPciLatencies;
    const double intra = intra_table[at(a)][at(p)];
    const auto from = c.num_nodes == c.num_ranks ? A::tree : a;
    const double inter =
        std::max(kNetLatencies[at(from)][at(p)] + g.latency_inter * (p == P::simple ? 2.0 : 1.0),
                 nccl_message_latency_us(p, c.message_us));
    const double levels = log2_floor(c.num_nodes);
    switch (a) {
        case A::ring:
            return ring_latency(in, f, p, base, intra, inter);
        case A::tree:
            return base + 2 * ((in.ranks_per_node - 1) * intra + levels * inter);
        case A::nvls:
            return intra + (c.num_nodes > 1 ? inter : 0.0);
        case A::nvls_tree:
            return base + intra + 2 * levels * inter;
        case A::pat:
            return base + levels * inter / 3.5 + c.num_ranks * 2.8;
    }
    return base;
}

// The bytes of a channel's message between nodes, flags included, below the size of a chunk.
std::int64_t message_bytes(const NcclCommunicator& c,
                           F f,
                           const NcclChoice& choice,
                           std::int64_t bytes) {
    const bool scattered = (choice.algorithm == A::ring && f != F::broadcast && f != F::reduce) ||
                           choice.algorithm == A::pat;
    const bool heads = choice.algorithm == A::nvls_tree;
    const double parts = scattered ? c.num_ranks
                         : heads   ? static_cast<double>(c.num_ranks) / c.num_nodes
                                   : 1.0;
    const double flags = choice.protocol == P::ll      ? 2.0
                         : choice.protocol == P::ll128 ? 128.0 / 120.0
                                                       : 1.0;
    return static_cast<std::int64_t>(
        std::ceil(static_cast<double>(bytes) * flags / (choice.channels * parts)));
}

// The share of an estimated latency that a call takes. NCCL counts a plugin's latency twice for
// Simple, the second time for the flush of what GPUDirect wrote; from sm90 on it flushes only if
// NCCL_NET_FORCE_FLUSH says so, which aws-ofi-nccl sets to 0 (src/platform-aws.cpp). A message that
// it sends eagerly does not wait for the receiver's control message (src/nccl_ofi_rdma.cpp).
double spent_share(const NcclCommunicator& c, F f, const NcclChoice& choice, std::int64_t bytes) {
    const A a = choice.algorithm;
    const P p = choice.protocol;
    const double reported = c.graph(a).latency_inter;
    if (reported <= 0) {
        return 1;
    }
    const bool eager = c.eager_bytes > 0 && message_bytes(c, f, choice, bytes) <= c.eager_bytes;
    const bool flushes = p == P::simple && c.compute_capability < 90;
    NcclCommunicator once = c;
    once.graph(a).latency_inter =
        reported * ((eager ? 0.0 : 1.0) + (flushes ? 1.0 : 0.0)) / (p == P::simple ? 2.0 : 1.0);
    return table_latency(Inputs(once), f, a, p) / table_latency(Inputs(c), f, a, p);
}

// The dtypes that NVSwitch can add in flight.
bool multicast_adds(Dtype wire) {
    return wire == Dtype::fp32 || wire == Dtype::bf16 || wire == Dtype::fp16 ||
           wire == Dtype::int32;
}

std::uint32_t max_threads(const NcclCommunicator& c, A a, P p) {
    if (a == A::nvls || a == A::nvls_tree || p == P::ll128) {
        return 640;
    }
    const auto& ring = c.graph(A::ring);
    constexpr double kPciBandwidth = 12.0;
    const bool slow = ring.channels * ring.bw_intra <= kPciBandwidth;
    return a == A::ring && p == P::simple && slow ? 256 : 512;
}

}  // namespace

double nvls_efficiency(std::uint32_t compute_capability) {
    constexpr std::array<double, 4> kEfficiency{0, 0, 0.85, 0.74};
    return kEfficiency[generation(compute_capability)];
}

double nvls_tree_network_bandwidth(const NcclCommunicator& communicator) {
    const Inputs in(communicator);
    const double bus =
        communicator.graph(A::nvls_tree).channels * nvls_channel_inter(in, A::nvls_tree);
    return bus * communicator.num_ranks / num_steps(F::all_reduce, communicator.num_ranks);
}

double nccl_base_latency_us(NcclProtocol p) {
    return kBaseLatencies[at(A::ring)][at(p)];
}

double nccl_step_latency_us(NcclProtocol p, bool network, bool nvlink) {
    return (network  ? kNetLatencies
            : nvlink ? kNvlinkLatencies
                     : kPciLatencies)[at(A::ring)][at(p)];
}

double nccl_channel_bandwidth(NcclProtocol p,
                              std::uint32_t compute_capability,
                              std::uint32_t num_nodes) {
    const std::size_t column = num_nodes > 2 ? 2 : num_nodes - 1;
    const double ll128 = kRingLl128PerChannel[generation(compute_capability)][column];
    return p == P::ll128 ? ll128 : p == P::ll ? ll128 * (1.0 / 2) / (15.0 / 16) : 0;
}

// 3 us: aws-ofi-nccl's tuner, TUNER_NET_COMP_OVERHEAD (2 us in the device, 1 us to the host).
double nccl_message_latency_us(NcclProtocol p, double message_us) {
    return message_us > 0 && p == P::simple ? message_us + 3 : message_us;
}

NcclTuning::NcclTuning(const NcclCommunicator& communicator) : communicator_(communicator) {
    ORRERY_CHECK(communicator.num_nodes >= 1 && communicator.num_ranks >= communicator.num_nodes);
    const Inputs in(communicator_);
    if (communicator_.num_ranks < 2) {
        return;
    }
    for (std::size_t f = 0; f < kNumNcclFunctions; ++f) {
        for (std::size_t a = 0; a < kNumNcclAlgorithms; ++a) {
            for (std::size_t p = 0; p < kNumNcclProtocols; ++p) {
                const auto function = static_cast<F>(f);
                const auto algorithm = static_cast<A>(a);
                const auto protocol = static_cast<P>(p);
                if (runs(function, algorithm, protocol) && enabled(in, algorithm, protocol)) {
                    table_[f][a][p] = {table_latency(in, function, algorithm, protocol),
                                       table_bandwidth(in, function, algorithm, protocol)};
                }
            }
        }
    }
}

const NcclTuning::Entry& NcclTuning::entry(F f, A a, P p) const {
    return table_[at(f)][at(a)][at(p)];
}
double NcclTuning::latency_us(F f, A a, P p) const {
    return entry(f, a, p).latency_us;
}
double NcclTuning::bandwidth(F f, A a, P p) const {
    return entry(f, a, p).bandwidth;
}

std::optional<NcclChoice> NcclTuning::estimate(F f, A a, P p, std::int64_t bytes) const {
    const auto& e = entry(f, a, p);
    if (e.bandwidth <= 0) {
        return std::nullopt;
    }
    NcclChoice choice{
        .algorithm = a, .protocol = p, .latency_us = e.latency_us, .bandwidth = e.bandwidth};
    const auto& c = communicator_;
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0));
    if (a == A::tree && f == F::all_reduce) {
        const auto i = log2_floor(size >> 6);
        choice.bandwidth *= i < kNumTreeSizes ? kTreeCorrection[at(p)][i] : 1.0;
    }
    const auto per_chunk =
        size / std::max<std::uint64_t>(1, std::uint64_t{c.channels} * c.num_ranks);
    if (a == A::ring && p == P::simple && f == F::all_reduce && c.num_nodes > 1 &&
        per_chunk >= 64) {
        choice.latency_us *= c.compute_capability < 80 ? 1.9 : 1.4;
    }
    choice.time_us = choice.latency_us + static_cast<double>(size) / (1000 * choice.bandwidth);
    set_channels(bytes, choice);
    return choice;
}

NcclChoice NcclTuning::choose(F f, std::int64_t bytes, Dtype wire) const {
    NcclChoice best;
    double least = 0;
    const bool reduces = f != F::all_gather && f != F::broadcast;
    const auto& c = communicator_;
    const auto spent = [&](NcclChoice choice) {
        choice.latency_us *= spent_share(c, f, choice, bytes);
        return choice;
    };
    if (const auto told = choice_of_table(c.choices, f, c.num_nodes, c.num_ranks, bytes)) {
        const bool adds = told->algorithm != A::nvls_tree || !reduces || multicast_adds(wire);
        const auto choice = estimate(f, told->algorithm, told->protocol, bytes);
        if (adds && choice) {
            return spent(*choice);
        }
    }
    for (std::size_t a = 0; a < kNumNcclAlgorithms; ++a) {
        const auto algorithm = static_cast<A>(a);
        const bool multicast = algorithm == A::nvls || algorithm == A::nvls_tree;
        if (multicast && reduces && !multicast_adds(wire)) {
            continue;
        }
        // A ring adds n terms in sequence, which is too imprecise in fp8 for many ranks.
        const bool imprecise =
            algorithm == A::ring && reduces && wire == Dtype::fp8 && communicator_.num_ranks > 8;
        for (std::size_t p = 0; p < kNumNcclProtocols; ++p) {
            const auto candidate = estimate(f, algorithm, static_cast<P>(p), bytes);
            if (!candidate) {
                continue;
            }
            const double cost = candidate->time_us * (imprecise ? 1024.0 : 1.0);
            if (best.channels == 0 || cost < least) {
                best = *candidate;
                least = cost;
            }
        }
    }
    ORRERY_CHECK(best.channels > 0);
    return spent(best);
}

void NcclTuning::set_channels(std::int64_t bytes, NcclChoice& choice) const {
    const auto a = choice.algorithm;
    const auto p = choice.protocol;
    const auto& c = communicator_;
    std::int64_t threads = max_threads(c, a, p);
    std::int64_t channels = a == A::nvls || a == A::nvls_tree ? c.nvls_channels : c.channels;
    channels = std::max<std::int64_t>(channels, 1);
    if (a == A::ring || a == A::tree) {
        std::int64_t per_thread = p == P::simple ? 64 : 8;
        if (p == P::ll && a == A::ring) {
            per_thread *= c.num_ranks;
        }
        while (bytes < channels * threads * per_thread && channels >= 2) {
            --channels;
        }
        while (bytes < channels * threads * per_thread && threads % 128 == 0) {
            threads /= 2;
        }
        if (p == P::simple) {
            threads = a == A::tree ? 640 : threads + 32;  // an additional warp for the flags
        }
    } else if (a == A::pat) {
        threads = 640;
    }
    choice.channels = static_cast<std::uint32_t>(channels);
    choice.threads = static_cast<std::uint32_t>(threads);
}

}  // namespace orrery

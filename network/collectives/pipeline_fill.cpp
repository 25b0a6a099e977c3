// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/pipeline_fill.h"

#include <algorithm>
#include <array>
#include <bit>

namespace orrery {
namespace {

constexpr std::int64_t kKiB = 1024;

// Simple makes four steps of its buffer one chunk, for broadcast one (src/include/collectives.h).
std::int64_t ring_chunk(NcclProtocol protocol, bool chain) {
    switch (protocol) {
        case NcclProtocol::ll:
            return 32 * kKiB;  // half of the moved bytes are flags
        case NcclProtocol::ll128:
            return 576'000;
        default:
            return (chain ? 512 : 2048) * kKiB;
    }
}

struct ChunkLimit {
    std::int64_t chunk;
    std::int64_t fewer_than;  // a multiple of the bytes in flight of all channels and heads
};

// Small calls use small chunks, so that there are enough of them to fill the pipeline.
template <std::size_t N>
std::int64_t limited(std::int64_t chunk,
                     std::int64_t bytes,
                     std::int64_t concurrent,
                     const std::array<ChunkLimit, N>& limits) {
    for (const auto& limit : limits) {
        if (chunk > limit.chunk && bytes < limit.fewer_than * concurrent * chunk) {
            chunk = limit.chunk;
        }
    }
    return chunk;
}

}  // namespace

std::int64_t nccl_bytes_in_flight(const NcclChoice& choice, const PipelinedCall& call) {
    const std::int64_t channels = choice.channels;
    switch (choice.algorithm) {
        case NcclAlgorithm::ring:
            return std::min(call.bytes,
                            channels * (call.chain ? 1 : call.num_ranks) *
                                ring_chunk(choice.protocol, call.chain));
        case NcclAlgorithm::nvls: {
            constexpr std::array<ChunkLimit, 3> kLimits{
                {{64 * kKiB, 64}, {32 * kKiB, 8}, {16 * kKiB, 2}}};
            const std::int64_t concurrent = channels * call.heads;
            const std::int64_t chunk = limited(128 * kKiB, call.bytes, concurrent, kLimits);
            return std::min(call.bytes, concurrent * chunk);
        }
        case NcclAlgorithm::nvls_tree: {
            constexpr std::array<ChunkLimit, 4> kLimits{
                {{256 * kKiB, 32}, {128 * kKiB, 16}, {64 * kKiB, 4}, {32 * kKiB, 1}}};
            const std::int64_t concurrent = channels * call.heads;
            const std::int64_t most = call.nvls_tree_chunk > 0
                                          ? call.nvls_tree_chunk
                                          : (call.num_nodes >= 4 ? 64 : 512) * kKiB;
            const std::int64_t chunk = limited(most, call.bytes, concurrent, kLimits);
            return std::min(call.bytes, concurrent * chunk);
        }
        default:
            return 0;
    }
}

double pipeline_fill_us(const NcclChoice& choice, const PipelinedCall& call, double bandwidth) {
    const double us = static_cast<double>(nccl_bytes_in_flight(choice, call)) / (1000 * bandwidth);
    switch (choice.algorithm) {
        case NcclAlgorithm::ring:
            if (call.chain) {
                return us * (call.num_nodes - 1);
            }
            // The bytes in flight take passes * (n-1) chunks to go around.
            return us / (call.passes * (call.num_ranks - 1));
        case NcclAlgorithm::nvls:
            return 2 * us;
        case NcclAlgorithm::nvls_tree:
            return 2 * us * (std::bit_width(call.num_nodes) - 1);
        default:
            return 0;
    }
}

}  // namespace orrery

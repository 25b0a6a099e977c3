// SPDX-License-Identifier: Apache-2.0
// The choices that a parallel plan makes among several words, and the limits of its numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace orrery {

enum class Recompute : std::uint8_t { none, selective, full };
// Parts of a layer that a CUDA graph of their own captures (Megatron-Core's --cuda-graph-scope).
enum class CudaGraphPart : std::uint32_t {
    attn = 1,            // from norm 1 to the output of attention
    mlp = 2,             // of a dense layer, from norm 2 to the end
    moe_router = 4,      // norm 2, the router, and the shared expert unless it overlaps
    moe_preprocess = 8,  // the preparation of the token exchange
};

// The source of the scales of FP8 values: the maxima of earlier steps, the tensor, each row and
// column, or blocks of 32 values. Megatron-LM's --fp8-recipe has the first, second and last;
// torchao has the second and third.
enum class Fp8Recipe : std::uint8_t { delayed, tensorwise, rowwise, mxfp8 };
enum class ScheduleKind : std::uint8_t {
    gpipe,
    one_f_one_b,
    interleaved_1f1b,
    breadth_first,
    zero_bubble,
    // Micro-batches enter at both ends, each stage is on two ranks (DeepSeek-V3, arXiv 2412.19437,
    // section 3.2.1)
    dual_pipe,
    dual_pipe_v,  // the same order on half the ranks: the stages run down the pipeline and back
};
// A ring from neighbour to neighbour; heads for tokens; or all keys and values before attention, as
// Llama 3 was trained (arXiv 2407.21783, section 3.3.2).
enum class ContextParallelComm : std::uint8_t { ring, all_to_all, all_gather };
enum class Optimizer : std::uint8_t { adam, lamb };
// The place of optimizer state that is not on the device: the host's memory, or a file on the
// host's drives.
enum class OffloadTier : std::uint8_t { host, file };
// The place of weights or gradients while no pass uses them.
enum class StateTier : std::uint8_t { device, host, file };
// The attention kernel that the software stack ran. It is a fact about the stack, not a tuning
// knob.
enum class AttentionKernel : std::uint8_t { unfused, flash_1, flash_2, flash_3, cudnn };
// The word in scenarios.
constexpr std::string_view name(AttentionKernel kernel) {
    constexpr std::array<std::string_view, 5> kNames{
        "unfused", "flash_1", "flash_2", "flash_3", "cudnn"};
    return kNames[static_cast<std::size_t>(kernel)];
}
// The exchange that moves rows of tokens to the ranks of their experts and back. Order and names
// equal those of network/collectives/dispatcher.h.
enum class TokenDispatcher : std::uint8_t {
    alltoall,            // each row to its rank, by NCCL
    allgather,           // all tokens to all ranks
    hierarchical,        // through one rank of each node
    two_dimensional,     // inside nodes, then between equal local ranks
    deepep,              // once to each node, then over NVLink (DeepEP's normal kernels)
    deepep_low_latency,  // once for each expert, directly between NICs
    hybridep,            // as deepep, with few SMs (DeepEP's branch hybrid-ep)
    host_driven,         // without SMs; the counts stay on the device
};
// The distribution of tokens over experts (models/experts/router_load.h).
enum class RouterLoad : std::uint8_t {
    balanced,       // an equal number for each expert
    uniform,        // drawn, all experts equally likely
    zipf,           // drawn by Zipf's law
    bias_balanced,  // drawn by Zipf's law, then balanced by a bias (Wang et al., arXiv 2408.15664)
    hot,            // one expert of each layer gets more; it differs from layer to layer
    trace,          // counted
    consecutive,    // equal numbers; a token has the experts after those of the token before it
};
// Whether each expert gets an equal number of tokens.
constexpr bool is_even(RouterLoad load) {
    return load == RouterLoad::balanced || load == RouterLoad::consecutive;
}
// The assignment of a layer's experts to ranks: consecutive experts, or sets of about equal load
// (models/experts/expert_placement.h).
enum class ExpertPlacement : std::uint8_t { linear, balanced };
enum class RankOrder : std::uint8_t {
    tp_cp_dp_pp,  // Megatron-LM's default: data-parallel groups inside pipeline groups
    tp_cp_pp_dp,
};

// The index of a piece has 16 bits (engine/program/program.h), and each piece is an op of its own.
inline constexpr std::int64_t kTpCommOverlapChunksMax = 1024;

// More units than any model has.
inline constexpr std::int64_t kPrefetchUnitsMax = 1'000'000;

// More elements than any layer has.
inline constexpr std::int64_t kReuseDistanceMax = 1'000'000'000'000;

}  // namespace orrery

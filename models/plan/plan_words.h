// SPDX-License-Identifier: Apache-2.0
// The words of a plan's choices in scenarios, tables and reports. Choices that are tables have
// their words in their rows (models/plan/recompute_choices.h, models/plan/sharding_strategy.h).
#pragma once

#include "engine/base/field.h"
#include "models/plan/plan.h"

namespace orrery {

inline constexpr Choice<Recompute> kRecomputes[] = {
    {"none", Recompute::none},
    {"selective", Recompute::selective},
    {"full", Recompute::full},
};

// The values are bits.
inline constexpr Choice<std::uint32_t> kCudaGraphParts[] = {
    {"attn", static_cast<std::uint32_t>(CudaGraphPart::attn)},
    {"mlp", static_cast<std::uint32_t>(CudaGraphPart::mlp)},
    {"moe_router", static_cast<std::uint32_t>(CudaGraphPart::moe_router)},
    {"moe_preprocess", static_cast<std::uint32_t>(CudaGraphPart::moe_preprocess)},
};

inline constexpr Choice<Fp8Recipe> kFp8Recipes[] = {
    {"delayed", Fp8Recipe::delayed},
    {"tensorwise", Fp8Recipe::tensorwise},
    {"rowwise", Fp8Recipe::rowwise},
    {"mxfp8", Fp8Recipe::mxfp8},
};

inline constexpr Choice<ScheduleKind> kSchedules[] = {
    {"gpipe", ScheduleKind::gpipe},
    {"1f1b", ScheduleKind::one_f_one_b},
    {"interleaved_1f1b", ScheduleKind::interleaved_1f1b},
    {"breadth_first", ScheduleKind::breadth_first},
    {"zero_bubble", ScheduleKind::zero_bubble},
    {"dualpipe", ScheduleKind::dual_pipe},
    {"dualpipev", ScheduleKind::dual_pipe_v},
};

inline constexpr Choice<AttentionKernel> kAttentionKernels[] = {
    {name(AttentionKernel::unfused), AttentionKernel::unfused},
    {name(AttentionKernel::flash_1), AttentionKernel::flash_1},
    {name(AttentionKernel::flash_2), AttentionKernel::flash_2},
    {name(AttentionKernel::flash_3), AttentionKernel::flash_3},
    {name(AttentionKernel::cudnn), AttentionKernel::cudnn},
};

inline constexpr Choice<RankOrder> kRankOrders[] = {
    {"tp-cp-dp-pp", RankOrder::tp_cp_dp_pp},
    {"tp-cp-pp-dp", RankOrder::tp_cp_pp_dp},
    {"tp-cp-ep-dp-pp", RankOrder::tp_cp_dp_pp},  // Megatron-LM's spelling
    {"tp-cp-ep-pp-dp", RankOrder::tp_cp_pp_dp},
};

inline constexpr Choice<ContextParallelComm> kContextParallelComms[] = {
    {"ring", ContextParallelComm::ring},
    {"all_to_all", ContextParallelComm::all_to_all},
    {"all_gather", ContextParallelComm::all_gather},
    {"p2p", ContextParallelComm::ring},  // Megatron-LM's --cp-comm-type
    {"a2a", ContextParallelComm::all_to_all},
};

inline constexpr Choice<TokenDispatcher> kTokenDispatchers[] = {
    {"alltoall", TokenDispatcher::alltoall},
    {"allgather", TokenDispatcher::allgather},
    {"hierarchical", TokenDispatcher::hierarchical},
    {"2dh", TokenDispatcher::two_dimensional},
    {"deepep", TokenDispatcher::deepep},
    {"deepep_low_latency", TokenDispatcher::deepep_low_latency},
    {"hybridep", TokenDispatcher::hybridep},
    {"host_driven", TokenDispatcher::host_driven},
};

inline constexpr Choice<RouterLoad> kRouterLoads[] = {
    {"balanced", RouterLoad::balanced},
    {"uniform", RouterLoad::uniform},
    {"zipf", RouterLoad::zipf},
    {"bias_balanced", RouterLoad::bias_balanced},
    {"hot", RouterLoad::hot},
    {"trace", RouterLoad::trace},
    {"consecutive", RouterLoad::consecutive},
};

inline constexpr Choice<OffloadTier> kOffloadTiers[] = {
    {"host", OffloadTier::host},
    {"file", OffloadTier::file},
};

inline constexpr Choice<StateTier> kStateTiers[] = {
    {"device", StateTier::device},
    {"host", StateTier::host},
    {"file", StateTier::file},
};

inline constexpr Choice<ExpertPlacement> kExpertPlacements[] = {
    {"linear", ExpertPlacement::linear},
    {"balanced", ExpertPlacement::balanced},
};

inline constexpr Choice<Optimizer> kOptimizers[] = {
    {"adam", Optimizer::adam},
    {"lamb", Optimizer::lamb},
};

inline constexpr Choice<Dtype> kPrecisions[] = {
    {"bf16", Dtype::bf16},
    {"fp16", Dtype::fp16},
    {"fp8", Dtype::fp8},
    {"fp32", Dtype::fp32},
};

inline constexpr Choice<Dtype> kGradientDtypes[] = {
    {"fp32", Dtype::fp32},
    {"bf16", Dtype::bf16},
    {"fp16", Dtype::fp16},
};

inline constexpr Choice<Dtype> kDispatchDtypes[] = {
    {"bf16", Dtype::bf16},
    {"fp8", Dtype::fp8},
};

inline constexpr Choice<Dtype> kMainParamsDtypes[] = {
    {"fp32", Dtype::fp32},
    {"bf16", Dtype::bf16},
};

}  // namespace orrery

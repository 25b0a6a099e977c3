// SPDX-License-Identifier: Apache-2.0
// The words of a scenario's plan, for those who read them and those who write them.
#pragma once

#include <string_view>

#include "models/plan.h"
#include "scenarios/format/document/map_reader.h"

namespace orrery {

inline constexpr Choice<ShardingStrategy> kShardingStrategies[] = {
    {"no_shard", ShardingStrategy::no_shard},
    {"optim", ShardingStrategy::optim},
    {"optim_grads", ShardingStrategy::optim_grads},
    {"optim_grads_params", ShardingStrategy::optim_grads_params},
};

inline constexpr Choice<Recompute> kRecomputes[] = {
    {"none", Recompute::none},
    {"selective", Recompute::selective},
    {"full", Recompute::full},
};

inline constexpr Choice<RecomputeMethod> kRecomputeMethods[] = {
    {"uniform", RecomputeMethod::uniform},
    {"block", RecomputeMethod::block},
    {"every", RecomputeMethod::every},
};

inline constexpr Choice<RecomputeModule> kRecomputeModules[] = {
    {"core_attn", RecomputeModule::core_attn},
    {"layernorm", RecomputeModule::layernorm},
    {"activation", RecomputeModule::activation},
    {"mlp", RecomputeModule::mlp},
    {"every_second_product", RecomputeModule::every_second_product},
};

inline constexpr Choice<ScheduleKind> kSchedules[] = {
    {"gpipe", ScheduleKind::gpipe},
    {"1f1b", ScheduleKind::one_f_one_b},
    {"interleaved_1f1b", ScheduleKind::interleaved_1f1b},
    {"breadth_first", ScheduleKind::breadth_first},
    {"zero_bubble", ScheduleKind::zero_bubble},
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
    {"tp-cp-ep-dp-pp", RankOrder::tp_cp_dp_pp},  // as Megatron-LM writes it
    {"tp-cp-ep-pp-dp", RankOrder::tp_cp_pp_dp},
};

}  // namespace orrery

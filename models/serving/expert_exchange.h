// SPDX-License-Identifier: Apache-2.0
// How the tokens of data-parallel ranks come to their experts, and the experts' sums back.
//
//   gathering    all ranks get all rows, and outputs are added up behind (vLLM's
//                allgather_reducescatter; TensorRT-LLM's default)
//   an exchange  a row goes to the ranks of its experts. In an NVLink domain of several servers
//                TensorRT-LLM does so with more ranks of experts than a token has experts
//                (select_alltoall_method_type of fused_moe_wide_ep.py), and SGLang's recipes for
//                such pools have DeepEP.
#pragma once

#include <cstdint>

#include "models/serving/serving_step.h"

namespace orrery {

bool exchanges_rows(const Transformer& model, const ServingPlan& plan);

// The mean number of `ranks` that have at least one of a token's k experts, each equally likely:
// R (1 - (1 - 1/R)^k).
double ranks_reached(const Transformer& model, double ranks);

// The way of the rows of a rank's `tokens` to their experts in each of `layers` layers. An exchange
// sends operands, gathering the stream.
ServingOp expert_inputs(const Transformer& model,
                        const ServingPlan& plan,
                        std::int64_t tokens,
                        std::int64_t layers);
// The way of the experts' sums back.
ServingOp expert_sums(const Transformer& model,
                      const ServingPlan& plan,
                      std::int64_t tokens,
                      std::int64_t layers);

}  // namespace orrery

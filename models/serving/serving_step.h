// SPDX-License-Identifier: Apache-2.0
// One forward pass of an inference engine over a mixed batch: the kernels and collectives that each
// rank of a pipeline stage runs, one after the other. Sequences that generate share one attention
// kernel, and so do the chunks of prompts; all tokens go through the products together.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/base/units.h"
#include "engine/program/kernel_call.h"
#include "engine/program/transfer_call.h"
#include "models/plan/batch_shape.h"
#include "models/serving/serving_plan.h"
#include "models/transformer/transformer.h"

namespace orrery {

// Ranks that take part in a collective of a stage.
enum class ServingGroup : std::uint8_t { tensor, stage, context };

// The attention kernel of the sequences that generate.
inline constexpr std::string_view kDecodeAttention = "decode attention";

inline constexpr std::string_view kCacheWrite = "cache write";
// The first and the last op of a layer's routed experts; where ranks mask experts, another comes
// before them.
inline constexpr std::string_view kExpertOrder = "expert order";
inline constexpr std::string_view kPermute = "permute";
inline constexpr std::string_view kUnpermute = "unpermute";
// Its products.
inline constexpr std::string_view kExpertProducts[] = {"expert fc1", "expert fc2"};

struct ServingOp {
    std::string_view name;
    // A collective of the group (bytes as engine/program/program.h counts them), or a message to
    // the next stage, or to the next rank of the context.
    std::variant<KernelCall, CollectiveCall, SendCall> work;
    std::int64_t count = 1;       // times that the stage runs it
    bool of_context = false;      // depends on more of the shape than `tokens` and `sampled`
    bool fp4 = false;             // a product in FP4: operands of half a byte, at the peak of FP4
    bool of_expert_rows = false;  // moves the rows of experts around their products
    ServingGroup group = ServingGroup::tensor;
};

inline constexpr std::string_view kQuantise = "quantise";

// The ops of the busiest rank of a stage, in the order of execution, repeated layers counted. A
// shape without tokens has no ops.
std::vector<ServingOp> serving_ops(const Transformer& model,
                                   const ServingPlan& plan,
                                   const BatchShape& shape,
                                   std::int64_t stage);
// The attention kernels alone: what changes from step to step while `tokens` and `sampled` stay.
std::vector<ServingOp> attention_ops(const Transformer& model,
                                     const ServingPlan& plan,
                                     const BatchShape& shape,
                                     std::int64_t stage);

}  // namespace orrery

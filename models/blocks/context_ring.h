// SPDX-License-Identifier: Apache-2.0
// The ring on which context-parallel ranks pass blocks on: after size - 1 hops each rank has had
// the block of every other.
//
// Experts may end inside the axis and cut it into several digits of the mesh. The ring then goes
// round the first digit, takes one step along the next, goes round the first again, and so on. Each
// hop is a shift along one digit, the same on all ranks.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/blocks/unfused_attention.h"
#include "models/plan/layout_assignment.h"

namespace orrery {

// 1 if nothing is passed on.
std::int64_t ranks_of_ring(const LayoutAssignment& layouts);

// The mesh digit along which the hop with this number goes; the first is 1.
std::uint32_t digit_of_hop(const LayoutAssignment& layouts, std::int64_t hop);

// The K and V of packed Q, K and V side by side, as they travel. In `layout` all ranks together
// have `kv` columns of each. `query`: where Q alone lies afterwards, or null.
Value pack_key_value(BlockBuilder& b,
                     const Value& qkv,
                     const Layout& layout,
                     std::int64_t kv,
                     const Value* query = nullptr);

// The tensor with the rank's Q alone, which the backward pass reads; empty if Q stays in the packed
// Q, K and V. An eager framework's rotary embedding writes a new Q. The packed tensor is then freed
// (Transformer Engine's AttnFuncWithCP saves q and the last kv). Without the embedding Q is a view
// of it. `internals`: micro_batch, or slot if the forward pass is run again.
Value query_of_ring(BlockBuilder& b, const Value& qkv, Lifetime internals);

// The type in which ranks exchange the gradients of keys and values.
Dtype gradient_of_keys(const BlockBuilder& b, Dtype of_keys);

// One hop of the ring: passes `block` on to the rank `delta` further and receives one from the
// other side.
Value ring_hop(BlockBuilder& b,
               std::string_view name,
               const Value& block,
               std::int64_t hop,
               int delta,
               Lifetime lifetime = Lifetime::slot);

// Whether kernels of their own join what the attention kernels of the steps make, as in
// Transformer Engine (AttnFuncWithCPAndKVP2P, context_parallel.py of v2.3). Orrery's attention
// kernel goes on from the sums so far.
bool joins_steps(const BlockBuilder& b);

// What the attention kernel of one step of the ring makes by itself.
struct RingStep {
    Value context;
    Value statistics;
};
RingStep ring_step(BlockBuilder& b, const AttentionActivations& a);

// Behind the last step, in 16 bits: the output of the first step is scaled, and those of the others
// are scaled and added. Log-sum-exps are added in 64 bits.
void join_outputs(BlockBuilder& b,
                  const std::vector<RingStep>& steps,
                  const AttentionActivations& a);

// The kernel reads one half of the keys and values that came. cuDNN's wants them side by side.
void copy_half(BlockBuilder& b, const Value& block);

// What one step says of the gradient of the queries, and its sum. The first step's is copied.
Value step_query_gradient(BlockBuilder& b, const Value& dqkv);
void join_query_gradient(BlockBuilder& b, const Value& of_step, const Value& dqkv, bool first);

}  // namespace orrery

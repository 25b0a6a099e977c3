// SPDX-License-Identifier: Apache-2.0
// Attention behind an all-gather of keys and values over the ranks that share a sequence. Llama 3
// was trained with it (arXiv 2407.21783, section 3.3.2). The steps are Transformer Engine's
// (AttnFuncWithCPAndKVAllGather, context_parallel.py of v2.3): the gathered halves are put in the
// order of the sequence, each of the rank's two pieces of queries has a kernel of its own, and the
// backward pass gathers again and reduce-scatters the gradients.
#pragma once

#include "kernels/attention/attention.h"
#include "models/blocks/unfused_attention.h"

namespace orrery {

// `own`: the shape of the rank's queries with its own keys. Writes a.context and a.statistics.
void gathered_attention_forward(BlockBuilder& b,
                                const AttentionShape& own,
                                const Value& qkv,
                                const AttentionActivations& a);

// Writes `dqkv`.
void gathered_attention_backward(BlockBuilder& b,
                                 const AttentionShape& own,
                                 const Value& qkv,
                                 const AttentionActivations& a,
                                 const Value& dcontext,
                                 const Value& dqkv);

}  // namespace orrery

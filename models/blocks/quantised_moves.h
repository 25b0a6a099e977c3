// SPDX-License-Identifier: Apache-2.0
// Gathers of weights and reductions of gradients in quantised form (Wang et al., ZeRO++, 2023):
// codec kernels before and after a collective of bytes (kernels/quantise/quantise.h).
//
//   qwZ  weights as int8: quantise, all-gather, dequantise
//   qgZ  gradients as int4: quantise, all-to-all inside the groups that hold a secondary copy, sum
//        and quantise anew, all-to-all between these groups, sum at full width: an error of
//        quantisation once a hop, not once a rank
//
// The number of elements that share a scale is DeepSpeed's (partition_parameters.py, CUDAQuantizer;
// runtime/comm/coalesced_collectives.py, all_to_all_quant_reduce).
#pragma once

#include "kernels/quantise/quantise.h"
#include "models/blocks/unit_weights.h"
#include "models/segments/relayout.h"

namespace orrery {

// One rank's vector of `elements` elements in the encoding of qwZ.
QuantisedVector quantised_shard(std::int64_t elements);

// Encodes, gathers and decodes, from the operand that `gather` reads to the one that it writes, the
// parameters' weights.
void gather_quantised(BlockBuilder& b,
                      const Layout& from,
                      const RelayoutStep& step,
                      const ParameterSet& parameters,
                      const OpSpec& gather);

// Whether a parameter's gradient travels quantised over these digits. That holds for matrices whose
// shards are equally long and have whole bytes; other gradients travel unquantised.
bool reduces_quantised(const BlockBuilder& b, const Parameter& p);
// The reduce-scatter of one step, from the operand that `reduce` reads to the one that it writes or
// adds to.
void reduce_quantised(BlockBuilder& b,
                      const RelayoutStep& step,
                      const ParameterSet& parameters,
                      const OpSpec& reduce);

}  // namespace orrery

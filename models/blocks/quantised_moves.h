// SPDX-License-Identifier: Apache-2.0
// Weights that are gathered and gradients that are reduced as codes (Wang et al., ZeRO++, 2023):
// codec kernels around a collective of bytes (kernels/quantise/quantise.h).
//
//   qwZ  weights as int8: quantise, all-gather, dequantise
//   qgZ  gradients as int4: quantise, all-to-all inside the groups that hold a secondary copy, sum
//        and quantise anew, all-to-all between these groups, sum at full width: an error of
//        quantisation once a hop, not once a rank
//
// How many elements share a scale is DeepSpeed's choice (partition_parameters.py, CUDAQuantizer;
// runtime/comm/coalesced_collectives.py, all_to_all_quant_reduce).
#pragma once

#include "kernels/quantise/quantise.h"
#include "models/blocks/unit_weights.h"
#include "models/segments/relayout.h"

namespace orrery {

// One rank's vector of these elements as qwZ writes it.
QuantisedVector quantised_shard(std::int64_t elements);

// Encode, gather, decode: from what `gather` reads to what it writes, the parameters' weights.
void gather_quantised(BlockBuilder& b,
                      const Layout& from,
                      const RelayoutStep& step,
                      const ParameterSet& parameters,
                      const OpSpec& gather);

// Whether a parameter's gradient travels as codes over these digits: matrices do whose shards are
// equally long and of whole bytes; others travel as they are.
bool reduces_quantised(const BlockBuilder& b, const Parameter& p);
// The reduce-scatter of one step, from what `reduce` reads to what it writes or adds to.
void reduce_quantised(BlockBuilder& b,
                      const RelayoutStep& step,
                      const ParameterSet& parameters,
                      const OpSpec& reduce);

}  // namespace orrery

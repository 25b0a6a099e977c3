// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/serve/captured_steps.h"

#include <algorithm>
#include <bit>

namespace orrery {

namespace {

std::int64_t captured_sequences(std::int64_t sequences, std::int64_t multiple) {
    return sequences < multiple
               ? std::min(multiple,
                          static_cast<std::int64_t>(
                              std::bit_ceil(static_cast<std::uint64_t>(sequences))))
               : (sequences + multiple - 1) / multiple * multiple;
}

}  // namespace

Capture capture_of(const ServingEngine& engine,
                   const ServingPlan& plan,
                   const Batch& batch,
                   const BatchShape& shape) {
    const std::int64_t ranks = plan.data_parallel_size;
    const std::int64_t most = engine.max_captured_sequences;
    const std::int64_t longest = engine.max_seq_len_to_capture;
    if (engine.captures_generation && shape.chunks.empty() &&
        (most == 0 || shape.generating <= most * ranks) &&
        (longest == 0 || std::ranges::all_of(batch.steps, [&](const SequenceStep& step) {
             return step.context + 1 <= longest;
         }))) {
        return Capture::whole;
    }
    const std::int64_t of_rank = (shape.tokens + ranks - 1) / ranks;
    return of_rank <= engine.piecewise_capture_tokens ? Capture::pieces : Capture::nothing;
}

BatchShape filled_graph(const ServingEngine& engine, const ServingPlan& plan, BatchShape shape) {
    const std::int64_t ranks = plan.data_parallel_size;
    const std::int64_t of_rank = (shape.generating + ranks - 1) / ranks;
    if (engine.captured_batch_multiple == 1 || of_rank == 0) {
        return shape;
    }
    const std::int64_t all = captured_sequences(of_rank, engine.captured_batch_multiple) * ranks;
    shape.drafted = shape.drafted * all / shape.generating;
    shape.generating_context += all - shape.generating;
    shape.generating = all;
    shape.tokens = shape.sampled = all + shape.drafted;
    return shape;
}

}  // namespace orrery

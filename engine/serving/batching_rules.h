// SPDX-License-Identifier: Apache-2.0
// How engines fill the steps of an instance with sequences: one row a policy.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace orrery {

// For how many tokens a sequence must have blocks when it is admitted.
enum class Reservation : std::uint8_t {
    next_step,  // of its first step; later steps ask for more, and may preempt
    prompt,     // of its prompt
    longest,    // of its prompt and all outputs, so that nothing is ever preempted
};

// How a policy fills a step; the rows of batching_rules().
struct BatchingRules {
    std::string_view name;
    // Prompts and single tokens share a step. Otherwise prompts come first, in steps of their own.
    bool mixes_phases = true;
    // Sequences that generate get tokens before sequences in the middle of their prompt; otherwise
    // in the order of admission.
    bool decodes_first = false;
    // A prompt may be computed over several steps.
    bool chunks_prompts = true;
    // New sequences are admitted only when none is left: a static batch.
    bool only_when_empty = false;
    Reservation reservation = Reservation::next_step;
    // Blocks that must stay free when a sequence is admitted, as a share of all.
    double watermark = 0;
};

// The policies by name:
//   vllm_v1        vllm/v1/core/sched/scheduler.py
//   vllm_v0        vllm/core/scheduler.py: prompts first; preemption by recomputation
//   sglang         python/sglang/srt/managers/schedule_policy.py: prompts first, in chunks
//   sarathi        Agrawal et al., OSDI 2024: stall-free chunks (also vLLM v0 with chunked prefill)
//   orca           Yu et al., OSDI 2022: iteration-level batches, no chunks, no paging
//   tensorrt_llm   guaranteed_no_evict with chunked context
//   tensorrt_llm_max_utilization  the same with blocks as needed; the last sequence loses its own
//   static         a batch runs until its last member has ended
std::span<const BatchingRules> batching_rules();
// Null if there is none of that name.
const BatchingRules* find_batching_rules(std::string_view name);

}  // namespace orrery

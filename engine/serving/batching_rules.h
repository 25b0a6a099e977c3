// SPDX-License-Identifier: Apache-2.0
// The rules by which engines fill the steps of an instance with sequences: one row a policy.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace orrery {

// The tokens for which a sequence must have blocks when it is admitted.
enum class Reservation : std::uint8_t {
    next_step,  // its first step; later steps ask for more and may preempt
    prompt,     // its prompt
    longest,    // its prompt and all outputs, so that no sequence is preempted
};

// The blocks of a preempted sequence that its prefix cache keeps findable.
enum class PreemptedBlocks : std::uint8_t {
    lost,
    prompt,  // blocks of its prompt
    all,     // blocks of its prompt and outputs
};

// A row of batching_rules().
struct BatchingRules {
    std::string_view name;
    // Prompts and single tokens share steps. If not, prompts come first, in steps of their own.
    bool mixes_phases = true;
    // Generating sequences get tokens before sequences in the middle of their prompt. If not,
    // tokens go in order of admission.
    bool decodes_first = false;
    // A prompt may be computed over several steps.
    bool chunks_prompts = true;
    // New sequences are admitted only when none is left (a static batch).
    bool only_when_empty = false;
    Reservation reservation = Reservation::next_step;
    // Share of all blocks that must stay free at an admission.
    double watermark = 0;
    PreemptedBlocks preempted_blocks = PreemptedBlocks::lost;
};

// The policies, with their sources:
//   vllm_v1        vllm/v1/core/sched/scheduler.py
//   vllm_v0        vllm/core/scheduler.py: prompts first; preemption by recomputation
//   sglang         python/sglang/srt/managers/schedule_policy.py: prompts first, in chunks
//   sarathi        Agrawal et al., OSDI 2024: stall-free chunks (also vLLM v0 with chunked prefill)
//   orca           Yu et al., OSDI 2022: iteration-level batches, no chunks, no paging
//   tensorrt_llm   guaranteed_no_evict with chunked context
//   tensorrt_llm_max_utilization  the same with blocks on demand; the last sequence is preempted
//   static         a batch runs until its last member has ended
std::span<const BatchingRules> batching_rules();
// Null for an unknown name.
const BatchingRules* find_batching_rules(std::string_view name);

}  // namespace orrery

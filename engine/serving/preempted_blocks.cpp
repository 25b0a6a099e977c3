// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/preempted_blocks.h"

#include <algorithm>

#include "engine/base/splitmix.h"
#include "engine/serving/batch_scheduler.h"

namespace orrery {

// vLLM v1 looks a preempted request up in the prefix cache like a new one
// (vllm/v1/core/kv_cache_manager.py: get_computed_blocks). SGLang's tree keeps the cached prompt of
// a retracted request (srt/managers/schedule_batch.py). vLLM v0 has no prefix cache by default.
PreemptedBlocks preempted_blocks(std::string_view scheduler) {
    return scheduler == "vllm_v1"  ? PreemptedBlocks::all
           : scheduler == "sglang" ? PreemptedBlocks::prompt
                                   : PreemptedBlocks::lost;
}

std::vector<std::uint64_t> preempted_hashes(RequestId id,
                                            const Request& request,
                                            std::int64_t blocks) {
    constexpr std::uint64_t kOwn = 0x4f776e426c6f636b;  // apart from other uses of the mixer
    // A real server gives the id of an ended request to a later one, which arrived later.
    const std::uint64_t own =
        splitmix64(splitmix64(kOwn ^ static_cast<std::uint64_t>(id)) ^
                   static_cast<std::uint64_t>(request.arrival.picoseconds()));
    const auto all = static_cast<std::size_t>(blocks);
    const std::size_t known = std::min(all, request.prefix_hashes.size());
    std::vector<std::uint64_t> hashes(
        request.prefix_hashes.begin(),
        request.prefix_hashes.begin() + static_cast<std::ptrdiff_t>(known));
    for (std::size_t block = known; block < all; ++block) {
        hashes.push_back(splitmix64(own ^ block));
    }
    return hashes;
}

void BatchScheduler::preempt_last(Batch& batch) {
    const auto [id, slot] = running_.back();
    running_.pop_back();
    Sequence& sequence = sequences_[slot];
    // Its tokens of this very step are not computed; the budget stays spent, as in vLLM.
    std::int64_t computed = sequence.computed;
    std::erase_if(batch.steps, [&](const SequenceStep& step) {
        computed -= step.request == id ? step.new_tokens : 0;
        return step.request == id;
    });
    const bool loading = std::erase_if(batch.loads, [&](const SequenceLoad& load) {
                             return load.request == id;
                         }) > 0;
    const PreemptedBlocks kept = preempted_blocks(rules_.name);
    if (kept != PreemptedBlocks::lost && limits_.enable_prefix_caching && !loading &&
        !sequence.awaits_cache && below_.tiers == nullptr) {
        const Request& request = requests_[static_cast<std::size_t>(id)];
        const std::int64_t last =
            kept == PreemptedBlocks::all ? sequence.total : std::int64_t{request.prompt_tokens};
        const auto hashes =
            preempted_hashes(id, request, std::min(computed, last) / limits_.block_size);
        for (std::size_t block = 0; block < hashes.size(); ++block) {
            pool_.publish(sequence.blocks[block], hashes[block]);
        }
    }
    pool_.release(sequence.blocks);
    sequence.room = 0;
    pending_tokens_ += std::min(sequence.computed, sequence.total);
    sequence.computed = 0;
    sequence.awaits_cache = false;  // it computes its prompt here instead
    ++sequence.attempt;
    waiting_.push_front(id);
    batch.preempted.push_back(id);
}

}  // namespace orrery

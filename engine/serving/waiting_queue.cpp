// SPDX-License-Identifier: Apache-2.0
// The waiting requests: when they may begin, their order, their return by a preemption, and their
// lists.
#include <algorithm>
#include <span>

#include "engine/serving/batch_scheduler.h"
#include "engine/serving/preempted_blocks.h"

namespace orrery {

bool BatchScheduler::waits_for_ranks() {
    const std::size_t ready = waiting_.size() - fresh_;
    const bool for_all =
        ready >= limits_.balanced_ranks && waited_steps_ >= limits_.prompt_batching_steps;
    const bool alone = limits_.balanced_ranks == 1 || running_.empty();
    const bool begins =
        ready == 0 || alone || for_all || waited_steps_ >= limits_.prompt_wait_steps;
    waited_steps_ = begins ? 0 : waited_steps_ + 1;
    return !begins;
}

bool BatchScheduler::waits_for_others() {
    if (rules_.mixes_phases || running_.empty()) {
        waited_checks_ = 0;
        return false;
    }
    const bool too_few = waiting_.size() - fresh_ < limits_.prompts_together;
    const bool patient =
        limits_.prompt_wait_steps == 0 || waited_checks_ < limits_.prompt_wait_steps;
    const double free = static_cast<double>(pool_.num_free());
    if ((too_few && patient) ||
        free < limits_.prompt_free_share * static_cast<double>(limits_.num_blocks)) {
        ++waited_checks_;
        return true;
    }
    waited_checks_ = 0;
    return false;
}

void BatchScheduler::order_waiting() {
    if (limits_.order == QueueOrder::arrival) {
        return;
    }
    const auto predicted = [&](RequestId id) {
        const Request& request = requests_[static_cast<std::size_t>(id)];
        if (limits_.order == QueueOrder::deadline) {
            return std::int64_t{request.workflow};  // workflows are numbered in order of arrival
        }
        return request.predicted_tokens > 0 ? request.predicted_tokens : request.output_tokens;
    };
    std::stable_sort(waiting_.begin(),
                     waiting_.end() - static_cast<std::ptrdiff_t>(fresh_),
                     [&](RequestId a, RequestId b) { return predicted(a) < predicted(b); });
}

void BatchScheduler::accept(std::vector<RequestId>& accepted) {
    while (!incoming_.empty() && static_cast<std::int64_t>(running_.size()) < most_running() &&
           may_join(incoming_.front())) {
        const RequestId id = incoming_.front();
        Sequence& sequence = at(id);
        const std::int64_t tokens =
            rules_.reservation == Reservation::longest ? sequence.last - 1 : sequence.total;
        if (blocks_for(tokens) + watermark_blocks() > pool_.num_free()) {
            return;
        }
        pool_.take(blocks_for(tokens), sequence.blocks);
        sequence.computed = requests_[static_cast<std::size_t>(id)].prompt_tokens;
        sequence.awaits_cache = true;
        incoming_.pop_front();
        running_.push_back({.request = id, .slot = slots_.at(id)});
        accepted.push_back(id);
    }
}

void BatchScheduler::remember(const Request& request) {
    if (!limits_.enable_prefix_caching) {
        return;
    }
    const std::span<const std::uint64_t> hashes = request.prefix_hashes;
    const auto known = static_cast<std::size_t>(pool_.cached_prefix(hashes));
    std::vector<KvBlock> blocks;
    pool_.share(hashes.first(known), blocks);
    const std::int64_t all = blocks_for(request.prompt_tokens + request.output_tokens - 1);
    pool_.take(std::clamp(all - std::ssize(blocks), std::int64_t{0}, pool_.num_free()), blocks);
    for (std::size_t i = known; i < std::min(hashes.size(), blocks.size()); ++i) {
        pool_.publish(blocks[i], hashes[i]);
    }
    pool_.release(blocks);
}

BatchScheduler::PrefixHit BatchScheduler::hit_of_waiting(RequestId id) const {
    const Sequence& sequence = at(id);
    const Request& request = requests_[static_cast<std::size_t>(id)];
    const std::int64_t whole = (sequence.total - 1) / limits_.block_size;
    PrefixHit hit = prefix_hit(request, whole);
    if (sequence.attempt > 0 && below_.tiers == nullptr && limits_.enable_prefix_caching) {
        hit.blocks = hit.in_cache = pool_.cached_prefix(preempted_hashes(id, request, whole));
    }
    return hit;
}

void BatchScheduler::preempt_last(Batch& batch) {
    const auto [id, slot] = running_.back();
    running_.pop_back();
    Sequence& sequence = sequences_[slot];
    // Its tokens of this step are not computed. The budget stays spent, as in vLLM.
    std::int64_t computed = sequence.computed;
    std::erase_if(batch.steps, [&](const SequenceStep& step) {
        computed -= step.request == id ? step.new_tokens : 0;
        return step.request == id;
    });
    const bool loading = std::erase_if(batch.loads, [&](const SequenceLoad& load) {
                             return load.request == id;
                         }) > 0;
    const PreemptedBlocks kept = rules_.preempted_blocks;
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

std::vector<PendingPrompt> BatchScheduler::pending_prompts() const {
    std::vector<PendingPrompt> pending;
    for (const Running& running : running_) {
        const Sequence& sequence = sequences_[running.slot];
        if (sequence.computed + 1 < sequence.total) {
            pending.push_back(
                {.tokens = sequence.total - sequence.computed, .context = sequence.computed});
        }
    }
    for (const RequestId id : waiting_) {
        const std::int64_t cached = hit_of_waiting(id).blocks * limits_.block_size;
        pending.push_back({.tokens = at(id).total - cached, .context = cached});
    }
    return pending;
}

std::vector<RequestId> BatchScheduler::requests() const {
    std::vector<RequestId> all;
    for (const Running& running : running_) {
        all.push_back(running.request);
    }
    all.insert(all.end(), waiting_.begin(), waiting_.end());
    all.insert(all.end(), incoming_.begin(), incoming_.end());
    return all;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/batch_scheduler.h"

#include <algorithm>
#include <cmath>

#include "engine/base/check.h"
#include "engine/base/prefetch.h"
#include "engine/serving/preempted_blocks.h"

namespace orrery {

namespace {

// Sequences of a step are scattered in memory: prefetch this many ahead.
constexpr std::size_t kSequencesAhead = 8;

}  // namespace

BatchScheduler::BatchScheduler(const BatchingRules& rules,
                               const SchedulerLimits& limits,
                               const std::vector<Request>& requests)
    : rules_(rules), limits_(limits), requests_(requests), pool_(limits.num_blocks) {
    ORRERY_CHECK(limits.block_size > 0 && limits.max_num_seqs > 0 &&
                 limits.max_num_batched_tokens > 0);
}

void BatchScheduler::use(const TierView& below) {
    below_ = below;
    if (below.tiers != nullptr && below.tiers->writes() == TierWrites::evicted) {
        pool_.evict_to(below);
    }
}

std::int64_t BatchScheduler::watermark_blocks() const {
    return static_cast<std::int64_t>(
        std::floor(rules_.watermark * static_cast<double>(limits_.num_blocks)));
}

bool BatchScheduler::fits(const Request& request, ServedPart part) const {
    // The last output token is never an input, so that it needs no place in the cache.
    const std::int64_t tokens =
        request.prompt_tokens + (part == ServedPart::prompt ? 0 : request.output_tokens - 1);
    return blocks_for(tokens) + watermark_blocks() <= limits_.num_blocks &&
           (rules_.chunks_prompts || request.prompt_tokens <= limits_.max_num_batched_tokens);
}

BatchScheduler::Sequence& BatchScheduler::add(RequestId id) {
    const auto [found, fresh] = slots_.try_emplace(id, 0);
    if (fresh) {
        if (free_slots_.empty()) {
            free_slots_.push_back(static_cast<std::uint32_t>(sequences_.size()));
            sequences_.emplace_back();
        }
        found->second = free_slots_.back();
        free_slots_.pop_back();
    }
    const Request& request = requests_[static_cast<std::size_t>(id)];
    Sequence& sequence = sequences_[found->second];
    sequence = {.request = id,
                .adapter = request.adapter,
                .publishes = limits_.enable_prefix_caching && !request.prefix_hashes.empty()};
    return sequence;
}

void BatchScheduler::erase(RequestId id) {
    const auto found = slots_.find(id);
    ORRERY_CHECK(found != slots_.end());
    sequences_[found->second] = {};
    free_slots_.push_back(found->second);
    slots_.erase(found);
}

BatchScheduler::Sequence* BatchScheduler::find(const SequenceStep& step) {
    if (step.slot < sequences_.size() && sequences_[step.slot].request == step.request) {
        return &sequences_[step.slot];
    }
    const auto found = slots_.find(step.request);
    return found == slots_.end() ? nullptr : &sequences_[found->second];
}

std::vector<BatchScheduler::Running>::iterator BatchScheduler::find_running(RequestId id) {
    return std::ranges::find(running_, id, &Running::request);
}

void BatchScheduler::submit(RequestId id, ServedPart part, std::int64_t generated) {
    const Request& request = requests_[static_cast<std::size_t>(id)];
    ORRERY_CHECK(fits(request, part));
    ORRERY_CHECK(generated >= 0 && generated < request.output_tokens);
    Sequence& sequence = add(id);
    sequence.total = request.prompt_tokens + generated;
    sequence.last = request.prompt_tokens + request.output_tokens;
    if (part == ServedPart::after_prompt) {
        ORRERY_CHECK(generated > 0);
        pending_tokens_ += generated;
        incoming_.push_back(id);
        return;
    }
    if (part == ServedPart::prompt) {
        ORRERY_CHECK(generated == 0);
        sequence.last = request.prompt_tokens + 1;
        sequence.keeps_blocks = true;
    }
    pending_tokens_ += sequence.total;
    waiting_.push_back(id);
    fresh_ += limits_.plans_ahead ? 1 : 0;
}

void BatchScheduler::arrived(RequestId id) {
    if (slots_.contains(id)) {
        at(id).awaits_cache = false;
    }
}

Generating BatchScheduler::generating() const {
    Generating all;
    for (const Running& running : running_) {
        const Sequence& sequence = sequences_[running.slot];
        if (sequence.computed + 1 >= sequence.total || sequence.awaits_cache) {
            ++all.sequences;
            all.context += sequence.total;
        }
    }
    for (const RequestId id : incoming_) {
        ++all.sequences;
        all.context += at(id).total;
    }
    return all;
}

void BatchScheduler::release(RequestId id) {
    ORRERY_CHECK(slots_.contains(id));
    pool_.release(at(id).blocks);
    erase(id);
}

std::int64_t BatchScheduler::most_in_a_step(std::int64_t tokens) const {
    const std::int64_t threshold = limits_.long_prefill_token_threshold;
    return threshold > 0 && rules_.chunks_prompts ? std::min(tokens, threshold) : tokens;
}

Batch BatchScheduler::next() {
    Batch batch;
    budget_ = limits_.max_num_batched_tokens;
    fill(batch);
    if (batch.steps.empty() && fresh_ > 0) {
        fresh_ = 0;  // no step runs, so that they need not wait for it
        fill(batch);
    }
    if (!batch.steps.empty()) {
        fresh_ = 0;
    }
    for (const SequenceStep& step : batch.steps) {
        tokens_under_way_ += step.new_tokens;
    }
    return batch;
}

void BatchScheduler::fill(Batch& batch) {
    if (!rules_.mixes_phases) {
        fill_by_phase(batch);
        return;
    }
    Filled filled = fill_running(rules_.decodes_first ? Phase::generation : Phase::any, batch);
    if (filled.room && filled.skipped) {
        filled = fill_running(Phase::prompt, batch);
    }
    if (filled.room) {
        fill_waiting(batch);
    }
}

void BatchScheduler::fill_by_phase(Batch& batch) {
    if (steps_before_queue_ > 0) {
        fill_running(Phase::any, batch);
        steps_before_queue_ = batch.steps.empty() ? 0 : steps_before_queue_ - 1;
    }
    if (batch.steps.empty()) {
        // SGLang goes on with a prompt that has begun before it admits others
        // (schedule_policy.py: add_chunked_req comes before add_one_req).
        const Filled begun = rules_.chunks_prompts ? fill_running(Phase::prompt, batch) : Filled{};
        if (begun.room) {
            fill_waiting(batch);
        }
    }
    if (batch.steps.empty()) {
        fill_running(Phase::any, batch);
        steps_before_queue_ = limits_.num_scheduler_steps - 1;
    }
}

BatchScheduler::Filled BatchScheduler::fill_running(Phase phase, Batch& batch) {
    Filled filled;
    for (std::size_t i = 0; i < running_.size() && budget_ > 0 && !step_is_full(batch); ++i) {
        if (i + kSequencesAhead < running_.size()) {
            prefetch_line(&sequences_[running_[i + kSequencesAhead].slot]);
        }
        const std::uint32_t slot = running_[i].slot;
        Sequence& sequence = sequences_[slot];
        const std::int64_t left = sequence.total - sequence.computed;
        if (left <= 0 || sequence.awaits_cache) {
            continue;
        }
        if (phase != Phase::any && sequence.generates() != (phase == Phase::generation)) {
            filled.skipped = true;
            continue;
        }
        // After a preemption, a sequence of a policy without chunks may exceed the budget: it then
        // has a step of its own.
        std::int64_t tokens = most_in_a_step(left);
        if (rules_.chunks_prompts) {
            tokens = std::min(tokens, budget_);
        }
        const std::int64_t drafted = std::min(drafts_of(sequence), budget_ - tokens);
        tokens += std::max<std::int64_t>(drafted, 0);
        while (!reserve(sequence, sequence.computed + tokens)) {
            filled.room = false;
            const bool itself = running_.back().slot == slot;
            preempt_last(batch);
            if (itself) {
                return filled;
            }
        }
        schedule(slot, tokens, std::max<std::int64_t>(drafted, 0), batch);
    }
    return filled;
}

void BatchScheduler::fill_waiting(Batch& batch) {
    if ((rules_.only_when_empty && !running_.empty()) || waits_for_ranks() || waits_for_others()) {
        return;
    }
    order_waiting();
    while (waiting_.size() > fresh_ && budget_ > 0 &&
           static_cast<std::int64_t>(running_.size()) < most_running() && !step_is_full(batch) &&
           may_join(waiting_.front())) {
        const RequestId id = waiting_.front();
        Sequence& sequence = at(id);
        const PrefixHit hit = hit_of_waiting(id);
        std::int64_t tokens = most_in_a_step(sequence.total - hit.blocks * limits_.block_size);
        if (rules_.chunks_prompts) {
            tokens = std::min(tokens, budget_);
        } else if (tokens > budget_ && !batch.steps.empty()) {
            return;
        }
        if (!admit_head(hit, tokens, batch)) {
            return;
        }
        if (!sequence.awaits_cache) {
            schedule(slots_.at(id), tokens, 0, batch);
        }
    }
}

std::int64_t BatchScheduler::drafts_of(const Sequence& sequence) const {
    return sequence.generates() ? std::min(limits_.draft_tokens, sequence.last - sequence.total - 1)
                                : 0;
}

std::int64_t BatchScheduler::prefix_tokens(const Request& request) const {
    return prefix_hit(request, (request.prompt_tokens - 1) / limits_.block_size).blocks *
           limits_.block_size;
}

BatchScheduler::PrefixHit BatchScheduler::prefix_hit(const Request& request,
                                                     std::int64_t blocks) const {
    PrefixHit hit;
    if (!limits_.enable_prefix_caching) {
        return hit;
    }
    const auto most = static_cast<std::size_t>(
        std::min(blocks, static_cast<std::int64_t>(request.prefix_hashes.size())));
    const std::span<const std::uint64_t> hashes = std::span(request.prefix_hashes).first(most);
    if (below_.tiers == nullptr) {
        hit.blocks = hit.in_cache = pool_.cached_prefix(hashes);
        return hit;
    }
    for (const std::uint64_t hash : hashes) {
        const bool in_cache = pool_.contains(hash);
        if (!in_cache && !below_.contains(hash)) {
            break;
        }
        ++hit.blocks;
        hit.in_cache += in_cache ? 1 : 0;
    }
    return hit;
}

bool BatchScheduler::admit_head(const PrefixHit& hit, std::int64_t new_tokens, Batch& batch) {
    const RequestId id = waiting_.front();
    Sequence& sequence = at(id);
    const std::int64_t hit_tokens = hit.blocks * limits_.block_size;
    std::int64_t tokens = hit_tokens + new_tokens;
    if (rules_.reservation == Reservation::prompt) {
        tokens = sequence.total;
    } else if (rules_.reservation == Reservation::longest) {
        tokens = sequence.last - 1;
    }
    const Request& request = requests_[static_cast<std::size_t>(id)];
    const bool own = hit.blocks > std::ssize(request.prefix_hashes);
    const std::vector<std::uint64_t> kept =
        own ? preempted_hashes(id, request, hit.blocks) : std::vector<std::uint64_t>{};
    const std::span<const std::uint64_t> hashes =
        own ? std::span(kept)
            : std::span(request.prefix_hashes).first(static_cast<std::size_t>(hit.blocks));
    const std::int64_t fresh = blocks_for(tokens) - hit.in_cache;
    if (fresh + pool_.unused_among(hashes) + watermark_blocks() > pool_.num_free()) {
        return false;
    }
    sequence.loaded = 0;
    sequence.encoded = false;
    sequence.published = hit.blocks;
    sequence.publishes = limits_.enable_prefix_caching;
    if (hit.in_cache == hit.blocks) {
        pool_.share(hashes, sequence.blocks);
        pool_.take(fresh, sequence.blocks);
    } else {
        take_loaded(id, hit, fresh, batch);
    }
    sequence.computed = hit_tokens;
    sequence.cached = hit_tokens;
    pending_tokens_ -= hit_tokens;
    waiting_.pop_front();
    running_.push_back({.request = id, .slot = slots_.at(id)});
    batch.admitted.push_back(id);
    return true;
}

// Shares the cached blocks before it takes any other, because taking could reuse one of them.
void BatchScheduler::take_loaded(RequestId id,
                                 const PrefixHit& hit,
                                 std::int64_t fresh,
                                 Batch& batch) {
    Sequence& sequence = at(id);
    const std::vector<std::uint64_t>& hashes =
        requests_[static_cast<std::size_t>(id)].prefix_hashes;
    constexpr KvBlock kNone = 0;
    SequenceLoad load{.request = id, .parts = {}};
    std::vector<std::uint64_t> missing;
    for (std::int64_t i = 0; i < hit.blocks; ++i) {
        const std::uint64_t hash = hashes[static_cast<std::size_t>(i)];
        if (pool_.contains(hash)) {
            pool_.share(std::span(&hash, 1), sequence.blocks);
        } else {
            sequence.blocks.push_back(kNone);
            missing.push_back(hash);
        }
    }
    // Before the cache hands out blocks, which may evict others from the lower tiers.
    load.parts = below_.tiers->load(below_.host, missing);
    std::vector<KvBlock> taken;
    pool_.take(fresh, taken);
    auto next = taken.begin();
    for (KvBlock& block : sequence.blocks) {
        if (block == kNone) {
            block = *next++;
        }
    }
    sequence.blocks.insert(sequence.blocks.end(), next, taken.end());
    sequence.published = 0;
    sequence.loaded = std::ssize(missing) * limits_.block_size;
    sequence.awaits_cache = below_.tiers->loading() == TierLoading::ahead;
    batch.loads.push_back(std::move(load));
}

void BatchScheduler::write_below(const SequenceStep& step) {
    const std::vector<std::uint64_t>& hashes =
        requests_[static_cast<std::size_t>(step.request)].prefix_hashes;
    const std::int64_t end = std::min((step.context + step.new_tokens) / limits_.block_size,
                                      static_cast<std::int64_t>(hashes.size()));
    for (std::int64_t i = step.context / limits_.block_size; i < end; ++i) {
        below_.tiers->put(below_.host, hashes[static_cast<std::size_t>(i)]);
    }
}

bool BatchScheduler::reserve(Sequence& sequence, std::int64_t tokens) {
    if (tokens <= sequence.room) {
        return true;
    }
    const std::int64_t more = blocks_for(tokens) - std::ssize(sequence.blocks);
    if (more > pool_.num_free()) {
        return false;
    }
    pool_.take(std::max<std::int64_t>(more, 0), sequence.blocks);
    sequence.room = std::ssize(sequence.blocks) * limits_.block_size;
    return true;
}

void BatchScheduler::schedule(std::uint32_t slot,
                              std::int64_t new_tokens,
                              std::int64_t drafted,
                              Batch& batch) {
    Sequence& sequence = sequences_[slot];
    const Request& request = requests_[static_cast<std::size_t>(sequence.request)];
    const bool encodes = !sequence.encoded && sequence.computed < request.prompt_tokens;
    sequence.encoded = true;
    batch.steps.push_back({.request = sequence.request,
                           .new_tokens = new_tokens,
                           .context = sequence.computed,
                           .drafted = drafted,
                           .samples = sequence.computed + new_tokens - drafted == sequence.total,
                           .attempt = sequence.attempt,
                           .adapter = sequence.adapter,
                           .slot = slot,
                           .images = encodes ? request.images : 0});
    sequence.computed += new_tokens;
    budget_ -= new_tokens;
    pending_tokens_ -= new_tokens - drafted;
    publish_prefix(sequence);
}

// As in vLLM, a block is findable as soon as a step computes its last token. Another request of the
// same step may share it, because attention reads the block after it is written.
void BatchScheduler::publish_prefix(Sequence& sequence) {
    if (!sequence.publishes) {
        return;
    }
    const std::vector<std::uint64_t>& hashes =
        requests_[static_cast<std::size_t>(sequence.request)].prefix_hashes;
    const auto all = static_cast<std::int64_t>(hashes.size());
    const std::int64_t full = std::min(sequence.computed / limits_.block_size, all);
    for (; sequence.published < full; ++sequence.published) {
        const auto block = static_cast<std::size_t>(sequence.published);
        pool_.publish(sequence.blocks[block], hashes[block]);
    }
    sequence.publishes = sequence.published < all;
}

void BatchScheduler::complete(const Batch& batch, std::vector<Sampled>& sampled) {
    const bool writes = below_.tiers != nullptr && limits_.enable_prefix_caching &&
                        below_.tiers->writes() == TierWrites::computed;
    for (std::size_t i = 0; i < batch.steps.size(); ++i) {
        if (i + kSequencesAhead < batch.steps.size() &&
            batch.steps[i + kSequencesAhead].slot < sequences_.size()) {
            prefetch_line(&sequences_[batch.steps[i + kSequencesAhead].slot]);
        }
        const SequenceStep& step = batch.steps[i];
        tokens_under_way_ -= step.new_tokens;
        Sequence* const found = find(step);
        if (found == nullptr || step.attempt != found->attempt) {
            continue;
        }
        if (writes) {
            write_below(step);
        }
        if (!step.samples) {
            continue;
        }
        Sequence& sequence = *found;
        ORRERY_CHECK(step.accepted >= 0 && step.accepted <= step.drafted);
        sequence.computed -= step.drafted - step.accepted;
        sequence.total += 1 + step.accepted;
        const bool finished = sequence.total == sequence.last;
        if (finished) {
            running_.erase(find_running(step.request));
            if (!sequence.keeps_blocks) {
                release(step.request);
            }
        } else {
            ++pending_tokens_;
        }
        sampled.push_back(
            {.request = step.request, .finished = finished, .tokens = 1 + step.accepted});
    }
}

void BatchScheduler::cancel(RequestId id) {
    if (!slots_.contains(id)) {
        return;
    }
    Sequence& sequence = at(id);
    const auto waits = std::find(waiting_.begin(), waiting_.end(), id);
    const auto comes = std::find(incoming_.begin(), incoming_.end(), id);
    const auto runs = find_running(id);
    if (waits != waiting_.end()) {
        const auto behind = static_cast<std::size_t>(waiting_.end() - waits);
        fresh_ -= behind <= fresh_ ? 1 : 0;
        waiting_.erase(waits);
    } else if (comes != incoming_.end()) {
        incoming_.erase(comes);
        pending_tokens_ -= sequence.total - requests_[static_cast<std::size_t>(id)].prompt_tokens;
        erase(id);
        return;
    } else if (runs != running_.end()) {
        running_.erase(runs);
        pool_.release(sequence.blocks);
    }
    pending_tokens_ -= std::max<std::int64_t>(0, sequence.total - sequence.computed);
    erase(id);
}

}  // namespace orrery

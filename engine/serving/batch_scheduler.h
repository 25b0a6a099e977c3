// SPDX-License-Identifier: Apache-2.0
// The sequences of an instance's next step: continuous batching as a policy class that the
// simulated and the real server share. A step is one forward pass over a mixed batch: some
// sequences compute a chunk of their prompt, others one token.
//
// A sequence has `total` tokens, its prompt and its generated tokens. The keys and values of
// `computed` of them are in the cache or on their way. A step that raises `computed` to `total`
// samples the next token. Policies differ in the sequences that may share a step, their order, and
// the blocks that a sequence needs before it begins: one table of rules.
#pragma once

#include <cstdint>
#include <deque>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/serving/batching_rules.h"
#include "engine/serving/block_pool.h"
#include "engine/serving/request.h"

namespace orrery {

// The part of a request that an instance serves.
enum class ServedPart : std::uint8_t {
    whole,
    prompt,        // up to the first token; keys and values stay until release()
    after_prompt,  // the generation; keys and values of the prompt come from another instance
};

// The order of waiting requests.
enum class QueueOrder : std::uint8_t {
    arrival,
    predicted_length,  // shortest predicted output first (Zheng et al., NeurIPS 2023)
    deadline,          // the call of the earliest workflow first: its deadline is the earliest
};

struct SchedulerLimits {
    std::int64_t max_num_batched_tokens = 8192;
    std::int64_t max_num_seqs = 1024;
    std::int64_t block_size = 16;  // tokens
    std::int64_t num_blocks = 0;   // of the key-value cache
    // Maximum of tokens of one prompt in one step; 0: only the budget limits them.
    std::int64_t long_prefill_token_threshold = 0;
    bool enable_prefix_caching = true;
    // Data-parallel ranks that start prompts together. Fewer new prompts than ranks wait up to
    // prompt_wait_steps steps. As many wait prompt_batching_steps steps, so that more may join.
    std::uint16_t balanced_ranks = 1;
    std::uint32_t prompt_batching_steps = 0;
    // Tokens that a draft model proposes for each generating sequence. Its next step verifies them
    // together (Leviathan et al., ICML 2023).
    std::int64_t draft_tokens = 0;
    // Whether requests for different adapters may share a step (Chen et al., Punica, MLSys 2024).
    // If not, a request begins only beside requests for its own adapter, or alone.
    bool mixes_adapters = true;
    // A step is chosen while the step before it runs (vLLM's asynchronous scheduling, the overlap
    // schedulers of SGLang and TensorRT-LLM). A request that arrives meanwhile waits for the step
    // after.
    bool plans_ahead = false;
    // Micro-batches in the pipeline, each with up to max_num_seqs sequences (TensorRT-LLM). 1:
    // max_num_seqs limits all running sequences.
    std::uint16_t micro_batches = 1;
    // Steps of running sequences between two checks of the queue, if prompts have steps of their
    // own (vLLM v0's num_scheduler_steps).
    std::uint16_t num_scheduler_steps = 1;
    std::uint16_t prompt_wait_steps = 0;
    // For rules with separate steps for prompts. Prompts begin when nothing runs, or when at least
    // this number of prompts waits and this share of the blocks is free. The prompts that begin are
    // computed in one step. Fewer prompts wait for others at prompt_wait_steps checks of the queue
    // in a row at most; 0: without end.
    std::uint16_t prompts_together = 1;
    double prompt_free_share = 0;
    QueueOrder order = QueueOrder::arrival;
    // Time of a step relative to the pool's first instance, for routers.
    float relative_time = 1;
};

struct SequenceStep {
    RequestId request{};
    std::int64_t new_tokens = 0;
    std::int64_t context = 0;   // tokens computed before the step
    std::int64_t drafted = 0;   // proposed tokens among new_tokens, which the step verifies
    std::int64_t accepted = 0;  // accepted proposals; known when the batch is computed
    bool samples = false;       // yields an output token, and one more per accepted proposal
    std::uint32_t attempt = 0;  // a preemption voids the results of earlier attempts
    std::int32_t adapter = -1;  // Request::adapter
    std::uint32_t slot = 0;     // index of the sequence in the scheduler
    std::int32_t images = 0;    // images encoded in this step
};

// The blocks that a sequence loads from tiers below the cache when it begins.
struct SequenceLoad {
    RequestId request{};
    std::vector<CacheLoad> parts;
};

struct Batch {
    std::vector<SequenceStep> steps;
    std::vector<RequestId> preempted;
    std::vector<RequestId> admitted;  // began or resumed in this step
    // Loads of admitted sequences. With TierLoading::ahead such a sequence has no step before
    // arrived().
    std::vector<SequenceLoad> loads;
};

// The uncomputed tokens of a prompt, after `context` computed ones.
struct PendingPrompt {
    std::int64_t tokens = 0;
    std::int64_t context = 0;
};

// The sequences that generate, or will once their keys and values have arrived, and their tokens.
struct Generating {
    std::int64_t sequences = 0;
    std::int64_t context = 0;
};

// A sequence that received tokens from a completed batch.
struct Sampled {
    RequestId request{};
    bool finished = false;
    std::int64_t tokens = 1;
};

class BatchScheduler {
public:
    // `requests` must outlive the scheduler; it may grow. `rules` is a row of batching_rules().
    BatchScheduler(const BatchingRules& rules,
                   const SchedulerLimits& limits,
                   const std::vector<Request>& requests);

    // Adds tiers in which prompts find blocks that the cache has lost. Call it before the first
    // request.
    void use(const TierView& below);
    // Fills the prefix cache as an earlier run of the request did. Call it before the first
    // request.
    void remember(const Request& request);
    // Whether the request could run alone. Otherwise it must not be submitted.
    bool fits(const Request& request, ServedPart part = ServedPart::whole) const;
    // Adds a request to the queue. `generated` is the number of its output tokens so far; their
    // keys and values are computed here, after those of the prompt. With ServedPart::after_prompt
    // it is at least one.
    void submit(RequestId request, ServedPart part = ServedPart::whole, std::int64_t generated = 0);
    // Admits submitted requests whose keys and values come from another instance, in order of
    // arrival, as far as there are blocks. Appends the admitted ones. They run after arrived().
    void accept(std::vector<RequestId>& accepted);
    void arrived(RequestId request);
    // Frees the blocks of a prompt after its keys and values have been read.
    void release(RequestId request);
    // The next step. It is empty if nothing can run before a batch in flight is completed. With a
    // pipeline, next() may be called while other batches are in flight.
    Batch next();
    // Completes a batch, whose steps say which proposals were accepted; rejected ones leave the
    // cache. Appends the sampled tokens. Batches complete in the order of next().
    void complete(const Batch& batch, std::vector<Sampled>& sampled);
    // Removes a waiting or running request. Its results in flight are void.
    void cancel(RequestId request);

    // The running requests, then the waiting ones. Prompts that only keep their blocks are not
    // included.
    std::vector<RequestId> requests() const;
    // The tokens of a request whose keys and values are in the cache or on their way.
    std::int64_t computed_tokens(RequestId request) const { return at(request).computed; }
    std::int64_t num_waiting() const {
        return static_cast<std::int64_t>(waiting_.size() + incoming_.size());
    }
    std::int64_t num_running() const { return static_cast<std::int64_t>(running_.size()); }
    // Tokens not yet part of any step, over all sequences: a measure of load for routers.
    std::int64_t pending_tokens() const { return pending_tokens_; }
    // First the running requests, then the waiting ones without the prefix that is cached now.
    std::vector<PendingPrompt> pending_prompts() const;
    Generating generating() const;
    // Tokens of the batches in flight.
    std::int64_t tokens_under_way() const { return tokens_under_way_; }
    // True if no request waits, runs or keeps blocks.
    bool is_idle() const { return slots_.empty(); }
    const BlockPool& pool() const { return pool_; }
    const SchedulerLimits& limits() const { return limits_; }
    // Tokens of the prompt of a waiting or running request that were in the prefix cache when it
    // was last admitted.
    std::int64_t cached_tokens(RequestId request) const { return at(request).cached; }
    // The part of cached_tokens() that came from lower tiers.
    std::int64_t loaded_tokens(RequestId request) const { return at(request).loaded; }
    // The leading tokens of a prompt that the cache or the lower tiers have, in whole blocks. The
    // last token is never counted, because it must be computed to sample the next.
    std::int64_t prefix_tokens(const Request& request) const;
    // The cache blocks of a running request, in the order of its tokens. A real server reads and
    // writes them. Valid until the next step is chosen.
    std::span<const KvBlock> blocks(RequestId request) const { return at(request).blocks; }

private:
    static constexpr RequestId kNoRequest{~std::uint32_t{0}};
    // The members that every step reads are on one cache line.
    struct alignas(64) Sequence {
        std::int64_t total = 0;
        std::int64_t last = 0;      // prompt tokens and all output tokens
        std::int64_t computed = 0;  // computed or in flight
        std::int64_t room = 0;      // tokens that fit into its blocks
        RequestId request = kNoRequest;
        std::int32_t adapter = -1;
        std::uint32_t attempt = 0;
        bool keeps_blocks = false;  // keeps its blocks when it ends, until release()
        bool awaits_cache = false;  // waits for arrived()
        bool encoded = false;       // its images are encoded, since its admission
        bool publishes = false;     // the pool does not know the hashes of all its full blocks
        std::vector<KvBlock> blocks;
        std::int64_t cached = 0;
        std::int64_t loaded = 0;     // part of `cached`
        std::int64_t published = 0;  // full blocks whose hashes the pool knows
        bool generates() const { return computed + 1 == total; }
    };
    enum class Phase : std::uint8_t { any, prompt, generation };
    struct Running {
        RequestId request{};
        std::uint32_t slot = 0;
    };

    // The most sequences that may run at once.
    std::int64_t most_running() const { return limits_.max_num_seqs * limits_.micro_batches; }
    bool step_is_full(const Batch& batch) const {
        return limits_.micro_batches > 1 && std::ssize(batch.steps) >= limits_.max_num_seqs;
    }
    const Sequence& at(RequestId id) const { return sequences_[slots_.at(id)]; }
    Sequence& at(RequestId id) { return sequences_[slots_.at(id)]; }
    Sequence& add(RequestId id);
    void erase(RequestId id);
    // Null if the request has no sequence any more.
    Sequence* find(const SequenceStep& step);
    std::vector<Running>::iterator find_running(RequestId id);
    std::int64_t blocks_for(std::int64_t tokens) const {
        return (tokens + limits_.block_size - 1) / limits_.block_size;
    }
    std::int64_t watermark_blocks() const;
    std::int64_t most_in_a_step(std::int64_t tokens) const;
    void fill(Batch& batch);
    struct Filled {
        bool room = true;      // no sequence was preempted
        bool skipped = false;  // a sequence of the other phase was skipped
    };
    // Adds running sequences of the phase to the batch.
    Filled fill_running(Phase phase, Batch& batch);
    void fill_waiting(Batch& batch);
    void fill_by_phase(Batch& batch);
    bool waits_for_ranks();
    bool waits_for_others();
    void order_waiting();
    // The leading blocks of a prompt, at most `blocks`, that the cache or the lower tiers have.
    struct PrefixHit {
        std::int64_t blocks = 0;
        std::int64_t in_cache = 0;  // of these
    };
    PrefixHit prefix_hit(const Request& request, std::int64_t blocks) const;
    // The hit of a waiting request. A preempted one may find its own blocks.
    PrefixHit hit_of_waiting(RequestId id) const;
    bool admit_head(const PrefixHit& hit, std::int64_t new_tokens, Batch& batch);
    // Takes the blocks of a hit, some of which must be loaded, and `fresh` new blocks.
    void take_loaded(RequestId id, const PrefixHit& hit, std::int64_t fresh, Batch& batch);
    void write_below(const SequenceStep& step);
    // Extends the sequence's blocks to hold `tokens` tokens. If there are too few blocks, returns
    // false and changes nothing.
    bool reserve(Sequence& sequence, std::int64_t tokens);
    std::int32_t adapter_of(RequestId id) const {
        return requests_[static_cast<std::size_t>(id)].adapter;
    }
    // Whether the adapter rule lets this waiting request join the running ones.
    bool may_join(RequestId id) const {
        return limits_.mixes_adapters || running_.empty() ||
               adapter_of(id) == adapter_of(running_.front().request);
    }
    // The proposals that a step of the sequence verifies, none beyond its last output.
    std::int64_t drafts_of(const Sequence& sequence) const;
    void schedule(std::uint32_t slot, std::int64_t new_tokens, std::int64_t drafted, Batch& batch);
    void preempt_last(Batch& batch);
    void publish_prefix(Sequence& sequence);

    BatchingRules rules_;
    SchedulerLimits limits_;
    const std::vector<Request>& requests_;
    BlockPool pool_;
    TierView below_;
    std::deque<RequestId> waiting_;
    std::deque<RequestId> incoming_;  // wait for blocks, then for keys and values
    std::vector<Running> running_;    // in order of admission
    // Sequences that wait, run or keep blocks, and free slots. Running sequences have indices, so
    // that steps need no search.
    std::vector<Sequence> sequences_;
    std::vector<std::uint32_t> free_slots_;
    std::unordered_map<RequestId, std::uint32_t> slots_;
    std::int64_t budget_ = 0;  // tokens left in the step being filled
    std::int64_t pending_tokens_ = 0;
    // Requests at the end of waiting_ that arrived since the last step was chosen
    std::size_t fresh_ = 0;
    std::uint32_t steps_before_queue_ = 0;
    std::uint32_t waited_steps_ = 0;  // steps that new prompts have waited for other ranks
    std::uint32_t waited_checks_ = 0;  // checks of the queue at which too few prompts waited
    std::int64_t tokens_under_way_ = 0;
};

}  // namespace orrery

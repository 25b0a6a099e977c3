// SPDX-License-Identifier: Apache-2.0
// Which sequences an instance computes in its next step: continuous batching as a policy object
// that the simulated and the real server drive alike. A step is one forward pass over a mixed
// batch: some sequences compute a chunk of their prompt, others one token.
//
// A sequence has `total` tokens (its prompt and the tokens that it has generated) and `computed`
// ones, whose keys and values are in the cache or on their way. A step that brings `computed` up to
// `total` samples the next token. Policies differ in which sequences share a step, in their order,
// and in the blocks that a sequence needs before it begins: one table of rules.
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
    after_prompt,  // the rest; keys and values of the prompt come from another instance
};

// Which waiting request begins first.
enum class QueueOrder : std::uint8_t {
    arrival,
    predicted_length,  // shortest predicted output first (Zheng et al., NeurIPS 2023)
    deadline,          // calls of the workflow that came first, whose deadline is the earliest
};

struct SchedulerLimits {
    std::int64_t max_num_batched_tokens = 8192;
    std::int64_t max_num_seqs = 1024;
    std::int64_t block_size = 16;  // tokens
    std::int64_t num_blocks = 0;   // of the key-value cache
    // The most tokens of one prompt in one step; 0: as the budget allows.
    std::int64_t long_prefill_token_threshold = 0;
    bool enable_prefix_caching = true;
    // Data-parallel ranks: fewer new prompts than these wait for prompt_wait_steps steps, and as
    // many for prompt_batching_steps, in which more may come.
    std::uint16_t balanced_ranks = 1;
    std::uint32_t prompt_batching_steps = 0;
    // Tokens that a draft proposes for each sequence that generates; its next step verifies them
    // together (Leviathan et al., ICML 2023).
    std::int64_t draft_tokens = 0;
    // Requests for different adapters share a step (Chen et al., Punica, MLSys 2024). Otherwise a
    // request begins only beside others for its adapter, or alone.
    bool mixes_adapters = true;
    // A step is chosen while the one before it runs (vLLM's asynchronous scheduling, the overlap
    // schedulers of SGLang and TensorRT-LLM): requests that come meanwhile wait for the next one.
    bool plans_ahead = false;
    // Micro-batches of a pipeline, which follow one another: each has up to max_num_seqs sequences
    // (TensorRT-LLM's micro-batches). 1: max_num_seqs are all sequences that run.
    std::uint16_t micro_batches = 1;
    // Steps of running sequences between two looks at the queue, where prompts have steps of their
    // own (vLLM v0's num_scheduler_steps).
    std::uint16_t num_scheduler_steps = 1;
    std::uint16_t prompt_wait_steps = 0;
    // For rules whose steps hold prompts alone: prompts begin when nothing runs, or when this many
    // prompts wait and this share of the blocks is free. What begins is computed in one step.
    std::uint16_t prompts_together = 1;
    double prompt_free_share = 0;
    QueueOrder order = QueueOrder::arrival;
    // A step of this instance over one of the pool's first, for routers.
    float relative_time = 1;
};

struct SequenceStep {
    RequestId request{};
    std::int64_t new_tokens = 0;
    std::int64_t context = 0;   // tokens computed before
    std::int64_t drafted = 0;   // of the new tokens: proposals that the step verifies
    std::int64_t accepted = 0;  // of these; known when the batch is computed
    bool samples = false;       // yields an output token, and one more for each accepted proposal
    std::uint32_t attempt = 0;  // a preemption makes the results of earlier attempts void
    std::int32_t adapter = -1;  // Request::adapter
    std::uint32_t slot = 0;     // where the scheduler keeps the sequence
    std::int32_t images = 0;    // that are encoded in this step
};

// What a sequence takes from tiers below the cache when it begins.
struct SequenceLoad {
    RequestId request{};
    std::vector<CacheLoad> parts;
};

struct Batch {
    std::vector<SequenceStep> steps;
    std::vector<RequestId> preempted;
    std::vector<RequestId> admitted;  // began, or began again
    // Loads of sequences that were admitted. With TierLoading::ahead they have no step before
    // arrived().
    std::vector<SequenceLoad> loads;
};

// Tokens of a prompt that are still to be computed, behind `context` others.
struct PendingPrompt {
    std::int64_t tokens = 0;
    std::int64_t context = 0;
};

// Sequences that generate, or will when their keys and values have come, and their tokens.
struct Generating {
    std::int64_t sequences = 0;
    std::int64_t context = 0;
};

// A sequence that got a token when a batch was completed.
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

    // Prompts find blocks there, too, that the cache has lost. Before the first request.
    void use(const TierView& below);
    // Whether the request could run if it were alone. One that could not must not be submitted.
    bool fits(const Request& request, ServedPart part = ServedPart::whole) const;
    // `generated`: output tokens that it has already; their keys and values are computed here,
    // after those of the prompt. A request that comes after its prompt has one at least.
    void submit(RequestId request, ServedPart part = ServedPart::whole, std::int64_t generated = 0);
    // Admits submitted requests whose keys and values come from elsewhere: appends the ones that
    // have got blocks for them now, in the order of their coming. They run when arrived() says so.
    void accept(std::vector<RequestId>& accepted);
    void arrived(RequestId request);
    // Frees the blocks of a prompt whose keys and values have been read.
    void release(RequestId request);
    // The next step; without steps if nothing can run before a batch under way is completed. A
    // pipeline may ask for the next batch while others are under way.
    Batch next();
    // The batch was computed, and its steps say what was accepted; appends the tokens that it
    // sampled. Batches complete in their order. Rejected proposals leave the cache.
    void complete(const Batch& batch, std::vector<Sampled>& sampled);
    // The request leaves the queue or the running sequences; what is under way for it is void.
    void cancel(RequestId request);

    // The running requests, then the waiting ones; prompts that only keep their blocks are left
    // out.
    std::vector<RequestId> requests() const;
    // Tokens of a request whose keys and values are in the cache, or on their way.
    std::int64_t computed_tokens(RequestId request) const { return at(request).computed; }
    std::int64_t num_waiting() const {
        return static_cast<std::int64_t>(waiting_.size() + incoming_.size());
    }
    std::int64_t num_running() const { return static_cast<std::int64_t>(running_.size()); }
    // Tokens that no step has been given yet, over all sequences: a load for routers.
    std::int64_t pending_tokens() const { return pending_tokens_; }
    // First of running requests, then of waiting ones, less what the cache and the tiers have now.
    std::vector<PendingPrompt> pending_prompts() const;
    Generating generating() const;
    // Tokens of the batches that are not completed.
    std::int64_t tokens_under_way() const { return tokens_under_way_; }
    // No request waits, runs or keeps blocks.
    bool is_idle() const { return slots_.empty(); }
    const BlockPool& pool() const { return pool_; }
    const SchedulerLimits& limits() const { return limits_; }
    // Tokens of the prompt of a waiting or running request that the prefix cache had when the
    // request was last admitted.
    std::int64_t cached_tokens(RequestId request) const { return at(request).cached; }
    // The part of cached_tokens() that came from the tiers below.
    std::int64_t loaded_tokens(RequestId request) const { return at(request).loaded; }
    // Leading tokens of a prompt that the cache or the tiers below have: whole blocks, never the
    // last token, which must be computed to sample from it.
    std::int64_t prefix_tokens(const Request& request) const;
    // The cache blocks of a running request, in the order of its tokens: a real server reads and
    // writes them. Valid until the next step is chosen.
    std::span<const KvBlock> blocks(RequestId request) const { return at(request).blocks; }

private:
    static constexpr RequestId kNoRequest{~std::uint32_t{0}};
    // What every step looks at lies in one cache line.
    struct alignas(64) Sequence {
        std::int64_t total = 0;
        std::int64_t last = 0;      // prompt and all outputs
        std::int64_t computed = 0;  // or under way
        std::int64_t room = 0;      // tokens that its blocks hold
        RequestId request = kNoRequest;
        std::int32_t adapter = -1;
        std::uint32_t attempt = 0;
        bool keeps_blocks = false;  // at its end, until release()
        bool awaits_cache = false;  // until arrived()
        bool encoded = false;       // its images, since it was admitted
        bool publishes = false;     // some full block's hash is not known to the pool yet
        std::vector<KvBlock> blocks;
        std::int64_t cached = 0;
        std::int64_t loaded = 0;     // of these
        std::int64_t published = 0;  // full blocks whose hashes the pool knows
        bool generates() const { return computed + 1 == total; }
    };
    enum class Phase : std::uint8_t { any, prompt, generation };
    struct Running {
        RequestId request{};
        std::uint32_t slot = 0;
    };

    // Sequences that may run at once.
    std::int64_t most_running() const { return limits_.max_num_seqs * limits_.micro_batches; }
    bool step_is_full(const Batch& batch) const {
        return limits_.micro_batches > 1 && std::ssize(batch.steps) >= limits_.max_num_seqs;
    }
    const Sequence& at(RequestId id) const { return sequences_[slots_.at(id)]; }
    Sequence& at(RequestId id) { return sequences_[slots_.at(id)]; }
    Sequence& add(RequestId id);
    void erase(RequestId id);
    // Null if the request has no sequence.
    Sequence* find(const SequenceStep& step);
    std::vector<Running>::iterator find_running(RequestId id);
    std::int64_t blocks_for(std::int64_t tokens) const {
        return (tokens + limits_.block_size - 1) / limits_.block_size;
    }
    std::int64_t watermark_blocks() const;
    std::int64_t most_in_a_step(std::int64_t tokens) const;
    void fill(Batch& batch);
    struct Filled {
        bool room = true;      // no sequence had to be preempted
        bool skipped = false;  // a sequence was of the other phase
    };
    // Gives running sequences of the phase their tokens.
    Filled fill_running(Phase phase, Batch& batch);
    void fill_waiting(Batch& batch);
    void fill_by_phase(Batch& batch);
    bool waits_for_ranks();
    bool waits_for_others() const;
    void order_waiting();
    // Leading blocks of a prompt, of at most `blocks`, that the cache or the tiers below have.
    struct PrefixHit {
        std::int64_t blocks = 0;
        std::int64_t in_cache = 0;  // of these
    };
    PrefixHit prefix_hit(const Request& request, std::int64_t blocks) const;
    bool admit_head(const PrefixHit& hit, std::int64_t new_tokens, Batch& batch);
    // The blocks of a hit, some of which must be loaded, and `fresh` others.
    void take_loaded(RequestId id, const PrefixHit& hit, std::int64_t fresh, Batch& batch);
    void write_below(const SequenceStep& step);
    // Blocks for `tokens` tokens of the sequence in all; false, and nothing changed, if there are
    // too few.
    bool reserve(Sequence& sequence, std::int64_t tokens);
    std::int32_t adapter_of(RequestId id) const {
        return requests_[static_cast<std::size_t>(id)].adapter;
    }
    // The scheduler may admit this waiting request beside the running ones.
    bool may_join(RequestId id) const {
        return limits_.mixes_adapters || running_.empty() ||
               adapter_of(id) == adapter_of(running_.front().request);
    }
    // Proposals that a step of the sequence verifies: none beyond its last output.
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
    std::deque<RequestId> incoming_;  // wait for blocks, and then for keys and values
    std::vector<Running> running_;    // in the order of admission
    // Sequences that wait, run or keep blocks, and free slots. Every step goes over the running
    // ones, so that it should not have to search for them.
    std::vector<Sequence> sequences_;
    std::vector<std::uint32_t> free_slots_;
    std::unordered_map<RequestId, std::uint32_t> slots_;
    std::int64_t budget_ = 0;  // tokens left in the step that is being filled
    std::int64_t pending_tokens_ = 0;
    std::size_t fresh_ = 0;  // at the end of waiting_: came since the last step was chosen
    std::uint32_t steps_before_queue_ = 0;
    std::uint32_t waited_steps_ = 0;  // of the requests that may be admitted
    std::int64_t tokens_under_way_ = 0;
};

}  // namespace orrery

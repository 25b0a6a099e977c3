// SPDX-License-Identifier: Apache-2.0
// Serves requests as they come, in real time: the router and the schedulers of the simulator
// (engine/serving) choose, and each instance's thread computes the steps that they chose. Every
// function may be called from any thread.
//
// Of two pools the first one computes prompts and the second one the rest. When a prompt is done
// and an instance of the second pool has blocks for it, its instance sends keys and values between
// two steps; the other instance receives them between two of its own. Both are threads of this
// process that drive ranks elsewhere (rank_step.h).
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/serving/batch_scheduler.h"
#include "engine/serving/request_router.h"
#include "engine/serving/serving_run.h"
#include "runtime/generate.h"
#include "runtime/serve/decode_step.h"

namespace orrery {

struct LiveRequest {
    std::vector<std::int32_t> prompt;  // not empty, ids in the vocabulary
    std::int64_t output_tokens = 1;    // at least 1
    DrawOptions draw{};
    std::int32_t adapter = -1;  // of the served model's; -1: the model alone
};

using Ticket = std::uint64_t;  // of a request; never used again

struct TokenEvent {
    Ticket ticket = 0;
    std::int32_t token = 0;
    bool finished = false;        // its last one
    const RequestRecord& record;  // until now
};

enum class Refusal : std::uint8_t { none, too_long, queue_full, stopped };

struct Submitted {
    Refusal refusal = Refusal::none;
    Ticket ticket = 0;  // unless refused
};

struct LiveStep {
    std::size_t instance = 0;  // counted over all pools
    const Batch& batch;
    std::int64_t steps_awake = 0;  // of the instance before it, since it had nothing to compute
    Time took{};                   // its tokens delivered
};

struct LiveLimits {
    std::int64_t context = 0;    // tokens of prompt and output together at most
    std::int64_t max_queue = 0;  // requests that wait or run at most; 0: any number
    std::uint64_t salt = 0;      // of prefix hashes
    // Called by an instance's thread behind each step, while the server is locked: it must neither
    // block nor call the server.
    std::function<void(const LiveStep&)> on_step{};
};

struct LiveCounters {
    std::int64_t waiting = 0;
    std::int64_t running = 0;
    std::int64_t finished = 0;
    std::int64_t cancelled = 0;
    std::int64_t refused = 0;
    std::int64_t preemptions = 0;
    std::int64_t prompt_tokens = 0;  // of requests that were taken
    std::int64_t cached_tokens = 0;  // of them, found in the prefix cache
    std::int64_t output_tokens = 0;
    std::int64_t blocks = 0;  // of all instances
    std::int64_t free_blocks = 0;
    std::int64_t moves = 0;  // of keys and values between instances
    std::int64_t moved_tokens = 0;
    Time moving{};  // from a request's blocks to the arrival, over all
};

struct LivePool {
    BatchingRules rules;
    SchedulerLimits limits;  // of equal block sizes in all pools
    std::vector<DecodeStep*> instances;
    RequestRouter* router = nullptr;
};

class LiveServer {
public:
    // One pool, or prompts and the rest. Steps and routers outlive the server.
    LiveServer(const std::vector<LivePool>& pools, const LiveLimits& limits);
    // One instance for each step; steps and router outlive the server. The vocabulary is the
    // width of a step's logits.
    LiveServer(const BatchingRules& rules,
               const SchedulerLimits& scheduler,
               const LiveLimits& limits,
               std::vector<DecodeStep*> instances,
               RequestRouter& router);
    ~LiveServer();  // stops
    LiveServer(const LiveServer&) = delete;
    LiveServer& operator=(const LiveServer&) = delete;

    // `on_token` is called by an instance's thread for each token, in order; it must not block.
    // After cancel() it may still be called for a step that was under way.
    Submitted submit(LiveRequest request, std::function<void(const TokenEvent&)> on_token);
    // The request's blocks are free as soon as no step under way uses them. Of a request that has
    // ended nothing happens.
    void cancel(Ticket ticket);

    Time now() const;  // since the server began
    LiveCounters counters() const;
    std::vector<InstanceTotals> totals() const;
    // Waits until no request waits or runs, or an instance has failed.
    void wait_until_idle();
    // Takes no more requests. What is under way goes on.
    void refuse_more();
    // Cancels everything and ends the threads.
    void stop();
    // Of an instance whose step failed: nothing is served any more.
    Result<void> status() const;

private:
    struct Live {
        Ticket ticket = 0;
        std::size_t instance = 0;
        std::size_t prompt_instance = 0;
        bool holds_prompt = false;  // its blocks there
        Time move_begin{};
        bool moves = false;       // from the first blocks of its own to the arrival
        bool recomputes = false;  // was preempted on its way: what comes is dropped
        bool ended = false;       // all tokens, but what it moves has not come yet
        std::vector<std::int32_t> tokens;
        std::int64_t drawn = 0;
        DrawOptions draw;
        std::function<void(const TokenEvent&)> on_token;
        RequestRecord record;
        bool cancelled = false;  // while its blocks were in use
    };
    struct Instance {
        std::unique_ptr<BatchScheduler> scheduler;
        DecodeStep* step = nullptr;
        std::size_t pool = 0;
        bool computes = false;       // or moves a cache: its blocks are in use
        std::deque<RequestId> sent;  // requests whose keys and values it must send
        std::deque<RequestId> received;
        std::vector<RequestId> done_prompts;  // of the last step
        InstanceTotals totals;
        std::thread thread;
    };
    struct Pool {
        std::size_t first = 0;  // of its instances
        RequestRouter* router = nullptr;
        std::vector<const BatchScheduler*> schedulers;
    };
    struct Delivery {
        std::function<void(const TokenEvent&)> to;
        Ticket ticket;
        std::int32_t token;
        bool finished;
        RequestRecord record;
    };

    void work(std::size_t number);
    std::size_t choose(std::size_t pool, const Request& request);
    ServedPart first_part(const Request& request) const;
    bool fits(const Request& request) const;
    // The prompt is done; the rest is for an instance of the second pool.
    void hand_over(RequestId id);
    // Blocks for requests whose prompts are done.
    void pull(std::size_t number);
    // Sends and receives what waits; the lock is free meanwhile.
    Result<void> move_caches(std::size_t number, std::unique_lock<std::mutex>& lock);
    Result<void> send_next(std::size_t number, std::unique_lock<std::mutex>& lock);
    Result<void> receive_next(std::size_t number, std::unique_lock<std::mutex>& lock);
    void wait_for_work(Instance& instance, std::unique_lock<std::mutex>& lock);
    void fail_with(const Error& error);
    std::vector<DecodeChunk> begin(Instance& instance, Batch& batch);
    std::vector<Delivery> complete(Instance& instance,
                                   const Batch& batch,
                                   const std::vector<std::int32_t>& drawn);
    // Whether no step and no move that is under way uses the request's blocks.
    bool rests(const Live& live) const;
    void drop(RequestId id);
    // Requests that were cancelled while something used their blocks.
    void cancel_marked();
    void forget(RequestId id);

    LiveLimits limits_;
    mutable std::mutex mutex_;
    std::condition_variable work_;
    std::condition_variable idle_;
    std::vector<Request> requests_;  // by RequestId; ids of requests that ended are used again
    std::vector<Live> live_;
    std::vector<RequestId> unused_;
    std::map<Ticket, RequestId> by_ticket_;
    std::vector<Instance> instances_;
    std::vector<Pool> pools_;
    LiveCounters counters_;
    Ticket next_ticket_ = 1;
    bool refuses_ = false;
    bool stops_ = false;
    Result<void> status_;
    std::int64_t begin_ns_ = 0;
};

}  // namespace orrery

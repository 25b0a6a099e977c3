// SPDX-License-Identifier: Apache-2.0
// Serves requests in real time. The router and the schedulers of the simulator (engine/serving)
// choose, and each instance's thread computes the chosen steps. Every function may be called from
// any thread.
//
// With two pools, the first computes prompts and the second the rest. When a prompt is done and an
// instance of the second pool has blocks for it, the prompt's instance sends keys and values
// between two of its steps, and the other instance receives them between two of its own. Both are
// threads of this process, which drive ranks in other processes (rank_step.h).
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

using Ticket = std::uint64_t;  // of a request; never reused

struct TokenEvent {
    Ticket ticket = 0;
    std::int32_t token = 0;
    bool finished = false;        // the request's last token
    const RequestRecord& record;  // up to now
};

enum class Refusal : std::uint8_t { none, too_long, queue_full, stopped };

struct Submitted {
    Refusal refusal = Refusal::none;
    Ticket ticket = 0;  // only if not refused
};

struct LiveStep {
    std::size_t instance = 0;  // index over all pools
    const Batch& batch;
    std::int64_t steps_awake = 0;  // steps of the instance since it last had nothing to compute
    Time took{};                   // including the delivery of its tokens
};

struct LiveLimits {
    std::int64_t context = 0;    // maximum of prompt and output tokens together
    std::int64_t max_queue = 0;  // maximum of waiting and running requests; 0: no limit
    std::uint64_t salt = 0;      // for the prefix hashes
    // Called by an instance's thread after each step, while the server is locked: it must neither
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
    std::int64_t prompt_tokens = 0;  // of accepted requests
    std::int64_t cached_tokens = 0;  // part of them found in the prefix cache
    std::int64_t output_tokens = 0;
    std::int64_t blocks = 0;  // of all instances
    std::int64_t free_blocks = 0;
    std::int64_t moves = 0;  // of keys and values between instances
    std::int64_t moved_tokens = 0;
    Time moving{};  // sum of the times from the first block to the arrival
};

struct LivePool {
    BatchingRules rules;
    SchedulerLimits limits;  // the block size must be equal in all pools
    std::vector<DecodeStep*> instances;
    RequestRouter* router = nullptr;
};

class LiveServer {
public:
    // One pool, or one for prompts and one for the rest. Steps and routers must outlive the server.
    LiveServer(const std::vector<LivePool>& pools, const LiveLimits& limits);
    // One instance per step; steps and router must outlive the server. The vocabulary is the width
    // of a step's logits.
    LiveServer(const BatchingRules& rules,
               const SchedulerLimits& scheduler,
               const LiveLimits& limits,
               std::vector<DecodeStep*> instances,
               RequestRouter& router);
    ~LiveServer();  // stops
    LiveServer(const LiveServer&) = delete;
    LiveServer& operator=(const LiveServer&) = delete;

    // An instance's thread calls `on_token` for each token, in order; it must not block. After
    // cancel() it may still be called for a step in flight.
    Submitted submit(LiveRequest request, std::function<void(const TokenEvent&)> on_token);
    // Frees the request's blocks as soon as no step in flight uses them. Does nothing if the
    // request has ended.
    void cancel(Ticket ticket);

    Time now() const;  // since the server's start
    LiveCounters counters() const;
    std::vector<InstanceTotals> totals() const;
    // Waits until no request waits or runs, or until an instance fails.
    void wait_until_idle();
    // Refuses new requests; running ones continue.
    void refuse_more();
    // Cancels all requests and ends the threads.
    void stop();
    // The error of the first failed instance; after it nothing is served any more.
    Result<void> status() const;

private:
    struct Live {
        Ticket ticket = 0;
        std::size_t instance = 0;
        std::size_t prompt_instance = 0;
        bool holds_prompt = false;  // the prompt's instance still has its blocks
        Time move_begin{};
        bool moves = false;       // from its first blocks at the destination to the arrival
        bool recomputes = false;  // it was preempted during the move: drop the arriving data
        bool ended = false;       // all tokens are sampled, but its move is not finished
        std::vector<std::int32_t> tokens;
        std::int64_t drawn = 0;
        DrawOptions draw;
        std::function<void(const TokenEvent&)> on_token;
        RequestRecord record;
        bool cancelled = false;  // cancelled while its blocks were in use
    };
    struct Instance {
        std::unique_ptr<BatchScheduler> scheduler;
        DecodeStep* step = nullptr;
        std::size_t pool = 0;
        bool computes = false;       // or moves a cache: its blocks are in use
        std::deque<RequestId> sent;  // requests whose keys and values it must send
        std::deque<RequestId> received;
        std::vector<RequestId> done_prompts;  // prompts that ended in the last step
        InstanceTotals totals;
        std::thread thread;
    };
    struct Pool {
        std::size_t first = 0;  // its first instance
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
    // The prompt is done: passes the request to an instance of the second pool.
    void hand_over(RequestId id);
    // Takes blocks for requests whose prompts are done.
    void pull(std::size_t number);
    // Sends and receives pending caches; unlocks meanwhile.
    Result<void> move_caches(std::size_t number, std::unique_lock<std::mutex>& lock);
    Result<void> send_next(std::size_t number, std::unique_lock<std::mutex>& lock);
    Result<void> receive_next(std::size_t number, std::unique_lock<std::mutex>& lock);
    void wait_for_work(Instance& instance, std::unique_lock<std::mutex>& lock);
    void fail_with(const Error& error);
    std::vector<DecodeChunk> begin(Instance& instance, Batch& batch);
    std::vector<Delivery> complete(Instance& instance,
                                   const Batch& batch,
                                   const std::vector<std::int32_t>& drawn);
    // Whether no step and no move in flight uses the request's blocks.
    bool rests(const Live& live) const;
    void drop(RequestId id);
    // Removes the requests that were cancelled while their blocks were in use.
    void cancel_marked();
    void forget(RequestId id);

    LiveLimits limits_;
    mutable std::mutex mutex_;
    std::condition_variable work_;
    std::condition_variable idle_;
    std::vector<Request> requests_;  // by RequestId; ids of ended requests are reused
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

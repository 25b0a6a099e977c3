// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/serving_run.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "engine/check.h"
#include "engine/counter_random.h"
#include "engine/event_queue.h"

namespace orrery {

namespace {

constexpr std::uint32_t kProposals = 0x44726166;  // a stream of random numbers of its own

struct UnderWay {
    Batch batch;
    Time end;
};

struct Instance {
    std::unique_ptr<BatchScheduler> scheduler;
    StepCost* cost = nullptr;
    std::size_t pool = 0;
    double acceptance = 0;
    std::uint64_t seed = 0;
    std::deque<UnderWay> under_way;
    std::vector<Time> stage_free;
    InstanceTotals totals;
};

// Instances of a pool follow one another; `schedulers` as routers see them.
struct Pool {
    std::size_t first = 0;
    RequestRouter* router = nullptr;
    std::vector<const BatchScheduler*> schedulers;
};

class Run {
public:
    Run(const std::vector<Request>& requests, const ServingLoad& load)
        : requests_(requests), closed_(load.users > 0), front_end_(load.front_end) {
        result_.records.resize(requests.size());
        last_token_.resize(requests.size());
        if (!closed_ && !requests.empty()) {
            events_.schedule(requests.front().arrival + front_end_, kArrival, 0);
        }
        for (std::int64_t user = 0; closed_ && user < load.users; ++user) {
            events_.schedule(front_end_, kArrival, 0);
        }
    }

    void add(const ServingPool& pool, RequestRouter& router) {
        ORRERY_CHECK(pool.num_instances > 0 && pool.cost != nullptr);
        pools_.push_back({.first = instances_.size(), .router = &router});
        for (std::size_t i = 0; i < pool.num_instances; ++i) {
            Instance& instance = instances_.emplace_back();
            instance.scheduler =
                std::make_unique<BatchScheduler>(pool.rules, pool.limits, requests_);
            instance.cost = pool.cost;
            instance.pool = pools_.size() - 1;
            instance.acceptance = pool.acceptance;
            instance.seed = pool.seed;
            instance.stage_free.resize(pool.cost->num_stages());
            pools_.back().schedulers.push_back(instance.scheduler.get());
        }
    }
    void use(CacheTransport* transport) {
        transport_ = transport;
        moves_.resize(requests_.size());
    }

    ServingResult run() {
        while (!events_.empty()) {
            const Event event = events_.pop();
            // Ends of transfers that have changed since are known by their generation.
            if (event.target == kTransfer && event.generation != transfer_generation_) {
                continue;
            }
            ++result_.events;
            pass_to(event.time);
            if (event.target == kArrival) {
                arrive();
            } else if (event.target == kTransfer) {
                end_transfers();
            } else {
                work(event.target);
            }
        }
        for (const Instance& instance : instances_) {
            ORRERY_CHECK(instance.scheduler->num_running() + instance.scheduler->num_waiting() ==
                         0);
            result_.instances.push_back(instance.totals);
        }
        return std::move(result_);
    }

private:
    static constexpr std::uint32_t kArrival = ~std::uint32_t{0};
    static constexpr std::uint32_t kTransfer = kArrival - 1;

    // The instances between which a request's keys and values move.
    struct Move {
        std::size_t from = 0;
        std::size_t to = 0;
    };

    void pass_to(Time time) {
        result_.request_picoseconds +=
            static_cast<__int128>((time - now_).picoseconds()) * in_system_;
        now_ = time;
    }
    void wake(std::size_t instance) {
        events_.schedule(now_, static_cast<std::uint32_t>(instance), 0);
    }

    // Requests that come at one instant are in the queues before any step is chosen.
    void arrive() {
        if (closed_) {
            send_next();
            return;
        }
        while (next_ < requests_.size() && requests_[next_].arrival + front_end_ == now_) {
            send_next();
        }
        if (next_ < requests_.size()) {
            events_.schedule(requests_[next_].arrival + front_end_, kArrival, 0);
        }
    }

    std::size_t choose(std::size_t pool, const Request& request) {
        Pool& of = pools_[pool];
        return of.first + of.router->choose(request, of.schedulers);
    }

    // Of a closed load, the user whose request can never run sends the next one instead.
    void send_next() {
        while (next_ < requests_.size()) {
            const auto id = static_cast<RequestId>(next_);
            const Request& request = requests_[next_++];
            RequestRecord& record = result_.records[static_cast<std::size_t>(id)];
            record.arrival = now_ - front_end_;
            const std::size_t chosen = choose(0, request);
            const ServedPart part = pools_.size() > 1 && request.output_tokens > 1
                                        ? ServedPart::prompt
                                        : ServedPart::whole;
            const auto fits = [&](std::size_t pool, ServedPart of) {
                return instances_[pools_[pool].first].scheduler->fits(request, of);
            };
            if (fits(0, part) &&
                (part == ServedPart::whole || fits(1, ServedPart::after_prompt))) {
                ++in_system_;
                result_.request_picoseconds += front_end_.picoseconds();
                instances_[chosen].scheduler->submit(id, part);
                wake(chosen);
                return;
            }
            record.refused = true;
            if (!closed_) {
                return;
            }
        }
    }

    void work(std::size_t number) {
        Instance& instance = instances_[number];
        while (!instance.under_way.empty() && instance.under_way.front().end == now_) {
            complete(number);
        }
        if (transport_ != nullptr && instance.pool == 1) {
            pull(number);
        }
        begin(number);
    }

    void begin(std::size_t number) {
        Instance& instance = instances_[number];
        if (instance.stage_free.front() > now_ ||
            instance.under_way.size() == instance.stage_free.size()) {
            return;
        }
        Batch batch = instance.scheduler->next();
        for (const RequestId id : batch.preempted) {
            ++result_.records[static_cast<std::size_t>(id)].preemptions;
        }
        if (batch.steps.empty()) {
            return;
        }
        for (const RequestId id : batch.admitted) {
            RequestRecord& record = result_.records[static_cast<std::size_t>(id)];
            if (record.first_scheduled == Time::max()) {
                record.first_scheduled = now_;
                record.cached_tokens = instance.scheduler->cached_tokens(id);
            }
        }
        stages_.assign(instance.stage_free.size(), Time{});
        instance.cost->times(batch, stages_);
        Time end = now_;
        for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
            end = std::max(end, instance.stage_free[stage]) + stages_[stage];
            instance.stage_free[stage] = end;
        }
        count(batch, instance);
        instance.under_way.push_back({.batch = std::move(batch), .end = end});
        const auto target = static_cast<std::uint32_t>(number);
        events_.schedule(end, target, 0);
        if (stages_.size() > 1) {
            events_.schedule(instance.stage_free.front(), target, 0);
        }
    }

    void count(const Batch& batch, Instance& instance) const {
        const BlockPool& blocks = instance.scheduler->pool();
        InstanceTotals& totals = instance.totals;
        totals.busy += stages_.front();
        ++totals.batches;
        totals.most_blocks = std::max(totals.most_blocks, blocks.num_blocks() - blocks.num_free());
        for (const SequenceStep& step : batch.steps) {
            totals.computed_tokens += step.new_tokens;
        }
    }

    // Proposals up to the first rejected one. The draw is the request's and its position's, so
    // that it does not depend on the other requests.
    void accept_proposals(Instance& instance, Batch& batch) const {
        for (SequenceStep& step : batch.steps) {
            if (step.drafted == 0) {
                continue;
            }
            CounterRandom random(instance.seed,
                                 (static_cast<std::uint64_t>(step.request) << 32) +
                                     static_cast<std::uint64_t>(step.context),
                                 kProposals);
            while (step.accepted < step.drafted && random.uniform() < instance.acceptance) {
                ++step.accepted;
            }
            instance.totals.drafted_tokens += step.drafted;
            instance.totals.accepted_tokens += step.accepted;
        }
    }

    // Tokens of a request that came with one step.
    void record_tokens(RequestId request, std::int64_t tokens) {
        const auto id = static_cast<std::size_t>(request);
        RequestRecord& record = result_.records[id];
        for (std::int64_t token = 0; token < tokens; ++token) {
            if (record.output_tokens++ == 0) {
                record.first_token = now_;
            } else {
                const Time gap = now_ - last_token_[id];
                record.longest_gap = std::max(record.longest_gap, gap);
                result_.token_gaps.push_back(gap);
            }
            last_token_[id] = now_;
        }
    }

    void complete(std::size_t number) {
        Instance& instance = instances_[number];
        sampled_.clear();
        accept_proposals(instance, instance.under_way.front().batch);
        instance.scheduler->complete(instance.under_way.front().batch, sampled_);
        instance.under_way.pop_front();
        for (const Sampled& sampled : sampled_) {
            const auto id = static_cast<std::size_t>(sampled.request);
            RequestRecord& record = result_.records[id];
            record_tokens(sampled.request, sampled.tokens);
            if (!sampled.finished) {
                continue;
            }
            if (record.output_tokens < requests_[id].output_tokens) {
                hand_over(sampled.request, number);
                continue;
            }
            record.last_token = now_;
            result_.end = now_;
            --in_system_;
            if (closed_ && next_ < requests_.size()) {
                events_.schedule(now_ + front_end_, kArrival, 0);
            }
        }
    }

    // The prompt is done; the rest is for an instance of the other pool.
    void hand_over(RequestId id, std::size_t from) {
        const std::size_t to = choose(1, requests_[static_cast<std::size_t>(id)]);
        moves_[static_cast<std::size_t>(id)] = {.from = from, .to = to};
        instances_[to].scheduler->submit(id, ServedPart::after_prompt);
        wake(to);
    }

    void pull(std::size_t number) {
        accepted_.clear();
        instances_[number].scheduler->accept(accepted_);
        for (const RequestId id : accepted_) {
            const Move& move = moves_[static_cast<std::size_t>(id)];
            transport_->start(now_,
                              id,
                              move.from - pools_[0].first,
                              move.to - pools_[1].first,
                              requests_[static_cast<std::size_t>(id)].prompt_tokens);
        }
        if (!accepted_.empty()) {
            expect_transfer();
        }
    }

    void expect_transfer() {
        ++transfer_generation_;
        const Time end = transport_->next_end();
        if (end != Time::max()) {
            events_.schedule(end, kTransfer, transfer_generation_);
        }
    }

    void end_transfers() {
        ended_.clear();
        transport_->pop_ended(now_, ended_);
        for (const RequestId id : ended_) {
            const Move& move = moves_[static_cast<std::size_t>(id)];
            instances_[move.from].scheduler->release(id);
            instances_[move.to].scheduler->arrived(id);
            wake(move.from);
            wake(move.to);
        }
        expect_transfer();
    }

    const std::vector<Request>& requests_;
    bool closed_;
    Time front_end_;
    std::vector<Pool> pools_;
    std::vector<Instance> instances_;
    CacheTransport* transport_ = nullptr;
    std::vector<Move> moves_;  // by request, where pools are split
    EventQueue events_;
    ServingResult result_;
    std::vector<Time> last_token_;  // by request
    std::vector<Time> stages_;
    std::vector<Sampled> sampled_;
    std::vector<RequestId> accepted_;
    std::vector<RequestId> ended_;
    std::uint32_t transfer_generation_ = 0;
    std::size_t next_ = 0;
    std::int64_t in_system_ = 0;
    Time now_;
};

}  // namespace

ServingResult serve(const std::vector<Request>& requests,
                    const ServingLoad& load,
                    const ServingPool& pool,
                    RequestRouter& router) {
    Run run(requests, load);
    run.add(pool, router);
    return run.run();
}

ServingResult serve(const std::vector<Request>& requests,
                    const ServingLoad& load,
                    const SplitPools& pools,
                    RequestRouter& prompt_router,
                    RequestRouter& generation_router) {
    ORRERY_CHECK(pools.transport != nullptr);
    Run run(requests, load);
    run.add(pools.prompts, prompt_router);
    run.add(pools.generation, generation_router);
    run.use(pools.transport);
    return run.run();
}

}  // namespace orrery

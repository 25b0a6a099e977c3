// SPDX-License-Identifier: Apache-2.0
#include "engine/serving/serving_run.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/check.h"
#include "engine/event_queue.h"
#include "engine/serving/instance_timeline.h"
#include "engine/serving/served_instance.h"

namespace orrery {

namespace {

// Instances of a pool follow one another. Routers see those that nobody knows to be down.
struct Pool {
    struct Parked {
        RequestId request{};
        ServedPart part = ServedPart::whole;
    };
    std::size_t first = 0;
    std::size_t end = 0;
    RequestRouter* router = nullptr;
    std::vector<std::size_t> available;
    std::vector<const BatchScheduler*> schedulers;  // of the available ones
    std::vector<Parked> parked;                     // while none is available
};

// A request between the instance that computes its prompt and the one that generates.
struct Journey {
    enum class State : std::uint8_t {
        none,
        waiting,  // for a place where it goes
        moving,
        arrived,  // or it needs nothing from there any more
    };
    State state = State::none;
    std::size_t from = 0;
    std::size_t to = 0;
    std::uint32_t life = 0;  // of `from`: failures when the prompt was computed
    bool copy = false;       // the host's memory has the keys and values, not the cache
};

class Run {
public:
    Run(const std::vector<Request>& requests, const ServingLoad& load, const ServingFaults& faults)
        : requests_(requests),
          lost_cache_(faults.lost_cache),
          changes_(instance_timeline(faults)),
          closed_(load.users > 0),
          front_end_(load.front_end) {
        result_.records.resize(requests.size());
        result_.outages.resize(faults.outages.size());
        last_token_.resize(requests.size());
        journeys_.resize(requests.size());
        expect_change();
        if (!closed_ && !requests.empty()) {
            events_.schedule(requests.front().arrival + front_end_, kArrival, 0);
        }
        for (std::int64_t user = 0; closed_ && user < load.users; ++user) {
            events_.schedule(front_end_, kArrival, 0);
        }
    }

    void add(const ServingPool& pool, RequestRouter& router) {
        ORRERY_CHECK(pool.num_instances > 0 && pool.cost != nullptr);
        const std::size_t first = instances_.size();
        for (std::size_t i = 0; i < pool.num_instances; ++i) {
            instances_.emplace_back(pool, pools_.size(), requests_);
        }
        pools_.push_back({.first = first, .end = instances_.size(), .router = &router});
        known_down_.resize(instances_.size());
    }
    void use(CacheTransport* transport) { transport_ = transport; }

    ServingResult run() {
        for (Pool& pool : pools_) {
            list_available(pool);
        }
        while (!events_.empty()) {
            const Event event = events_.pop();
            // Ends of transfers that have changed since are known by their generation.
            if (event.target == kTransfer && event.generation != transfer_generation_) {
                continue;
            }
            if (event.target == kChange && next_ == requests_.size() && in_system_ == 0) {
                continue;  // nobody is left to notice
            }
            ++result_.events;
            pass_to(event.time);
            if (event.target == kArrival) {
                arrive();
            } else if (event.target == kTransfer) {
                end_transfers();
            } else if (event.target == kChange) {
                change();
            } else {
                work(event.target);
            }
        }
        for (const ServedInstance& instance : instances_) {
            const BatchScheduler& scheduler = instance.scheduler();
            ORRERY_CHECK(scheduler.num_running() + scheduler.num_waiting() == 0);
            result_.instances.push_back(instance.totals());
        }
        return std::move(result_);
    }

private:
    static constexpr std::uint32_t kArrival = ~std::uint32_t{0};
    static constexpr std::uint32_t kTransfer = kArrival - 1;
    static constexpr std::uint32_t kChange = kArrival - 2;

    static std::size_t number_of(RequestId id) { return static_cast<std::size_t>(id); }
    RequestRecord& record_of(RequestId id) { return result_.records[number_of(id)]; }
    Journey& journey_of(RequestId id) { return journeys_[number_of(id)]; }
    const Request& request_of(RequestId id) const { return requests_[number_of(id)]; }

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

    // The part of a request that the first pool serves.
    ServedPart first_part(const Request& request) const {
        return pools_.size() > 1 && request.output_tokens > 1 ? ServedPart::prompt
                                                              : ServedPart::whole;
    }

    // Of a closed load, the user whose request can never run sends the next one instead.
    void send_next() {
        while (next_ < requests_.size()) {
            const auto id = static_cast<RequestId>(next_);
            const Request& request = requests_[next_++];
            record_of(id).arrival = now_ - front_end_;
            const ServedPart part = first_part(request);
            const auto fits = [&](std::size_t pool, ServedPart of) {
                return instances_[pools_[pool].first].scheduler().fits(request, of);
            };
            if (fits(0, part) &&
                (part == ServedPart::whole || fits(1, ServedPart::after_prompt))) {
                ++in_system_;
                result_.request_picoseconds += front_end_.picoseconds();
                send(0, id, part);
                return;
            }
            record_of(id).refused = true;
            if (!closed_) {
                return;
            }
        }
    }

    void send(std::size_t pool, RequestId id, ServedPart part) {
        Pool& of = pools_[pool];
        if (of.available.empty()) {
            of.parked.push_back({.request = id, .part = part});
            return;
        }
        const std::size_t to = of.available[of.router->choose(request_of(id), of.schedulers)];
        journey_of(id).to = to;
        instances_[to].scheduler().submit(id, part, record_of(id).output_tokens);
        wake(to);
    }

    void work(std::size_t number) {
        ServedInstance& instance = instances_[number];
        while (instance.ends(now_)) {
            complete(number);
        }
        if (transport_ != nullptr && instance.pool() == 1 && !instance.is_down()) {
            pull(number);
        }
        begin(number);
    }

    void begin(std::size_t number) {
        ServedInstance& instance = instances_[number];
        const auto begun = instance.begin(now_, preempted_);
        for (const RequestId id : preempted_) {
            ++record_of(id).preemptions;
        }
        if (!begun) {
            return;
        }
        for (const RequestId id : begun->batch->admitted) {
            RequestRecord& record = record_of(id);
            if (record.first_scheduled == Time::max()) {
                record.first_scheduled = now_;
                record.cached_tokens = instance.scheduler().cached_tokens(id);
            }
        }
        const auto target = static_cast<std::uint32_t>(number);
        events_.schedule(begun->end, target, 0);
        if (begun->first_stage_free != begun->end) {
            events_.schedule(begun->first_stage_free, target, 0);
        }
    }

    // Tokens of a request that came with one step.
    void record_tokens(RequestId request, std::int64_t tokens) {
        const std::size_t id = number_of(request);
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
        sampled_.clear();
        instances_[number].complete(sampled_);
        for (const Sampled& sampled : sampled_) {
            RequestRecord& record = record_of(sampled.request);
            record_tokens(sampled.request, sampled.tokens);
            if (!sampled.finished) {
                continue;
            }
            if (record.output_tokens < request_of(sampled.request).output_tokens) {
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
        journey_of(id) = {.state = Journey::State::waiting,
                          .from = from,
                          .life = instances_[from].failures()};
        send(1, id, ServedPart::after_prompt);
    }

    // Of an instance that has stopped since, the keys and values are gone.
    bool source_is_there(const Journey& journey) const {
        return instances_[journey.from].failures() == journey.life;
    }

    void pull(std::size_t number) {
        accepted_.clear();
        instances_[number].scheduler().accept(accepted_);
        for (const RequestId id : accepted_) {
            Journey& journey = journey_of(id);
            if (!source_is_there(journey)) {
                continue;  // until that is noticed
            }
            journey.state = Journey::State::moving;
            transport_->start(now_,
                              id,
                              journey.from - pools_[0].first,
                              journey.to - pools_[1].first,
                              request_of(id).prompt_tokens);
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
            Journey& journey = journey_of(id);
            journey.state = Journey::State::arrived;
            if (!journey.copy) {
                instances_[journey.from].scheduler().release(id);
            }
            instances_[journey.to].scheduler().arrived(id);
            wake(journey.from);
            wake(journey.to);
        }
        expect_transfer();
    }

    // --- faults ---

    void expect_change() {
        if (next_change_ < changes_.size()) {
            events_.schedule(changes_[next_change_].at, kChange, 0);
        }
    }

    void change() {
        const InstanceChange& now = changes_[next_change_++];
        switch (now.kind) {
            case InstanceChange::Kind::stop:
                stop(now.instance);
                break;
            case InstanceChange::Kind::notice:
                notice(now.instance, result_.outages[now.outage]);
                break;
            case InstanceChange::Kind::restart:
                restart(now.instance);
                break;
            case InstanceChange::Kind::pace:
                instances_[now.instance].slow_down(now.factor);
                break;
        }
        expect_change();
    }

    void list_available(Pool& pool) {
        pool.available.clear();
        pool.schedulers.clear();
        for (std::size_t i = pool.first; i < pool.end; ++i) {
            if (!known_down_[i]) {
                pool.available.push_back(i);
                pool.schedulers.push_back(&instances_[i].scheduler());
            }
        }
    }

    // What it computes is lost at once, and so are the transfers to it and from it.
    void stop(std::size_t number) {
        instances_[number].stop();
        if (transport_ == nullptr) {
            return;
        }
        end_transfers();  // those of this instant
        bool broken = false;
        for (std::size_t i = 0; i < journeys_.size(); ++i) {
            Journey& journey = journeys_[i];
            const bool touched = journey.from == number || journey.to == number;
            if (journey.state == Journey::State::moving && touched) {
                transport_->cancel(now_, static_cast<RequestId>(i));
                journey.state = Journey::State::waiting;
                broken = true;
            }
        }
        if (broken) {
            expect_transfer();
        }
    }

    // Its requests go elsewhere.
    void notice(std::size_t number, OutageEffect& effect) {
        ServedInstance& instance = instances_[number];
        Pool& pool = pools_[instance.pool()];
        known_down_[number] = true;
        std::vector<Pool::Parked> moved;
        for (const RequestId id : instance.scheduler().requests()) {
            const std::int64_t computed = instance.scheduler().computed_tokens(id);
            moved.push_back({.request = id, .part = part_elsewhere(id, computed, effect)});
            ++record_of(id).moves;
            ++effect.moved_requests;
        }
        instance.leave();
        list_available(pool);
        for (const Pool::Parked& one : moved) {
            send(instance.pool(), one.request, one.part);
        }
        if (instance.pool() == 0 && pools_.size() > 1) {
            lose_prompts(effect);
        }
    }

    // How a request goes on that ran on an instance that has stopped.
    ServedPart part_elsewhere(RequestId id, std::int64_t computed, OutageEffect& effect) {
        Journey& journey = journey_of(id);
        if (journey.state == Journey::State::none) {  // nothing came from elsewhere
            effect.lost_tokens += computed;
            return record_of(id).output_tokens > 0 ? ServedPart::whole
                                                   : first_part(request_of(id));
        }
        const std::int64_t prompt = request_of(id).prompt_tokens;
        const bool there = source_is_there(journey);
        if (journey.state == Journey::State::waiting && there) {
            return ServedPart::after_prompt;
        }
        if (there && lost_cache_ == LostCache::copy) {
            effect.lost_tokens += std::max<std::int64_t>(0, computed - prompt);
            journey.state = Journey::State::waiting;
            journey.copy = true;
            return ServedPart::after_prompt;
        }
        effect.lost_tokens += std::max(computed, prompt);
        journey.state = Journey::State::arrived;
        return ServedPart::whole;
    }

    // Requests whose prompts were still to be pulled compute them where they generate.
    void lose_prompts(OutageEffect& effect) {
        for (Pool::Parked& parked : pools_[1].parked) {
            if (has_lost_prompt(parked.request)) {
                lose_prompt(parked.request, effect);
                parked.part = ServedPart::whole;
            }
        }
        for (std::size_t i = 0; i < journeys_.size(); ++i) {
            const auto id = static_cast<RequestId>(i);
            if (has_lost_prompt(id)) {
                lose_prompt(id, effect);
                BatchScheduler& scheduler = instances_[journeys_[i].to].scheduler();
                scheduler.cancel(id);
                scheduler.submit(id, ServedPart::whole, record_of(id).output_tokens);
                wake(journeys_[i].to);
            }
        }
    }
    bool has_lost_prompt(RequestId id) {
        const bool waits = journey_of(id).state == Journey::State::waiting;
        return waits && !source_is_there(journey_of(id)) && !record_of(id).finished();
    }
    void lose_prompt(RequestId id, OutageEffect& effect) {
        journey_of(id).state = Journey::State::arrived;
        effect.lost_tokens += request_of(id).prompt_tokens;
    }

    void restart(std::size_t number) {
        instances_[number].restart(now_);
        known_down_[number] = false;
        const std::size_t pool = instances_[number].pool();
        list_available(pools_[pool]);
        std::vector<Pool::Parked> parked;
        std::swap(parked, pools_[pool].parked);
        for (const Pool::Parked& one : parked) {
            send(pool, one.request, one.part);
        }
    }

    const std::vector<Request>& requests_;
    LostCache lost_cache_;
    std::vector<InstanceChange> changes_;
    std::size_t next_change_ = 0;
    bool closed_;
    Time front_end_;
    std::vector<Pool> pools_;
    std::vector<ServedInstance> instances_;
    std::vector<bool> known_down_;  // by instance
    CacheTransport* transport_ = nullptr;
    std::vector<Journey> journeys_;  // by request
    EventQueue events_;
    ServingResult result_;
    std::vector<Time> last_token_;  // by request
    std::vector<Sampled> sampled_;
    std::vector<RequestId> preempted_;
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
                    RequestRouter& router,
                    const ServingFaults& faults) {
    Run run(requests, load, faults);
    run.add(pool, router);
    return run.run();
}

ServingResult serve(const std::vector<Request>& requests,
                    const ServingLoad& load,
                    const SplitPools& pools,
                    RequestRouter& prompt_router,
                    RequestRouter& generation_router,
                    const ServingFaults& faults) {
    ORRERY_CHECK(pools.transport != nullptr);
    Run run(requests, load, faults);
    run.add(pools.prompts, prompt_router);
    run.add(pools.generation, generation_router);
    run.use(pools.transport);
    return run.run();
}

}  // namespace orrery

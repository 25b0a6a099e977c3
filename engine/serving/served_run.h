// SPDX-License-Identifier: Apache-2.0
// The state of a run of serve() (serving_run.h): its queue of events, and what each of them does.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "engine/serving/front_end.h"
#include "engine/serving/instance_timeline.h"
#include "engine/serving/served_instance.h"
#include "engine/serving/serving_run.h"
#include "engine/world/event_queue.h"

namespace orrery {

class ServedRun {
public:
    ServedRun(const std::vector<Request>& requests,
              const ServingLoad& load,
              const ServingFaults& faults,
              const ServingParts& parts);

    void add(const ServingPool& pool, RequestRouter& router);
    void use(CacheTransport* transport) { transport_ = transport; }
    ServingResult run();

private:
    // Instances of a pool follow one another. Routers see all but the known outages.
    struct Pool {
        struct Parked {
            RequestId request{};
            ServedPart part = ServedPart::whole;
        };
        std::size_t first = 0;
        std::size_t end = 0;
        std::size_t smallest = 0;  // instance: of the fewest blocks
        RequestRouter* router = nullptr;
        std::vector<std::size_t> available;
        std::vector<const BatchScheduler*> schedulers;  // of the available ones
        std::vector<Parked> parked;                     // while none is available
        // Since the autoscaler was asked last.
        std::int64_t arrivals = 0;
        std::int64_t ended = 0;
        std::int64_t good = 0;
        std::deque<std::pair<Time, std::int64_t>> wanted;  // instances, at what time
    };
    // Only serving instances get requests; draining ones still have some.
    enum class Life : std::uint8_t { serving, starting, draining, off };
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
    // Calls of a workflow that are still to be sent, in the order of their stages.
    struct Workflow {
        std::vector<RequestId> later;
        std::size_t next = 0;   // of `later`
        std::int64_t open = 0;  // calls of the stage under way
    };
    // A request whose blocks come from tiers below the cache.
    struct OpenLoad {
        RequestId request{};
        std::size_t to = 0;
        bool held = false;  // a step waits for it
    };

    static constexpr std::uint32_t kArrival = ~std::uint32_t{0};
    static constexpr std::uint32_t kTransfer = kArrival - 1;
    static constexpr std::uint32_t kChange = kArrival - 2;
    static constexpr std::uint32_t kScale = kArrival - 3;
    static constexpr std::uint32_t kPower = kArrival - 5;
    static constexpr std::uint32_t kClocks = kArrival - 6;
    static constexpr std::uint32_t kBrake = 1;  // as the generation of kClocks
    static constexpr std::uint32_t kStarted = kArrival - 4;  // its generation is the instance

    static std::size_t number_of(RequestId id) { return static_cast<std::size_t>(id); }
    RequestRecord& record_of(RequestId id) { return result_.records[number_of(id)]; }
    Journey& journey_of(RequestId id) { return journeys_[number_of(id)]; }
    const Request& request_of(RequestId id) const { return requests_[number_of(id)]; }

    void handle(const Event& event);
    bool is_over() const { return next_ == arriving_ && in_system_ == 0; }
    void pass_to(Time time);
    void wake(std::size_t instance) {
        events_.schedule(now_, static_cast<std::uint32_t>(instance), 0);
    }
    void list_available(Pool& pool);

    // Requests come, and go to an instance.
    void arrive();
    void expect_user(Time arrival);
    // The part of a request that the first pool serves.
    ServedPart first_part(const Request& request) const;
    bool fits_somewhere(const Request& request) const;
    void send_next();
    // False if the request is refused. `since_arrival`: how long ago it came.
    bool send_one(RequestId id, Time since_arrival);
    void list_workflows();
    void end_call(std::uint32_t workflow);
    void refuse_workflow(std::uint32_t workflow);
    void send(std::size_t pool, RequestId id, ServedPart part);
    std::size_t choose(std::size_t pool, RequestId id);
    void submit(std::size_t to, RequestId id, ServedPart part);
    void send_parked(std::size_t pool);
    bool admits(RequestId id, std::size_t to);
    Time predicted_output_token(const Request& request) const;

    // Instances make steps.
    void work(std::size_t number);
    void begin(std::size_t number);
    void expect_step(std::size_t number, const ServedInstance::Begun& begun);
    void record_tokens(RequestId request, std::int64_t tokens);
    void complete(std::size_t number);
    Time end_wait(RequestId id);
    void end_request(RequestId id);
    void hold_to(Time bound, Time time, std::size_t& longer);
    void report_progress();

    // Keys and values move (serving_transfers.cpp).
    void hand_over(RequestId id, std::size_t from);
    bool source_is_there(const Journey& journey) const;
    void pull(std::size_t number);
    void expect_transfer();
    void end_transfers();
    void end_move(RequestId id);
    void start_load(const SequenceLoad& load, std::size_t to);
    bool end_load(RequestId id);
    void cancel_load(RequestId id);

    // Instances come and go with the load (serving_scaling.cpp).
    void begin_scaling();
    void end_scaling();
    void record_instances(std::size_t pool);
    PoolObservation observe(std::size_t pool);
    void scale();
    void add_instances(std::size_t pool, std::int64_t count);
    void drain_instances(std::size_t pool, std::int64_t count);
    void end_drain(std::size_t number);
    void start_serving(std::size_t number);

    // The row's power (serving_power.cpp).
    void begin_power();
    double joules_since_last(Time now);
    void ask_power();
    void end_power();
    void arrive_clocks(std::uint32_t what);
    void set_clocks(const ClockCaps& caps);

    // Instances stop and slow down (serving_faults.cpp).
    void expect_change();
    void change();
    void stop(std::size_t number);
    void stop_transfers(std::size_t number);
    void notice(std::size_t number, OutageEffect& effect);
    ServedPart part_elsewhere(RequestId id, std::int64_t computed, OutageEffect& effect);
    void lose_prompts(OutageEffect& effect);
    bool has_lost_prompt(RequestId id);
    void lose_prompt(RequestId id, OutageEffect& effect);
    void restart(std::size_t number);

    const std::vector<Request>& requests_;
    LostCache lost_cache_;
    std::vector<InstanceChange> changes_;
    std::size_t next_change_ = 0;
    bool closed_;
    FrontEnd front_end_;
    std::deque<Time> sent_;  // when users sent what is at the front end
    Time sent_now_;          // arrival of the request that is queued now
    bool slow_gaps_;
    bool token_gaps_;
    ServingLoad::Bounds bounds_;
    // Requests that took longer than each bound.
    struct Longer {
        std::size_t first_token = 0;
        std::size_t output_token = 0;
        std::size_t end_to_end = 0;
    };
    Longer longer_;
    std::function<void(double)> progress_;
    std::size_t ended_requests_ = 0;
    ServingParts parts_;
    std::vector<Pool> pools_;
    std::vector<ServedInstance> instances_;
    std::vector<bool> known_down_;  // by instance
    std::vector<Life> lives_;       // by instance
    std::vector<Time> on_since_;    // by instance
    std::vector<double> metered_;   // joules by instance, at the last question
    ClockCaps decided_;
    std::deque<ClockCaps> coming_;  // decided, not set yet
    ClockCaps caps_;                // set, but for the brake
    bool braked_ = false;
    CacheTransport* transport_ = nullptr;
    std::vector<Journey> journeys_;  // by request
    std::vector<Workflow> workflows_;  // by number, less 1
    std::size_t arriving_ = 0;         // requests with an arrival; later stages follow
    std::vector<OpenLoad> loads_;
    EventQueue events_;
    ServingResult result_;
    std::vector<Time> last_token_;  // by request
    std::vector<Time> wait_began_;  // by request: of what is under way in its record; max(): none
    std::vector<std::vector<Time>> gaps_;  // by running request
    std::vector<Sampled> sampled_;
    ServedInstance::Chosen chosen_;
    std::vector<RequestId> accepted_;
    std::vector<RequestId> ended_;
    std::uint32_t transfer_generation_ = 0;
    std::size_t next_ = 0;
    std::int64_t in_system_ = 0;
    Time now_;
};

}  // namespace orrery

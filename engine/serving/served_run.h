// SPDX-License-Identifier: Apache-2.0
// The state of a run of serve() (serving_run.h): its event queue, and the handlers of its events.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "engine/serving/front_end.h"
#include "engine/serving/instance_timeline.h"
#include "engine/serving/responses.h"
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
    void leave_layer_by_layer(std::int64_t shortest_prompt) { layer_wise_ = shortest_prompt; }
    void stream_from_generation(bool streams) { streams_from_generation_ = streams; }
    ServingResult run();

private:
    // Fills the caches of the first pool with the prompts of repeated requests. An earlier run sent
    // them to the instances in turn.
    void remember_prompts();

    // The instances of a pool are consecutive. Routers see all instances but those in a noticed
    // outage.
    struct Pool {
        struct Parked {
            RequestId request{};
            ServedPart part = ServedPart::whole;
        };
        std::size_t first = 0;
        std::size_t end = 0;
        std::size_t smallest = 0;  // the instance with the fewest blocks
        RequestRouter* router = nullptr;
        std::vector<std::size_t> available;
        std::vector<const BatchScheduler*> schedulers;  // of the available instances
        std::vector<Parked> parked;  // requests that arrived while none was available
        // Since the last question to the autoscaler.
        std::int64_t arrivals = 0;
        std::int64_t ended = 0;
        std::int64_t good = 0;
        std::deque<std::pair<Time, std::int64_t>> wanted;  // (time, wanted number of instances)
    };
    // Only serving instances get requests; a draining one finishes its own.
    enum class Life : std::uint8_t { serving, starting, draining, off };
    // A request on its way from the instance that computes its prompt to the one that generates.
    struct Journey {
        enum class State : std::uint8_t {
            none,
            waiting,  // for blocks at its destination
            moving,
            arrived,  // or it needs nothing from `from` any more
        };
        State state = State::none;
        std::size_t from = 0;
        std::size_t to = 0;
        std::uint32_t life = 0;  // failures() of `from` when the prompt was computed
        bool copy = false;       // the host's memory, not the cache, has the keys and values
        // For departures layer by layer, in tokens x layers (CachePart).
        bool under_way = false;
        std::int64_t ready = 0;  // computed so far
        std::int64_t sent = 0;   // sent so far, including the part in flight
    };
    // The departure of a request's first layers in a step.
    struct Departure {
        RequestId request{};
        std::int64_t ready = 0;  // as Journey::ready
    };
    // The calls of a workflow that are still to be sent, in order of stages.
    struct Workflow {
        std::vector<RequestId> later;
        std::size_t next = 0;   // index into `later`
        std::int64_t open = 0;  // unfinished calls of the current stage
    };
    // A request whose blocks are loaded from tiers below the cache.
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
    static constexpr std::uint32_t kBrake = 1;  // as generation of a kClocks event
    // The generation is the number of the departure
    static constexpr std::uint32_t kLayers = kArrival - 7;
    // The generation is the index of the instance
    static constexpr std::uint32_t kStarted = kArrival - 4;
    // The client has the last tokens of a request, which is the generation
    static constexpr std::uint32_t kAnswered = kArrival - 8;

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

    // Arrivals, and their routing to instances (serving_run.cpp).
    void arrive();
    // The time at which a request is queued, if it arrives after those with lower numbers.
    Time through_front_end(Time arrival, std::size_t request);
    void expect_user(Time arrival);
    // The part of a request that the first pool serves.
    ServedPart first_part(const Request& request) const;
    bool fits_somewhere(const Request& request) const;
    void send_next();
    // False if the request is refused. `since_arrival` is the time since its arrival.
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

    // Steps of instances.
    void work(std::size_t number);
    void begin(std::size_t number);
    void expect_step(std::size_t number, const ServedInstance::Begun& begun);
    Time end_wait(RequestId id);

    // Tokens of steps, and ends of requests (serving_tokens.cpp).
    void record_tokens(RequestId request, std::int64_t tokens, Time seen);
    Time respond(std::size_t number, const Sampled& sampled);
    void complete(std::size_t number);
    void end_request(RequestId id);
    void hold_to(Time bound, Time time, std::size_t& longer);
    void report_progress();

    // Moves of keys and values (serving_transfers.cpp).
    void hand_over(RequestId id, std::size_t from);
    bool source_is_there(const Journey& journey) const;
    void pull(std::size_t number);
    void expect_transfer();
    void end_transfers();
    void end_move(RequestId id);
    void send_first_tokens(std::size_t number);
    // Moves layer by layer (layer_departures.cpp).
    bool leaves_by_layers(const Request& request) const;
    void expect_layers(std::size_t number, const ServedInstance::Begun& begun);
    void depart(std::uint32_t departure);
    void complete_layers(std::size_t number, const Batch& batch);
    void leave(RequestId id, std::int64_t ready);
    void send_ready(RequestId id);
    void end_part(RequestId id);
    void start_load(const SequenceLoad& load, std::size_t to);
    bool end_load(RequestId id);
    void cancel_load(RequestId id);

    // Instances that start and stop with the load (serving_scaling.cpp).
    void begin_scaling();
    void end_scaling();
    void record_instances(std::size_t pool);
    PoolObservation observe(std::size_t pool);
    void scale();
    void add_instances(std::size_t pool, std::int64_t count);
    void drain_instances(std::size_t pool, std::int64_t count);
    void end_drain(std::size_t number);
    void start_serving(std::size_t number);

    // The power of the row (serving_power.cpp).
    void begin_power();
    double joules_since_last(Time now);
    void ask_power();
    void end_power();
    void arrive_clocks(std::uint32_t what);
    void set_clocks(const ClockCaps& caps);

    // Outages and slowdowns of instances (serving_faults.cpp).
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
    Responses responses_;
    std::deque<Time> sent_;  // send times of the requests at the front end
    Time sent_now_;          // arrival of the request that is being queued
    bool slow_gaps_;
    bool token_gaps_;
    ServingLoad::Bounds bounds_;
    // The number of requests beyond each bound.
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
    std::vector<double> metered_;   // by instance: joules at the last question
    ClockCaps decided_;
    std::deque<ClockCaps> coming_;  // decided but not yet set
    ClockCaps caps_;                // in effect, apart from the brake
    bool braked_ = false;
    CacheTransport* transport_ = nullptr;
    std::int64_t layer_wise_ = 0;  // as SplitPools::layer_wise_tokens
    bool streams_from_generation_ = false;
    // Requests whose keys and values are with an instance that begins no step before the next one.
    struct Joining {
        RequestId request{};
        std::size_t to = 0;
    };
    std::vector<Joining> joining_;
    std::map<std::uint32_t, Departure> departures_;
    std::uint32_t next_departure_ = 0;
    std::vector<Journey> journeys_;    // by request
    std::vector<Workflow> workflows_;  // by workflow number - 1
    // Number of requests with an arrival time; calls of later stages follow them
    std::size_t arriving_ = 0;
    std::vector<OpenLoad> loads_;
    EventQueue events_;
    ServingResult result_;
    std::vector<Time> last_token_;         // by request
    std::vector<Time> wait_began_;         // by request: begin of its current wait; max(): none
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

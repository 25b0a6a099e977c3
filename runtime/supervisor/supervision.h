// SPDX-License-Identifier: Apache-2.0
// The implementation of the supervisor (supervisor.h): its loop and the reports (supervisor.cpp),
// its own observations (supervision_watch.cpp), and the execution of the recovery machine's orders
// (supervision_restart.cpp).
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/supervisor/event_log.h"
#include "runtime/supervisor/memories.h"
#include "runtime/supervisor/nodes.h"
#include "runtime/supervisor/supervisor.h"
#include "runtime/supervisor/traffic_watch.h"

namespace orrery {

inline double seconds(std::chrono::steady_clock::duration time) {
    return std::chrono::duration<double>(time).count();
}

inline std::chrono::milliseconds milliseconds(WallTime time) {
    return std::chrono::milliseconds{time.microseconds() / 1000};
}

class Supervisor {
    using Clock = std::chrono::steady_clock;
    using Milliseconds = std::chrono::milliseconds;

public:
    Supervisor(const SupervisedJob& job, EventLog& log)
        : job_(job),
          log_(log),
          machine_(job.shape, job.nodes, make_ladder(job.policies), job.limits),
          nodes_(job.command, job.nodes, job.patience, job.places),
          memories_(!job.shape.state_sharded),
          kept_shape_(job.shape) {
        machine_.keep_log(true);
    }

    Result<SupervisedRun> run();

private:
    enum class Phase : std::uint8_t {
        gathering,
        checking,
        starting,
        training,
        settling,
        leaving,
        idle,
        ended
    };

    WallTime now() const {
        const auto us =
            std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin_);
        return WallTime::microseconds(us.count());
    }
    void say(const std::string& text) {
        log_.event(now(), text);
        if (job_.line) {
            job_.line(" supervisor: " + text);
        }
    }
    void turn();
    void hear(std::uint32_t node, const MemberReport& report);
    void look();
    void trouble(Clock::time_point since);
    void settle();
    bool hearing() const;
    void repaired();
    void remind();
    void watch_progress();
    void watch_slowness();
    void tell(Observation o);
    void obey(const std::vector<Action>& actions);
    void diagnose();
    void begin(const Action& restart);
    void begin_now();
    void choose_state(const Action& restart);
    void gather();
    void lose(NodeNumber node);
    void start_spares();
    void say_processes(NodeNumber first, NodeNumber end);
    void begin_check();
    void watch_check();
    void note_meeting(const MemberReport& report);
    void say_start();
    void check_started();
    void check_done();
    Observation observation(ObservationKind kind) const;

    const SupervisedJob& job_;
    EventLog& log_;
    RecoveryMachine machine_;
    Nodes nodes_;
    std::deque<Observation> heard_;
    SupervisedRun run_;
    Phase phase_ = Phase::gathering;
    Clock::time_point begin_ = Clock::now();
    Clock::time_point deadline_;  // of the current phase
    Clock::time_point progress_ = begin_;
    Clock::time_point trouble_ = begin_;
    std::optional<Clock::time_point> struck_;
    std::optional<Clock::time_point> remind_;  // time of the next line about what the job waits for
    Clock::time_point gathers_ = begin_;       // begin of gathering
    Clock::time_point gone_ = begin_;          // time of the orders to train
    std::string checkpoint_;
    std::filesystem::file_time_type since_;  // lower bound on the times of this run's checkpoints
    std::int64_t from_step_ = 0;
    std::int64_t step_ = 0;
    double stepping_s_ = 0;
    std::int64_t steps_ = 0;
    bool draining_ = false;
    std::vector<NodeNumber> drained_;  // the nodes that leave
    std::optional<NodeNumber> told_slow_;
    std::vector<std::uint32_t> faults_;  // faults of the drill that were injected
    std::string operator_;               // the reason why a person is needed
    TrafficWatch traffic_;
    Memories memories_;
    JobShape kept_shape_;  // shape of the job that wrote the copies
    Action restart_;
    bool checks_ = false;  // the gathered members will be tested before the restart
    bool spares_ = false;  // spares have been started
    bool fresh_ = false;   // the members' processes are new and have not trained
    // Faults of the drill, and their nodes
    std::vector<std::pair<std::uint32_t, NodeNumber>> lasting_;
    std::int64_t arrived_us_ = 0;    // arrival of the last member at the last meeting
    std::int64_t connected_us_ = 0;  // the last member's connection with all others
    std::int64_t drawing_us_ = 0;    // maximum over the members
};

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The members of a supervised job from the supervisor's side: whether each is alive, its rank,
// whether it waits or has failed, and which member it accuses. One process represents a node.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/result.h"
#include "engine/recovery/job_state.h"
#include "runtime/supervisor/failures.h"
#include "runtime/supervisor/member_process.h"
#include "runtime/supervisor/places.h"
#include "runtime/supervisor/waiting_line.h"

namespace orrery {

class TcpStoreServer;

// The result of the tests before a start.
struct CheckVerdict {
    std::vector<NodeNumber> failed;  // did not finish the tests
    std::vector<NodeNumber> slow;
    std::vector<std::string> lines;  // for people
};

class Nodes {
public:
    using Clock = std::chrono::steady_clock;
    using Milliseconds = std::chrono::milliseconds;

    Nodes(const std::vector<std::string>& command,
          std::uint32_t count,
          Milliseconds patience,
          Places places = {});
    ~Nodes();
    Nodes(const Nodes&) = delete;
    Nodes& operator=(const Nodes&) = delete;

    // Starts a process for each node that has none and is not in repair.
    Result<void> start_all();
    pid_t pid(NodeNumber node) const;
    // Returns when a member has sent a report, or after `most`.
    void wait(Milliseconds most) const;
    std::vector<MemberReport> reports(NodeNumber node);
    // Processes a report. False if it belongs to an earlier training.
    bool hear(NodeNumber node, const MemberReport& report, Clock::time_point now);

    // Assigns ranks to the nodes of the job, with the first slot as rank 0.
    void assign(const JobState& state);
    const JobShape& shape() const { return shape_; }  // of the assigned nodes
    // Starts missing processes. With `kill_late`, processes that are not ready are restarted.
    Result<void> make_ready(bool kill_late);
    // The node for which make_ready() failed, if it is on another machine, which may be gone. A
    // second call returns no value.
    std::optional<NodeNumber> take_out_of_reach() { return std::exchange(out_of_reach_, {}); }
    bool all_ready() const;
    struct Start {
        OrderKind kind = OrderKind::go;  // or check
        std::string checkpoint{};
        std::vector<std::uint32_t> struck{};
        std::vector<std::pair<std::uint32_t, NodeNumber>> lasting{};  // faults and their nodes
    };
    Result<void> go(const Start& start);
    std::uint32_t size() const { return static_cast<std::uint32_t>(active_.size()); }
    // Whether each member has reported its tests or is gone.
    bool all_checked() const;
    CheckVerdict verdict(Milliseconds heartbeat, Clock::time_point now);
    bool all_started() const;
    bool all_done() const;
    bool all_left() const;
    void order_leave() const;
    void kill_active();
    void kill_not_started();
    void quit();

    void note_deaths(Clock::time_point now);
    bool somebody_failed(Milliseconds heartbeat, Clock::time_point now) const;
    // Whether a member accuses another while some have not reported. The verdict must then wait,
    // because a member that is cut off accuses others, too.
    bool verdict_is_open() const;
    Failures failures(Milliseconds heartbeat, Clock::time_point now);
    // The members that compute while another one waits for them.
    std::vector<NodeNumber> not_waiting() const;
    std::vector<std::string> where_all_are() const;

    // The node that computed `factor` times as long as the median of all, over `steps` steps of
    // this training.
    std::optional<NodeNumber> slow_one(std::int64_t steps, double factor) const;

    // Removes a node from the job until `back`.
    void evict(NodeNumber node, Clock::time_point back);
    std::vector<NodeNumber> repaired(Clock::time_point now);  // returns each node once
    // The evicted nodes that are not back, in the order of their return.
    std::vector<NodeInRepair> in_repair(Clock::time_point now) const;

private:
    enum class State : std::uint8_t {
        absent,
        present,
        ordered,
        training,
        left,
        failed,
        done,
        checked
    };
    struct Node {
        std::unique_ptr<MemberProcess> process;
        State state = State::absent;
        bool idle = false;  // waits for an order
        std::uint32_t starts = 0;
        std::int64_t step = 0;
        Clock::time_point seen;
        bool waiting = false;
        std::string waits_for;  // ranks, as rank_ranges()
        std::uint64_t tag = 0;
        std::string doing;
        std::int64_t accused = -1;  // rank
        std::int64_t computed_us = 0;
        std::int64_t computed_steps = 0;
        std::string error;
        std::optional<Clock::time_point> back;
        Clock::time_point next_try;  // earliest time of the next start
    };

    Result<void> start(NodeNumber node);
    std::optional<NodeNumber> cut_off() const;
    bool silent(const Node& node, Milliseconds heartbeat, Clock::time_point now) const;
    template <class Is>
    bool all_active(Is is) const;

    const std::vector<std::string>& command_;
    Milliseconds patience_;
    std::optional<NodeNumber> out_of_reach_;
    Places places_;
    std::vector<Node> nodes_;
    std::vector<NodeNumber> active_;  // by rank
    JobShape shape_;
    std::uint32_t generation_ = 0;
    std::unique_ptr<TcpStoreServer> store_;  // through which ranks find each other
};

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// A simulated world: one clock and the rates of one network, for any number of programs. A client
// runs programs there one after the other or at the same time. The repeated training step is one
// client (engine/world/simulated_executor.h), the jobs of a cluster are another.
//
// A program may join at any time, also while others run. Its ranks are placed on given GPUs.
// Several programs may be on one GPU; the client then lets them take turns. A program without an
// unfinished run may leave.
//
//   World world{rates};
//   const auto prefill = world.add(input_of(prefill_program), gpus);
//   world.start(*prefill, Time{});
//   while (std::optional<RunEnd> end = world.run_to_next_end()) {
//       const auto next = world.add(input_of(choose_next(*end)), gpus);
//       world.start(*next, end->end());   // other runs continue meanwhile
//       world.remove(end->party);
//   }
//
// A later program may load any link, so that ranks and links of programs that join are not folded.
// World::make() makes a world for one program that has the network to itself, perhaps of several
// parties (engine/program/merged_program.h): there they fold. Both give the same picoseconds
// (tests/reference/worlds_agree_test.cpp).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/world/party_runs.h"
#include "engine/world/simulation.h"

namespace orrery {

class CommonRates;
struct Execution;
struct ExecutionPlan;

class World {
public:
    // A world of one program that never shares the network. `rates` must be fresh and have
    // input.network's links; both must outlive the world. Of input.runs only the launch costs are
    // used, and input.steps is ignored. An Error if the program is not well formed.
    static Result<std::unique_ptr<World>> make(const SimulationInput& input, SharedRates& rates);
    // A world without programs; `rates` as above.
    explicit World(SharedRates& rates);
    ~World();

    // Adds a program at the present instant, and returns the number of its first party; its other
    // parties follow. Rank r is placed on rank place[r] of input.network; the networks of all
    // programs must have the same links. The program and the network must stay alive until the
    // program leaves. input.events must be empty. An Error if the program is not well formed.
    Result<std::uint32_t> add(const SimulationInput& input, std::vector<RankId> place = {});
    // Removes the program of this party. All its runs must have ended and been returned. Numbers of
    // parties are never reused.
    void remove(std::uint32_t party);
    std::size_t num_programs() const { return members_.size(); }

    // Starts `steps` steps, at least one, at `at`, which must not be before now(). The party's last
    // run must have ended.
    void start(std::uint32_t party, Time at, std::uint32_t steps = 1);
    // Runs until a run ends, and returns it. If several end at one instant, each call returns one
    // of them. No value if no run is left, if the world is stuck(), or, with joined programs, if no
    // run ends before `limit`; now() is then `limit`.
    std::optional<RunEnd> run_to_next_end(Time limit = Time::max());
    Time now() const;

    // True if runs are left and none of them can make progress.
    bool stuck() const { return stuck_; }
    // The reason of stuck(): a hang if ranks or links were lost (engine/world/step_events.h), else
    // a deadlock.
    std::optional<Hang> hang() const;
    Error deadlock() const;

    // Results of the party's program so far. None of its runs may be unfinished.
    struct Totals {
        CauseTimes busy_sum;             // over all ranks, of the last step of each run
        std::vector<Time> rank_compute;  // by fold class: kernel time of the last step of each run
        // Of all runs since the last call; steps count from each run's start
        std::vector<TracedOp> trace;
        std::int64_t events = 0;  // events of the clock
    };
    Totals take_totals(std::uint32_t party = 0);

    // For the repeated step of a single party. If the program has a barrier
    // (engine/world/step_barrier.h), starts a run that simulates only the end of the last step but
    // one and the last step, with times relative to the barrier. False if it has no barrier.
    bool start_at_barrier(std::uint32_t steps);

    const ExecutionPlan& plan(std::uint32_t party = 0) const;

private:
    struct Member;

    Member& member_of(std::uint32_t party) const;
    const Member& stuck_member() const;
    bool any_left() const;
    void advance(Time limit);
    void settle();
    std::optional<RunEnd> take_ended();

    std::unique_ptr<CommonRates> common_;           // of programs that join; else null
    std::vector<std::unique_ptr<Member>> members_;  // by first party
    std::uint32_t num_parties_ = 0;                 // ever used
    Time now_{};                                    // of programs that join
    bool stuck_ = false;
};

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// A simulated world: one clock, and the rates of one network, on which programs run one after the
// other or at the same time, for as long as its client likes. The repeated training step is one
// client (engine/world/simulated_executor.h), the jobs of a cluster are another.
//
// Programs join a world when its client knows them: at any time, beside runs that are under way.
// Their ranks stand on given GPUs, each on its own or several programs' on one; the client lets
// programs take turns there. A program that has no run under way may leave.
//
//   World world{rates};
//   const auto prefill = world.add(input_of(prefill_program), gpus);
//   world.start(*prefill, Time{});
//   while (std::optional<RunEnd> end = world.run_to_next_end()) {
//       const auto next = world.add(input_of(choose_next(*end)), gpus);
//       world.start(*next, end->end());   // other runs go on meanwhile
//       world.remove(end->party);
//   }
//
// Whatever joins later may load any link, so that ranks and links of a program that has joined
// never stand for others. World::make() is for one program that has the network to itself, perhaps
// of several parties (engine/program/merged_program.h): then they do. Both give the same
// picoseconds (tests/reference/worlds_agree_test.cpp).
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
    // A world of one program that is alone for ever. `rates` must be fresh and know input.network's
    // links; both have to outlive the world. Of input.runs only the launch costs count, and
    // input.steps does not. An Error if the program is not well formed.
    static Result<std::unique_ptr<World>> make(const SimulationInput& input, SharedRates& rates);
    // A world that programs join; `rates` as above.
    explicit World(SharedRates& rates);
    ~World();

    // The program joins at the present instant: it may start. Returns the number of its first
    // party; its others follow. Its rank r stands where rank place[r] of input.network does; all
    // programs' networks have the same links. The program and the network have to outlive it in the
    // world, and nothing fails in the middle of its steps (input.events is empty). An Error if the
    // program is not well formed.
    Result<std::uint32_t> add(const SimulationInput& input, std::vector<RankId> place = {});
    // The program of this party leaves. Each of its runs has ended and was returned. Numbers of
    // parties are never used again.
    void remove(std::uint32_t party);
    std::size_t num_programs() const { return members_.size(); }

    // The party makes `steps` steps, at least one, from `at` on. `at` is not before now(), and each
    // run that the party made before has ended.
    void start(std::uint32_t party, Time at, std::uint32_t steps = 1);
    // Goes on until a run ends, and returns it. Of several that end at one instant each call
    // returns one, before time goes on. Nothing if no run is left, or stuck(), or, in a world that
    // programs join, if none ends before `limit`: then that is the present instant.
    std::optional<RunEnd> run_to_next_end(Time limit = Time::max());
    Time now() const;

    // Runs are left, and none of them can ever go on.
    bool stuck() const { return stuck_; }
    // Why, if ranks or links were lost (engine/world/step_events.h), and else.
    std::optional<Hang> hang() const;
    Error deadlock() const;

    // What happened so far in the party's program, when none of its runs is under way.
    struct Totals {
        CauseTimes busy_sum;             // over all ranks and the last step of each run
        std::vector<Time> rank_compute;  // by fold class: kernel time, in the last step of each run
        std::vector<TracedOp> trace;     // of all runs since the last call; steps count in each run
        std::int64_t events = 0;         // that the clock stopped for
    };
    Totals take_totals(std::uint32_t party = 0);

    // For the repeated step of a single party: if the program has a barrier
    // (engine/world/step_barrier.h), starts a run of which only the end of the last step but one
    // and the last are simulated, and whose times count from the barrier. False if it has none.
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
    std::uint32_t num_parties_ = 0;                 // that there have ever been
    Time now_{};                                    // of programs that join
    bool stuck_ = false;
};

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// A simulated world: one clock and one network, on which programs run one after the other or at the
// same time, for as long as its client likes. The repeated training step is one client
// (engine/simulated_executor.h), the jobs of a cluster are another; a serving loop or a swarm that
// generates while another one trains start each iteration when they know what it is.
//
// All programs that may ever run are known from the beginning, as the parties of one Program
// (engine/merged_program.h), so that the world knows which ranks and links stand for others. How
// often each of them runs, and when, is up to the client:
//
//   const Program all = merge_programs({{"prefill", &prefill}, {"decode of 8", &decode8}, …});
//   Result<std::unique_ptr<World>> world = World::make(input, rates);   // input.program = &all
//   (*world)->start(prefill_party, Time{});
//   while (std::optional<RunEnd> end = (*world)->run_to_next_end()) {
//       (*world)->start(choose_next(*end), end->end());   // other runs go on meanwhile
//   }
//
// Parties have ranks of their own. Programs that take turns on the same GPUs are parties whose
// ranks stand on the same GPUs (engine/placed_network.h); their client lets them take turns.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/party_runs.h"
#include "engine/simulation.h"

namespace orrery {

struct Execution;
struct ExecutionPlan;

class World {
public:
    // `rates` must be fresh and know input.network's links; both have to outlive the world. Of
    // input.runs only the launch costs count, and input.steps does not. An Error if the program is
    // not well formed.
    static Result<std::unique_ptr<World>> make(const SimulationInput& input, SharedRates& rates);
    ~World();

    // The party makes `steps` steps, at least one, from `at` on. `at` is not before now(), and each
    // run that the party made before has ended.
    void start(std::uint32_t party, Time at, std::uint32_t steps = 1);
    // Goes on until a run ends, and returns it. Of several that end at one instant each call
    // returns one, before time goes on. Nothing if no run is left, or stuck().
    std::optional<RunEnd> run_to_next_end();
    Time now() const;

    // Runs are left, and none of them can ever go on.
    bool stuck() const { return stuck_; }
    // Why, if ranks or links were lost (engine/step_events.h), and else.
    std::optional<Hang> hang() const;
    Error deadlock() const;

    // What happened so far, when no run is under way.
    struct Totals {
        CauseTimes busy_sum;             // over all ranks and the last step of each run
        std::vector<Time> rank_compute;  // by fold class: kernel time, in the last step of each run
        std::vector<TracedOp> trace;     // of all runs since the last call; steps count in each run
        std::int64_t events = 0;         // that the clock stopped for
    };
    Totals take_totals();

    // For the repeated step of a single party: if the program has a barrier
    // (engine/step_barrier.h), starts a run of which only the end of the last step but one and the
    // last are simulated, and whose times count from the barrier. False if it has none.
    bool start_at_barrier(std::uint32_t steps);

    const ExecutionPlan& plan() const { return *plan_; }

private:
    World(const SimulationInput& input, SharedRates& rates);

    std::unique_ptr<const ExecutionPlan> plan_;
    std::unique_ptr<Execution> execution_;
    bool stuck_ = false;
};

}  // namespace orrery

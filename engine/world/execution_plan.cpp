// SPDX-License-Identifier: Apache-2.0
#include "engine/world/execution_plan.h"

#include "engine/world/time_alone.h"

namespace orrery {

namespace {

Tapes tapes_of(const SimulationInput& input) {
    std::vector<Time> launch_costs;
    for (std::uint32_t p = 0; p < input.program->parties.size(); ++p) {
        launch_costs.push_back(input.run_of(p).launch_cost);
    }
    return build_tapes(*input.program, launch_costs, input.in_program_order, input.load);
}

Quotient fold(const SimulationInput& input,
              Transfers& transfers,
              SharedRates& rates,
              bool alone) {
    time_messages_alone(*input.network, transfers);
    // Links that are alike in this program may have different loads from other programs.
    const Partition partition = input.accelerations.folding && alone
                                    ? coarsest_partition(input, transfers)
                                    : trivial_partition(input, transfers);
    return make_quotient(input, transfers, partition, rates, alone);
}

std::vector<std::uint32_t> jobs_of_roles(const Program& program) {
    std::vector<std::uint32_t> jobs;
    for (std::uint32_t role = 0; role < program.roles.size(); ++role) {
        jobs.push_back(program.job_of(program.party_of(to_id<RoleId>(role))));
    }
    return jobs;
}

}  // namespace

ExecutionPlan::ExecutionPlan(const SimulationInput& simulation, SharedRates& rates, bool alone)
    : input(simulation),
      tapes(tapes_of(simulation)),
      transfers(plan_transfers(
          *simulation.program, tapes, *simulation.network, simulation.events, simulation.load)),
      quotient(fold(simulation, transfers, rates, alone)),
      run_times(time_runs(simulation, tapes)),
      loaded_runs(time_loaded_runs(simulation, tapes, quotient)),
      groups(find_lockstep_groups(simulation, tapes, transfers, quotient)),
      local_times(simulation, tapes, transfers, quotient, groups, run_times),
      bundles(find_bundles(simulation, tapes, transfers, quotient, groups, rates)),
      job_of_role(jobs_of_roles(*simulation.program)) {}

}  // namespace orrery

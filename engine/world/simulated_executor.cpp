// SPDX-License-Identifier: Apache-2.0
#include "engine/world/simulated_executor.h"

#include <algorithm>

#include "engine/base/check.h"
#include "engine/world/execution_plan.h"
#include "engine/world/world.h"

namespace orrery {

namespace {

void add_link_bytes(const Transfers& transfers,
                    const Connection& connection,
                    std::vector<Bytes>& bytes) {
    for (std::uint32_t m = 0; m < connection.num_messages; ++m) {
        const ConnectionMessage& message = transfers.messages[connection.first_message + m];
        for (std::uint32_t i = 0; i < message.num_phases; ++i) {
            const Phase& phase = transfers.phases[message.first_phase + i];
            for (std::uint32_t p = 0; p < phase.num_parts; ++p) {
                const Part& part = transfers.parts[phase.first_part + p];
                for (const LinkShare& share : transfers.shares_of(part)) {
                    const std::int64_t times = std::int64_t{share.count} * message.uses;
                    bytes[index(share.link)] += part.bytes * times;
                }
            }
        }
    }
}

// Bytes that each link carries in a step of a job.
std::vector<Bytes> link_bytes_per_step(const Program& program,
                                       const Transfers& transfers,
                                       std::size_t num_links,
                                       std::uint32_t job) {
    std::vector<Bytes> bytes(num_links);
    for (const Connection& connection : transfers.connections) {
        const RankId member = transfers.members_of(connection).front();
        if (program.job_of(program.party_of(member)) == job) {
            add_link_bytes(transfers, connection, bytes);
        }
    }
    return bytes;
}

// Adds the share of its capacity that each link carries in the steps of a party.
void add_utilisation(const SimulationInput& input,
                     const std::vector<Bytes>& link_bytes,
                     Time iteration,
                     std::vector<double>& utilisation) {
    const std::span<const LinkInfo> links = input.network->links();
    const double iteration_s = iteration.seconds();
    for (std::size_t l = 0; l < links.size(); ++l) {
        const auto capacity = static_cast<double>(links[l].capacity.bits_per_second());
        if (link_bytes[l] > Bytes{} && capacity > 0 && iteration_s > 0) {
            utilisation[l] +=
                static_cast<double>(link_bytes[l].count()) * 8 / (capacity * iteration_s);
        }
    }
}

void fill_utilisation(const SimulationInput& input,
                      const std::vector<double>& utilisation,
                      SimulationResult& result) {
    const std::span<const LinkInfo> links = input.network->links();
    const std::size_t classes = input.network->link_class_names().size();
    std::vector<double> sum(classes, 0.0);
    std::vector<double> max(classes, 0.0);
    std::vector<double> count(classes, 0.0);
    for (std::size_t l = 0; l < links.size(); ++l) {
        if (utilisation[l] > 0) {
            sum[links[l].link_class] += utilisation[l];
            max[links[l].link_class] = std::max(max[links[l].link_class], utilisation[l]);
            count[links[l].link_class] += 1;
        }
    }
    for (std::size_t c = 0; c < classes; ++c) {
        result.link_class_utilisation_mean.push_back(count[c] > 0 ? sum[c] / count[c] : 0.0);
        result.link_class_utilisation_max.push_back(max[c]);
    }
}

void sort_trace(std::vector<TracedOp>& trace) {
    std::stable_sort(trace.begin(), trace.end(), [](const TracedOp& a, const TracedOp& b) {
        return std::tie(a.rank, a.start, a.step, a.slot, a.op) <
               std::tie(b.rank, b.start, b.step, b.slot, b.op);
    });
}

PartySteps steps_of(const std::vector<StepEnd>& ends, Time start) {
    PartySteps steps;
    const std::size_t last = ends.size() - 1;
    steps.iteration = ends[last].time;
    steps.critical_path = ends[last].path.by_cause();
    if (last > 0) {
        steps.iteration -= ends[last - 1].time;
        steps.critical_path -= ends[last - 1].path.by_cause();
    } else {
        steps.iteration -= start;
        steps.critical_path[Cause::launch] -= start;
    }
    for (std::size_t step = 0; step <= last; ++step) {
        const auto later = static_cast<std::int64_t>(last - step);
        steps.step_end.push_back(ends[step].reached ? ends[step].time
                                                    : ends[last].time - steps.iteration * later);
    }
    ORRERY_CHECK(steps.critical_path.total() == steps.iteration);
    steps.slowest_rank = ends.back().rank;
    return steps;
}

// Runs the programs of the input in a world. The result is by the first party of each job; empty if
// the runs never end.
std::vector<RunEnd> run_all(const SimulationInput& input, World& world) {
    const auto parties = static_cast<std::uint32_t>(input.program->parties.size());
    const bool repeats = parties == 1 && input.run_of(0).steps > 1;
    const auto continues = [&](std::uint32_t p) { return input.program->parties[p].continues_job; };
    const bool from_barrier = repeats && input.accelerations.step_barrier &&
                              world.start_at_barrier(input.run_of(0).steps);
    for (std::uint32_t p = 0; p < parties && !from_barrier; ++p) {
        if (!continues(p)) {
            world.start(p, input.run_of(p).start, input.run_of(p).steps);
        }
    }
    std::vector<RunEnd> ends(parties);
    while (std::optional<RunEnd> end = world.run_to_next_end()) {
        ends[end->party] = std::move(*end);
    }
    return world.stuck() ? std::vector<RunEnd>{} : ends;
}

void collect(const SimulationInput& input,
             const Transfers& transfers,
             const std::vector<RunEnd>& ends,
             SimulationResult& result) {
    const std::vector<std::uint32_t> jobs = input.program->jobs();
    const std::size_t num_links = input.network->links().size();
    std::vector<double> utilisation(num_links, 0.0);
    result.link_bytes.resize(num_links);
    for (const std::uint32_t p : jobs) {
        const PartyRun run = input.run_of(p);
        PartySteps steps = steps_of(ends[p].steps, run.start);
        steps.link_bytes = link_bytes_per_step(*input.program, transfers, num_links, p);
        for (std::size_t l = 0; l < num_links; ++l) {
            result.link_bytes[l] += steps.link_bytes[l];
        }
        add_utilisation(input, steps.link_bytes, steps.iteration, utilisation);
        for (std::uint32_t i = p; i < ends.size() && input.program->job_of(i) == p; ++i) {
            result.simulated_ops += num_ops(*input.program, i) * run.steps;
        }
        if (p == 0) {
            result.iteration = steps.iteration;
            result.step_end = steps.step_end;
            result.critical_path = steps.critical_path;
            result.slowest_rank = steps.slowest_rank;
        }
        if (jobs.size() > 1) {
            result.parties.push_back(std::move(steps));
        }
    }
    fill_utilisation(input, utilisation, result);
}

}  // namespace

SimulationOutcome simulate(const SimulationInput& input, SharedRates& rates) {
    ORRERY_CHECK(input.steps > 0);
    Result<std::unique_ptr<World>> made = World::make(input, rates);
    if (!made) {
        return unexpected(made.error());
    }
    World& world = **made;
    const std::vector<RunEnd> ends = run_all(input, world);
    SimulationResult result;
    if (world.stuck()) {
        result.hang = world.hang();
        if (!result.hang) {
            return unexpected(world.deadlock());
        }
    }
    World::Totals totals = world.take_totals();
    if (!result.hang) {
        collect(input, world.plan().transfers, ends, result);
        result.busy_sum = totals.busy_sum;
        result.rank_compute = std::move(totals.rank_compute);
    }
    result.trace = std::move(totals.trace);
    sort_trace(result.trace);
    const Quotient& quotient = world.plan().quotient;
    for (const RankClassId r : quotient.class_of_rank) {
        result.fold_class_of_rank.push_back(static_cast<std::uint32_t>(r));
    }
    result.fold_classes = static_cast<std::uint32_t>(quotient.ranks.size());
    result.distinct_paths = quotient.distinct_footprints;
    result.flows = rates.num_flows_started();
    result.rate_solves = rates.num_solves();
    result.events = totals.events;
    return result;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "engine/simulated_executor.h"

#include <algorithm>

#include "engine/check.h"
#include "engine/contention.h"
#include "engine/execution.h"
#include "engine/verifier.h"

namespace orrery {

namespace {

void check_input(const SimulationInput& input) {
    ORRERY_CHECK(input.program != nullptr && input.network != nullptr && input.steps > 0);
    ORRERY_CHECK(input.runs.empty() || input.runs.size() == input.program->parties.size());
    for (const PartyRun& run : input.runs) {
        ORRERY_CHECK(run.steps > 0 && run.start >= Time{});
    }
    ORRERY_CHECK(!input.devices.empty());
    ORRERY_CHECK(input.device_class.empty() ||
                 input.device_class.size() == input.program->num_ranks());
    for (const std::uint16_t device : input.device_class) {
        ORRERY_CHECK(device < input.devices.size());
    }
    for (const DeviceChange& change : input.events.devices) {
        ORRERY_CHECK(change.device < input.devices.size());
        ORRERY_CHECK(change.becomes == kLostDevice || change.becomes < input.devices.size());
    }
    for (const DeviceTimings& device : input.devices) {
        ORRERY_CHECK(device.kernels.size() >= input.program->kernels.size());
    }
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
    steps.critical_path = ends[last].path;
    if (last > 0) {
        steps.iteration -= ends[last - 1].time;
        steps.critical_path -= ends[last - 1].path;
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

SimulationResult collect(const SimulationInput& input,
                         const Transfers& transfers,
                         Execution& execution) {
    const auto parties = static_cast<std::uint32_t>(input.program->parties.size());
    SimulationResult result;
    const std::size_t num_links = input.network->links().size();
    std::vector<double> utilisation(num_links, 0.0);
    result.link_bytes.resize(num_links);
    for (std::uint32_t p = 0; p < parties; ++p) {
        const PartyRun run = input.run_of(p);
        PartySteps steps = steps_of(execution.step_ends(p), run.start);
        steps.link_bytes = link_bytes_per_step(*input.program, transfers, num_links, p);
        for (std::size_t l = 0; l < num_links; ++l) {
            result.link_bytes[l] += steps.link_bytes[l];
        }
        add_utilisation(input, steps.link_bytes, steps.iteration, utilisation);
        result.simulated_ops += num_ops(*input.program, p) * run.steps;
        if (p == 0) {
            result.iteration = steps.iteration;
            result.step_end = steps.step_end;
            result.critical_path = steps.critical_path;
            result.slowest_rank = steps.slowest_rank;
        }
        if (parties > 1) {
            result.parties.push_back(std::move(steps));
        }
    }
    fill_utilisation(input, utilisation, result);
    result.busy_sum = execution.busy();
    for (const RankState& rank : execution.ranks()) {
        result.rank_compute.push_back(rank.kernel_time);
    }
    result.trace = execution.take_trace();
    sort_trace(result.trace);
    return result;
}

}  // namespace

SimulationOutcome simulate(const SimulationInput& input, SharedRates& rates) {
    check_input(input);
    const Errors errors = verify(*input.program);
    if (!errors.empty()) {
        return unexpected(errors.front());
    }
    const Program& program = *input.program;
    std::vector<Time> launch_costs;
    for (std::uint32_t p = 0; p < program.parties.size(); ++p) {
        launch_costs.push_back(input.run_of(p).launch_cost);
    }
    const Tapes tapes = build_tapes(program, launch_costs, input.in_program_order);
    Transfers transfers = plan_transfers(program, tapes, *input.network, input.events);
    const std::vector<bool> contended = find_contended_links(
        program, tapes, *input.network, transfers, !input.accelerations.uncontended_links);
    const Partition partition =
        input.accelerations.folding
            ? coarsest_partition(input, transfers, contended)
            : trivial_partition(transfers, program.num_ranks(), contended.size());
    const Quotient quotient = make_quotient(input, transfers, partition, contended, rates);
    Execution execution(input, tapes, transfers, quotient, rates);
    const bool ended = execution.run();
    std::optional<Hang> hang = ended ? std::nullopt : execution.describe_hang();
    if (!ended && !hang) {
        return unexpected(execution.describe_deadlock());
    }
    SimulationResult result = hang ? SimulationResult{} : collect(input, transfers, execution);
    if (hang) {
        result.hang = std::move(hang);
        result.trace = execution.take_trace();
        sort_trace(result.trace);
    }
    result.fold_class_of_rank = quotient.class_of_rank;
    result.fold_classes = static_cast<std::uint32_t>(quotient.ranks.size());
    result.distinct_paths = quotient.distinct_footprints;
    result.flows = rates.num_flows_started();
    result.rate_solves = rates.num_solves();
    result.events = execution.num_events();
    return result;
}

}  // namespace orrery

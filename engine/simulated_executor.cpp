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

void fill_utilisation(const SimulationInput& input,
                      const std::vector<Bytes>& link_bytes,
                      SimulationResult& result) {
    const std::span<const LinkInfo> links = input.network->links();
    const std::size_t classes = input.network->link_class_names().size();
    std::vector<double> sum(classes, 0.0);
    std::vector<double> max(classes, 0.0);
    std::vector<double> count(classes, 0.0);
    const double iteration_s = result.iteration.seconds();
    for (std::size_t l = 0; l < links.size(); ++l) {
        const auto capacity = static_cast<double>(links[l].capacity.bits_per_second());
        if (link_bytes[l] == Bytes{} || capacity <= 0 || iteration_s <= 0) {
            continue;
        }
        const double share =
            static_cast<double>(link_bytes[l].count()) * 8 / (capacity * iteration_s);
        sum[links[l].link_class] += share;
        max[links[l].link_class] = std::max(max[links[l].link_class], share);
        count[links[l].link_class] += 1;
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

SimulationResult collect(const SimulationInput& input, Execution& execution) {
    SimulationResult result;
    const std::vector<StepEnd>& ends = execution.step_ends();
    const std::size_t last = ends.size() - 1;
    result.iteration = ends[last].time;
    result.critical_path = ends[last].path;
    if (last > 0) {
        result.iteration -= ends[last - 1].time;
        result.critical_path -= ends[last - 1].path;
    }
    for (std::size_t step = 0; step <= last; ++step) {
        const auto later = static_cast<std::int64_t>(last - step);
        result.step_end.push_back(ends[step].reached ? ends[step].time
                                                     : ends[last].time - result.iteration * later);
    }
    ORRERY_CHECK(result.critical_path.total() == result.iteration);
    result.slowest_rank = ends.back().rank;
    result.busy_sum = execution.busy();
    for (const RankState& rank : execution.ranks()) {
        result.rank_compute.push_back(rank.kernel_time);
    }
    result.simulated_ops = num_ops(*input.program) * input.steps;
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
    const Tapes tapes = build_tapes(program, input.launch_cost, input.in_program_order);
    Transfers transfers = plan_transfers(program, tapes, *input.network, input.events);
    const std::vector<bool> contended =
        find_contended_links(program, tapes, *input.network, transfers);
    const std::vector<Bytes> link_bytes =
        link_bytes_per_step(transfers, input.network->links().size());
    const Partition partition =
        input.fold ? coarsest_partition(input, transfers, contended)
                   : trivial_partition(transfers, program.num_ranks(), contended.size());
    const Quotient quotient = make_quotient(input, transfers, partition, contended, rates);
    Execution execution(input, tapes, transfers, quotient, rates);
    const bool ended = execution.run();
    std::optional<Hang> hang = ended ? std::nullopt : execution.describe_hang();
    if (!ended && !hang) {
        return unexpected(execution.describe_deadlock());
    }
    SimulationResult result = hang ? SimulationResult{} : collect(input, execution);
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
    if (!result.hang) {
        fill_utilisation(input, link_bytes, result);
    }
    result.link_bytes = link_bytes;
    return result;
}

}  // namespace orrery

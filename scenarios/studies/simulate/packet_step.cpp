// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/packet_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "engine/world/simulated_executor.h"
#include "network/packet_rates.h"

namespace orrery {
namespace {

// All ranks are simulated separately: about a second for a thousand.
constexpr std::size_t kPacketRanksMax = 4'096;
// Simulation speed of one core, for the estimate of a longer window's duration.
constexpr double kPacketsPerSecond = 4e5;

bool is_gather(const Program& program, const Op& op) {
    return op.kind() == OpKind::collective &&
           program.collective(op).kind == CollectiveKind::all_gather;
}

bool belongs(const Program& program, const Op& op, StepTraffic traffic) {
    switch (traffic) {
        case StepTraffic::tensor:
            return op.cause == Cause::exposed_tensor;
        case StepTraffic::context:
            return op.cause == Cause::exposed_context;
        case StepTraffic::pipeline:
            return op.cause == Cause::exposed_pipeline;
        case StepTraffic::gradients:
            return op.cause == Cause::exposed_data && !is_gather(program, op);
        case StepTraffic::parameters:
            return op.cause == Cause::exposed_data && is_gather(program, op);
        case StepTraffic::all:
            break;
    }
    return op.kind() == OpKind::collective || op.kind() == OpKind::send_recv;
}

// From the first to the last moving op of the window, in the last step.
Result<PacketWindow> window_of_traffic(const SimulationInput& input,
                                       const SimulationResult& step,
                                       const StepWindow& window) {
    const Program& program = *input.program;
    PacketWindow found{.begin = Time::max(), .end = Time{}};
    for (const TracedOp& traced : step.trace) {
        const Role& role = program.roles[index(program.role_of(traced.rank))];
        const Slot& slot = role.slots[traced.slot];
        const Op& op = program.segment_of(slot).ops[traced.op];
        const bool of_batch = window.micro_batch < 0 || slot.micro_batch == window.micro_batch;
        if (traced.step + 1 != input.steps || !of_batch || !belongs(program, op, window.of)) {
            continue;
        }
        found.begin = std::min(found.begin, traced.data_start);
        found.end = std::max(found.end, traced.end);
    }
    if (found.begin >= found.end) {
        return fail(window.where,
                    fmt::format("network.window: the step has no {} traffic{}",
                                name(window.of),
                                window.micro_batch < 0
                                    ? ""
                                    : fmt::format(" of micro-batch {}", window.micro_batch)),
                    "another window, or none for the whole step");
    }
    return found;
}

Result<PacketWindow> find_window(const SimulationInput& input,
                                 const SimulationResult& step,
                                 Time begin,
                                 const StepWindow& window) {
    PacketWindow found{.begin = begin, .end = step.step_end.back()};
    if (window.of != StepTraffic::all || window.micro_batch >= 0) {
        auto traffic = window_of_traffic(input, step, window);
        if (!traffic) {
            return traffic;
        }
        found = *traffic;
    }
    found.begin += window.from;
    if (window.lasts > Time{}) {
        found.end = std::min(found.end, found.begin + window.lasts);
    }
    if (found.begin >= found.end) {
        return fail(window.where,
                    fmt::format("network.window begins after {:.6g} ms, when what it looks at is "
                                "over",
                                1e3 * window.from.seconds()),
                    "an earlier one");
    }
    // Packets lengthen the step: a window without an end continues to the longer step's end.
    const bool open = window.lasts <= Time{} && found.end == step.step_end.back();
    found.end = open ? Time::max() : found.end;
    return found;
}

Result<void> check_size(const std::vector<StartedTransfer>& started,
                        const PacketWindow& found,
                        const StepWindow& window,
                        PacketWindowUse& met) {
    std::int64_t packets = 0;
    for (const StartedTransfer& transfer : started) {
        if (transfer.at >= found.begin && transfer.at < found.end) {
            packets += transfer.packets;
            ++met.transfers;
        }
    }
    if (packets > window.packets_max) {
        return fail(
            window.where,
            fmt::format("network: packet: {} takes {:.3g} million packets, more than {:.3g} "
                        "million",
                        found.end == Time::max() ? "the step" : "the window",
                        1e-6 * static_cast<double>(packets),
                        1e-6 * static_cast<double>(window.packets_max)),
            fmt::format("a shorter one (network.window: {{from: 0 ms, for: 5 ms}} or {{of: "
                        "gradients, for: 5 ms}}), or network.window.packets_max={}: about "
                        "{:.2g} minutes",
                        packets,
                        static_cast<double>(packets) / kPacketsPerSecond / 60));
    }
    return {};
}

// Compares the transfers that moved as packets. The n-th transfer on a way is the same transfer in
// both runs.
void compare(const std::vector<StartedTransfer>& fair,
             const std::vector<StartedTransfer>& packets,
             const PacketWindow& window,
             PacketWindowUse& met) {
    std::map<FootprintId, std::vector<const StartedTransfer*>> by_way;
    for (const StartedTransfer& transfer : fair) {
        by_way[transfer.way].push_back(&transfer);
    }
    std::map<FootprintId, std::size_t> seen;
    Time fair_sum;
    Time sum;
    for (const StartedTransfer& transfer : packets) {
        const std::size_t n = seen[transfer.way]++;
        const auto& twins = by_way[transfer.way];
        const StartedTransfer* twin = n < twins.size() ? twins[n] : nullptr;
        if (twin == nullptr || twin->end == Time::max() || twin->end <= twin->at ||
            transfer.at < window.begin || transfer.end > window.end) {
            continue;
        }
        const Time taken = transfer.end - transfer.at;
        const Time with_fair_shares = twin->end - twin->at;
        sum += taken;
        fair_sum += with_fair_shares;
        met.slowdown_max = std::max(met.slowdown_max, taken / with_fair_shares);
    }
    met.slowdown = fair_sum > Time{} ? sum / fair_sum : 1;
}

void describe(const PacketUse& use, PacketWindowUse& met) {
    met.packets = use.totals.data_packets;
    met.repeated = use.totals.repeated;
    met.marked = use.totals.marked;
    met.trimmed = use.totals.trimmed;
    met.dropped = use.totals.dropped + use.totals.lost;
    met.pauses = use.totals.pauses;
    met.failed = use.failed;
    met.paused_max = use.paused_max;
    met.queue_max = use.queue_max;
    met.queue_at = use.queue_at;
}

}  // namespace

SimulationOutcome simulate_on_packets(SimulationInput input,
                                      const PacketNetwork& network,
                                      const StepWindow& window,
                                      PacketWindowUse& met) {
    const std::size_t ranks = input.program->num_ranks();
    if (ranks > kPacketRanksMax) {
        return fail(window.where,
                    fmt::format("network: packet simulates every rank on its own, and {} are too "
                                "many",
                                ranks),
                    fmt::format("at most {}; or fluid, with network.congestion", kPacketRanksMax));
    }
    met = {};
    input.accelerations.fold(false);
    const std::vector<RankId> traced = input.traced_ranks;
    if (window.of != StepTraffic::all || window.micro_batch >= 0) {
        input.traced_ranks.clear();
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            input.traced_ranks.push_back(RankId{rank});
        }
    }
    PacketRates fluid{network, std::nullopt};
    const SimulationOutcome fair = simulate(input, fluid);
    if (!fair) {
        return fair;
    }
    const Time begin = input.steps > 1 ? fair->step_end[input.steps - 2] : Time{};
    const auto found = find_window(input, *fair, begin, window);
    if (!found) {
        return tl::unexpected(found.error());
    }
    if (const auto fits = check_size(fluid.started(), *found, window, met); !fits) {
        return tl::unexpected(fits.error());
    }
    met.begin = found->begin - begin;
    met.lasts = std::min(found->end, fair->step_end.back()) - found->begin;
    met.fair_iteration = fair->iteration;
    met.whole = found->end == Time::max() && met.begin == Time{};
    input.traced_ranks = traced;
    PacketRates packets{network, *found};
    SimulationOutcome result = simulate(input, packets);
    if (result) {
        describe(packets.use(), met);
        compare(fluid.started(), packets.started(), *found, met);
    }
    return result;
}

}  // namespace orrery

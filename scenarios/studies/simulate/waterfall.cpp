// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/waterfall.h"

#include <algorithm>

namespace orrery {
namespace {

constexpr std::array kKernelCauses{Cause::useful_compute,
                                   Cause::gemm_inefficiency,
                                   Cause::attention_inefficiency,
                                   Cause::memory_bound_kernels,
                                   Cause::recomputation,
                                   Cause::optimizer,
                                   Cause::interference};

constexpr std::array kCommunicationCauses{Cause::exposed_data,
                                          Cause::exposed_tensor,
                                          Cause::exposed_context,
                                          Cause::exposed_expert,
                                          Cause::exposed_pipeline,
                                          Cause::exposed_other,
                                          Cause::network_contention,
                                          Cause::launch,
                                          Cause::host};

// Takes kernels that ran beside a path through communication off the communication: that much of it
// was hidden. Each entry gives its proportional share, and the largest also the remainder.
void hide_communication(Time hidden, CauseTimes& parts) {
    Time all;
    Cause largest = Cause::exposed_data;
    for (const Cause c : kCommunicationCauses) {
        all += parts[c];
        largest = parts[c] > parts[largest] ? c : largest;
    }
    if (all <= Time{}) {
        return;
    }
    Time left = hidden;
    for (const Cause c : kCommunicationCauses) {
        const auto share = static_cast<std::int64_t>(static_cast<__int128>(hidden.picoseconds()) *
                                                     parts[c].picoseconds() / all.picoseconds());
        parts[c] -= Time::picoseconds(share);
        left -= Time::picoseconds(share);
    }
    parts[largest] -= left;
}

// Moves the difference between the slowest and a mean device (`noise`) from the kernels to its own
// entry. The ideal time of useful work does not change, so the inefficiencies give its share.
void separate_noise(double noise, CauseTimes& parts) {
    const auto stretched = [noise](Time t) { return Time::seconds(t.seconds() * (1 - 1 / noise)); };
    for (const Cause c : kKernelCauses) {
        if (c == Cause::useful_compute || c == Cause::interference) {
            continue;
        }
        const Time part = stretched(parts[c]);
        parts[c] -= part;
        parts[Cause::noise] += part;
    }
    const Time of_ideal =
        std::min(stretched(parts[Cause::useful_compute]), parts[Cause::gemm_inefficiency]);
    parts[Cause::gemm_inefficiency] -= of_ideal;
    parts[Cause::noise] += of_ideal;
}

}  // namespace

std::vector<LostMfu> waterfall(const WaterfallInput& input) {
    const SimulationResult& result = *input.result;
    CauseTimes parts = result.critical_path;
    Time path_kernels;
    Time mean_kernels;
    for (const Cause c : kKernelCauses) {
        path_kernels += parts[c];
        const Time mean = Time::picoseconds(result.busy_sum[c].picoseconds() / input.num_ranks);
        mean_kernels += mean;
        parts[c] = mean;
    }
    Time busiest = mean_kernels;
    for (const Time t : result.rank_compute) {
        busiest = std::max(busiest, t);
    }
    separate_noise(input.noise, parts);
    parts[Cause::stage_imbalance] = busiest - mean_kernels + input.on_slower_devices;
    if (path_kernels >= busiest) {
        parts[Cause::pipeline_bubble] = path_kernels - busiest;
    } else {
        hide_communication(busiest - path_kernels, parts);
    }
    parts[Cause::counted_not_executed] =
        parts[Cause::useful_compute] - input.model_time - input.on_slower_devices;
    parts[Cause::useful_compute] = Time{};
    std::vector<LostMfu> lost;
    for (std::size_t c = 0; c < kNumCauses; ++c) {
        if (parts.of[c] != Time{}) {
            lost.push_back({.cause = static_cast<Cause>(c),
                            .mfu = parts.of[c] / result.iteration,
                            .time = parts.of[c]});
        }
    }
    return lost;
}

}  // namespace orrery

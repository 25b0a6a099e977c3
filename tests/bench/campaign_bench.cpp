// SPDX-License-Identifier: Apache-2.0
// Campaigns of 54 days, faults and policies alone: a thousand seeds on 16,384 GPUs are to take less
// than 20 s on one core, 131,072 GPUs less than 2 s.
#include <benchmark/benchmark.h>

#include "engine/campaign/campaign.h"

namespace orrery {
namespace {

// A fault of a GPU or node every 154 node-days: Kokolis et al. (HPCA 2025), RSC-1.
CampaignSpec campaign(std::uint32_t nodes) {
    CampaignSpec spec;
    spec.cluster.nodes = nodes + nodes / 32;
    spec.job = {.slots = nodes, .units = nodes / 16, .stages = 16};
    spec.horizon = WallTime::days(54);
    const FaultKind kinds[] = {FaultKind::gpu_lost,
                               FaultKind::hbm_uncorrectable,
                               FaultKind::gpu_hang,
                               FaultKind::nic_down,
                               FaultKind::slow_gpu,
                               FaultKind::host_fault};
    for (const FaultKind kind : kinds) {
        spec.faults.push_back(
            {.name = std::string{name(kind)},
             .kind = kind,
             .at = {kind == FaultKind::host_fault ? Scope::node : Scope::gpu, kEvery},
             .interval = {DistributionKind::exponential,
                          WallTime::days(kind == FaultKind::host_fault ? 923 : 7385)}});
    }
    spec.repair.time = {DistributionKind::lognormal, WallTime::days(0.85), 1.94};
    spec.checkpoint = {.interval = WallTime::seconds(600), .stall = WallTime::seconds(0.59)};
    spec.costs = {.swap = WallTime::seconds(30),
                  .restart_full = WallTime::seconds(200),
                  .restart_in_place = WallTime::seconds(60),
                  .reconfigure = WallTime::seconds(60),
                  .load_remote = WallTime::seconds(60),
                  .load_memory = WallTime::seconds(5)};
    spec.policies = {
        InPlaceRestart{}, HotSpares{}, PreemptiveDrain{}, ElasticDataParallel{}, PeerCheckpoint{}};
    return spec;
}

void BM_Campaign(benchmark::State& state) {
    const CampaignSpec spec = campaign(static_cast<std::uint32_t>(state.range(0) / 8));
    std::uint64_t seed = 0;
    std::int64_t faults = 0;
    for (auto _ : state) {
        faults += run_campaign(spec, seed++).faults;
    }
    state.counters["faults"] =
        benchmark::Counter(static_cast<double>(faults), benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_Campaign)->Arg(16'384)->Arg(131'072)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery

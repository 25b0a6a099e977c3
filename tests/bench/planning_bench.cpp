// SPDX-License-Identifier: Apache-2.0
// How long NCCL's choices and paths take to plan on 12,288 GPUs: 20 collectives of each of 1,536
// tensor-parallel groups inside nodes, and of 64 data-parallel groups of 192 ranks. The aim is
// 1.5 s.
#include <benchmark/benchmark.h>

#include <vector>

#include "network/nccl_network.h"
#include "tests/network/dgx_clusters.h"

namespace orrery {
namespace {

using namespace literals;

std::vector<std::vector<RankId>> groups() {
    std::vector<std::vector<RankId>> found;
    for (std::size_t node = 0; node < 1536; ++node) {
        auto& members = found.emplace_back();
        for (std::size_t gpu = 0; gpu < 8; ++gpu) {
            members.push_back(to_id<RankId>(8 * node + gpu));
        }
    }
    for (std::size_t stage = 0; stage < 8; ++stage) {
        for (std::size_t gpu = 0; gpu < 8; ++gpu) {
            auto& members = found.emplace_back();
            for (std::size_t node = 0; node < 192; ++node) {
                members.push_back(to_id<RankId>(8 * (192 * stage + node) + gpu));
            }
        }
    }
    return found;
}

void plan_a_large_cluster(benchmark::State& state) {
    auto cluster = cluster_of(1536, dgx_a100(), {});
    cluster.fabric.nic_bandwidth = 200_Gbps;
    cluster.fabric.nodes_per_leaf_set = 64;
    cluster.fabric.uplink_bandwidth = 400_Gbps;
    cluster.fabric.leaf_sets_per_pod = 4;
    const auto fabric = built(cluster);
    std::size_t shares = 0;
    for ([[maybe_unused]] const auto& round : state) {
        const NcclNetwork network(fabric, {.compute_capability = 80});
        for (const auto& members : groups()) {
            for (std::int64_t i = 0; i < 20; ++i) {
                CollectiveCall call;
                call.kind =
                    i % 2 == 0 ? CollectiveKind::all_gather : CollectiveKind::reduce_scatter;
                call.bytes = Bytes((i / 2 + 1) * 4'000'000);
                for (const auto& part : network.plan(call, members).phases[0].parts) {
                    shares += part.footprint.size();
                }
            }
        }
    }
    state.counters["link shares"] = static_cast<double>(shares);
}
BENCHMARK(plan_a_large_cluster)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Sources: Megatron-Core's token dispatchers (alltoall, allgather, deepep, hybridep), Tutel's
// two-dimensional hierarchical all-to-all, HetuMoE (hierarchical), DeepEP and its branch hybrid-ep,
// NCCLX (host_driven: a transport without SMs whose counts stay on the device).
#include "network/collectives/dispatcher.h"

#include <algorithm>
#include <array>

namespace orrery {
namespace {

// row_us: the time of a row in DeepEP's and HybridEP's channels beyond its bytes at NCCL's rate of
// a channel (nccl_channel.h). DeepEP: dispatches of FP8 and BF16 rows by 16 to 32 SMs on 8 B200
// take 0.43 and 0.58 us per row and SM, after a constant. HybridEP: FP8 rows by 16 SMs on 8 GB200
// (README of the branch hybrid-ep). Both are calibrated on these rows; everything else is
// predicted.
constexpr double kDeepEpRow_us = 0.104;
constexpr double kHybridEpRow_us = 0.06;
// Kernels of HybridEP on 16, 32 and 64 H100s with NICs of 400 Gb/s (same source) take 0.3 ms plus
// their bytes at 46.3 GB/s. DeepEP's newer release on H800 agrees within 3 % without the 0.3 ms.
constexpr double kRdmaShare = 0.926;
constexpr double kHybridEpNetwork_us = 300;

constexpr std::array<Dispatcher, 8> kDispatchers{{
    {.name = "alltoall", .host_sync = true, .dispatch_calls = 2},
    {.name = "allgather", .route = DispatchRoute::everyone, .copies = RowCopies::all},
    {.name = "hierarchical", .route = DispatchRoute::leaders, .host_sync = true},
    {.name = "2dh", .route = DispatchRoute::two_steps, .host_sync = true},
    {.name = "deepep",
     .route = DispatchRoute::two_level,
     .copies = RowCopies::distinct,
     .sms = 20,
     .channel_sms = 2,
     .row_us = kDeepEpRow_us,
     .network_share = kRdmaShare,
     .host_sync = true,
     .dispatch_calls = 3,
     .combine_calls = 2},
    // A row has its index beside it (16 bytes). A receive hook frees the SMs while rows are in
    // flight.
    {.name = "deepep_low_latency",
     .route = DispatchRoute::direct,
     .engine = TransferEngine::host,
     .row_header = 16},
    {.name = "hybridep",
     .route = DispatchRoute::two_level,
     .copies = RowCopies::distinct,
     .sms = 16,
     .row_us = kHybridEpRow_us,
     .expert_bytes = 4,
     .network_share = kRdmaShare,
     .network_us = kHybridEpNetwork_us,
     .barriers = 2,
     .host_sync = true,  // unless the number of rows is given (Megatron-Core's fused_a2a.py)
     .copies_out = true,
     .dispatch_calls = 3,
     .combine_calls = 2},
    {.name = "host_driven", .route = DispatchRoute::direct, .engine = TransferEngine::host},
}};

}  // namespace

std::span<const Dispatcher> dispatchers() {
    return kDispatchers;
}

const Dispatcher* find_dispatcher(std::string_view name) {
    const auto found = std::ranges::find(kDispatchers, name, &Dispatcher::name);
    return found == kDispatchers.end() ? nullptr : &*found;
}

const Dispatcher* numbered_dispatcher(std::uint8_t number) {
    return number == 0 || number > kDispatchers.size() ? nullptr : &kDispatchers[number - 1U];
}

}  // namespace orrery

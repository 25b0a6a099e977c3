// SPDX-License-Identifier: Apache-2.0
// What a moment of the critical path was spent on: the terms of the MFU waterfall.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/units.h"

namespace orrery {

enum class Cause : std::uint8_t {
    useful_compute,          // model FLOPs at the device's peak
    gemm_inefficiency,       // what GEMMs take beyond that
    attention_inefficiency,  // what attention kernels take beyond that
    memory_bound_kernels,    // norms, activations, residuals, embedding, loss
    recomputation,           // forward kernels run again in the backward pass
    optimizer,               // optimizer step, gradient norm and casts
    exposed_tensor,          // tensor-parallel communication that nothing hides
    exposed_context,         // context-parallel communication
    exposed_expert,          // dispatch of tokens to experts and their way back
    exposed_data,            // data-parallel communication (gradients, parameters)
    exposed_pipeline,        // pipeline sends
    exposed_other,           // tied embeddings, gradient norm
    network_contention,      // what transfers take longer because they share links
    interference,            // kernels slowed by communication kernels' SMs and bandwidth
    launch,                  // the device waits for the host to launch
    host,                    // work on the host
    noise,                   // run-to-run variation: the slowest of many ranks
    // Terms of the waterfall that no single op has (scenarios/studies/simulate/waterfall.h).
    pipeline_bubble,       // the path works on, or waits for, other stages' share
    stage_imbalance,       // the busiest rank computes longer than the mean
    counted_not_executed,  // FLOPs that the MFU convention counts and no kernel does (negative)
};
inline constexpr std::size_t kNumCauses = 20;

std::string_view name(Cause cause);

// Time by cause. Along the critical path the entries add up to the end time exactly.
struct CauseTimes {
    std::array<Time, kNumCauses> of{};
    Time& operator[](Cause c) { return of[static_cast<std::size_t>(c)]; }
    const Time& operator[](Cause c) const { return of[static_cast<std::size_t>(c)]; }
    Time total() const;
    CauseTimes& operator+=(const CauseTimes& other);
    CauseTimes& operator-=(const CauseTimes& other);
};

}  // namespace orrery

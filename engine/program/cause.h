// SPDX-License-Identifier: Apache-2.0
// Causes of time on the critical path: the terms of the MFU waterfall.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/base/units.h"

namespace orrery {

enum class Cause : std::uint8_t {
    useful_compute,          // model FLOPs at the device's peak rate
    gemm_inefficiency,       // time of GEMMs beyond that
    attention_inefficiency,  // time of attention kernels beyond that
    memory_bound_kernels,    // norms, activations, residuals, embedding, loss
    recomputation,           // forward kernels run again in the backward pass
    optimizer,               // optimizer step, gradient norm and casts
    exposed_tensor,          // tensor-parallel communication that no kernel hides
    exposed_context,         // context-parallel communication
    exposed_expert,          // dispatch of tokens to experts, and combine
    exposed_data,            // data-parallel communication (gradients, parameters)
    exposed_pipeline,        // pipeline sends
    exposed_other,           // tied embeddings, gradient norm
    network_contention,      // time that transfers lose because they share links
    interference,            // kernels slowed by communication kernels' SMs and bandwidth
    launch,                  // the device waits for the host to launch
    host,                    // work on the host
    noise,                   // run-to-run variation: the slowest of many ranks
    // Terms of the waterfall that belong to no single op (scenarios/studies/simulate/waterfall.h).
    pipeline_bubble,       // the path runs through other stages' work, or waits for it
    stage_imbalance,       // the busiest rank computes longer than the mean
    counted_not_executed,  // FLOPs that the MFU convention counts but no kernel executes (negative)
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

// SPDX-License-Identifier: Apache-2.0
#include "engine/program/cause.h"

namespace orrery {

std::string_view name(Cause cause) {
    static constexpr std::array<std::string_view, kNumCauses> kNames{"useful_compute",
                                                                     "gemm_inefficiency",
                                                                     "attention_inefficiency",
                                                                     "memory_bound_kernels",
                                                                     "recomputation",
                                                                     "optimizer",
                                                                     "exposed_tensor",
                                                                     "exposed_context",
                                                                     "exposed_expert",
                                                                     "exposed_data",
                                                                     "exposed_pipeline",
                                                                     "exposed_other",
                                                                     "network_contention",
                                                                     "interference",
                                                                     "launch",
                                                                     "host",
                                                                     "noise",
                                                                     "pipeline_bubble",
                                                                     "stage_imbalance",
                                                                     "counted_not_executed"};
    return kNames[static_cast<std::size_t>(cause)];
}

Time CauseTimes::total() const {
    Time sum;
    for (const Time t : of) {
        sum += t;
    }
    return sum;
}

CauseTimes& CauseTimes::operator+=(const CauseTimes& other) {
    for (std::size_t i = 0; i < kNumCauses; ++i) {
        of[i] += other.of[i];
    }
    return *this;
}

CauseTimes& CauseTimes::operator-=(const CauseTimes& other) {
    for (std::size_t i = 0; i < kNumCauses; ++i) {
        of[i] -= other.of[i];
    }
    return *this;
}

}  // namespace orrery

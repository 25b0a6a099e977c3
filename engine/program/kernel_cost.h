// SPDX-License-Identifier: Apache-2.0
// The question of the engine how long a kernel takes. kernels/cost_model.h answers it.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/base/units.h"
#include "engine/program/kernel_call.h"

namespace orrery {

enum class CostSource : std::uint8_t { measured, interpolated, roofline };
std::string_view name(CostSource source);

struct KernelTime {
    Time duration;  // alone on the device
    Time ideal;     // flop at the peak of the kernel's precision, at most `duration`
    CostSource source = CostSource::roofline;
    double relative_sigma = 0;  // standard deviation of the relative error
    // The part of relative_sigma that comes from the distance to measured shapes; both add in
    // squares.
    double distance_sigma = 0;
    // The part of the kernel's rate that is proportional to its SMs: 1000 for a compute-bound
    // kernel, less for a kernel that memory bandwidth bounds.
    std::uint32_t sm_sensitivity_permille = 1000;
};

class KernelCost {
public:
    virtual ~KernelCost() = default;
    virtual KernelTime time(const KernelCall& call) const = 0;
};

// Progress of a kernel per picosecond in units of 1/2^20: 2^20 if the kernel has the device to
// itself. Kernels and communication kernels share the SMs. Both executors and the reference use
// this one definition in integers, so that they agree to the picosecond.
inline constexpr std::int64_t kFullKernelRate = std::int64_t{1} << 20;
// Kernels keep at least a quarter of the SMs, whatever communication asks for. Communication holds
// its SMs while it waits for peers: if none were left, the kernel that a peer waits for would never
// run. Real devices dispatch blocks of both in turn. The quarter is an assumption that rarely
// matters: NCCL opens at most 64 channels (MAXCHANNELS, NCCL 2.28), fewer than half of the SMs of
// an H100, so that only several communicators at work together reach it.
inline constexpr std::int64_t kKernelsKeepOneIn = 4;
constexpr std::int64_t kernel_rate(std::uint32_t held_sms,
                                   std::uint32_t num_sms,
                                   std::uint32_t sm_sensitivity_permille) {
    if (num_sms == 0) {
        return kFullKernelRate;
    }
    constexpr std::int64_t kMost = kKernelsKeepOneIn - 1;
    const std::int64_t most = std::int64_t{num_sms} * kMost / kKernelsKeepOneIn;
    const std::int64_t held =
        std::int64_t{held_sms} * kKernelsKeepOneIn <= std::int64_t{num_sms} * kMost
            ? std::int64_t{held_sms}
            : most;
    return kFullKernelRate -
           kFullKernelRate * held * sm_sensitivity_permille / (std::int64_t{num_sms} * 1000);
}

}  // namespace orrery

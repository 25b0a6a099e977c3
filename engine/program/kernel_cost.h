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
    bool persistent = false;  // one block an SM, whose tiles are fixed at the launch
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
constexpr std::int64_t sms_kept_from_kernels(std::uint32_t held_sms, std::uint32_t num_sms) {
    constexpr std::int64_t kMost = kKernelsKeepOneIn - 1;
    return std::int64_t{held_sms} * kKernelsKeepOneIn <= std::int64_t{num_sms} * kMost
               ? std::int64_t{held_sms}
               : std::int64_t{num_sms} * kMost / kKernelsKeepOneIn;
}
constexpr std::int64_t kernel_rate(std::uint32_t held_sms,
                                   std::uint32_t num_sms,
                                   std::uint32_t sm_sensitivity_permille) {
    if (num_sms == 0) {
        return kFullKernelRate;
    }
    return kFullKernelRate - kFullKernelRate * sms_kept_from_kernels(held_sms, num_sms) *
                                 sm_sensitivity_permille / (std::int64_t{num_sms} * 1000);
}

// The work of a persistent kernel for each picosecond of its duration, if it starts while
// communication holds SMs. Blocks that find no SM run when others have ended. Each such wave takes
// its share of the duration, at the rate that its number of blocks allows: with 20 of 132 SMs held,
// a compute-bound kernel takes two durations. So do products beside NCCL on H100s
// (github.com/pytorch/pytorch/issues/143988), as CUTLASS's schedules for Hopper are static
// (github.com/NVIDIA/cutlass/issues/2471).
constexpr std::int64_t persistent_work(std::uint32_t held_sms,
                                       std::uint32_t num_sms,
                                       std::uint32_t sm_sensitivity_permille) {
    if (num_sms == 0) {
        return kFullKernelRate;
    }
    const std::int64_t most = num_sms - sms_kept_from_kernels(held_sms, num_sms);
    std::int64_t work = 0;
    for (std::int64_t left = num_sms; left > 0;) {
        const std::int64_t blocks = left < most ? left : most;
        const std::int64_t rate =
            std::int64_t{num_sms} * 1000 - (num_sms - blocks) * sm_sensitivity_permille;
        work += (kFullKernelRate * blocks * 1000 + rate - 1) / rate;
        left -= blocks;
    }
    return work;
}

}  // namespace orrery

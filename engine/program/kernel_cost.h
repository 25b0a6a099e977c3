// SPDX-License-Identifier: Apache-2.0
// How long does this kernel take? The engine asks; kernels/cost_model.h answers.
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
    // The part of it, in squares, that comes from being far from measured shapes.
    double distance_sigma = 0;
    // How much of the kernel's rate goes with the SMs that it may use: 1000 for a compute-bound
    // kernel, less for one that memory bandwidth bounds.
    std::uint32_t sm_sensitivity_permille = 1000;
};

class KernelCost {
public:
    virtual ~KernelCost() = default;
    virtual KernelTime time(const KernelCall& call) const = 0;
};

// Progress of a kernel per picosecond, in units of 1/2^20: 2^20 when nothing else runs on the
// device. Kernels and communication kernels share the SMs; both executors and the reference use
// this one definition, in integers, so that they agree to the picosecond.
inline constexpr std::int64_t kFullKernelRate = std::int64_t{1} << 20;
// Share of the SMs that kernels keep, however many communication asks for: a quarter. Communication
// holds its SMs while it waits for peers; with none left, the kernel that a peer waits for would
// never run. Real devices dispatch blocks of both in turn. The share is an assumption, and it is
// rarely needed: NCCL opens 64 channels at most (MAXCHANNELS, NCCL 2.28), fewer than half of the
// SMs of an H100, so that it takes several communicators at work at once.
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

// SPDX-License-Identifier: Apache-2.0
// How long the kernels of a Program took on a real device: what the simulator's predictions are
// compared with, and a profile that it predicts with (kernels/profile.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "kernels/profile.h"

namespace orrery {

class OpTimes {
public:
    explicit OpTimes(const Program& program)
        : program_(program), seconds_(program.kernels.size()) {}

    // One run of Program::kernels[kernel]. Of very long runs the first samples are kept.
    void add(std::uint32_t kernel, double seconds);

    std::size_t samples(std::uint32_t kernel) const { return seconds_[kernel].size(); }
    // Zero without samples.
    double median(std::uint32_t kernel) const;
    // Every kernel that ran, on a device of this name.
    Profile profile(const std::string& device) const;

private:
    const Program& program_;
    std::vector<std::vector<double>> seconds_;  // by kernel
};

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Times of a Program's kernels on a real device, for comparison with predictions and for profiles
// (kernels/profile.h).
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

    // Adds one run of Program::kernels[kernel]. Later samples of very long runs are dropped.
    void add(std::uint32_t kernel, double seconds);

    std::size_t samples(std::uint32_t kernel) const { return seconds_[kernel].size(); }
    // Zero without samples.
    double median(std::uint32_t kernel) const;
    // The profile of all kernels that ran, for a device of this name.
    Profile profile(const std::string& device) const;

private:
    const Program& program_;
    std::vector<std::vector<double>> seconds_;  // by kernel
};

}  // namespace orrery

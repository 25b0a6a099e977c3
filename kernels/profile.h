// SPDX-License-Identifier: Apache-2.0
// Measured kernel times of one or more devices. The file is CSV; lines that begin with # are
// comments and carry the provenance (GPU, driver, clocks, date). Columns, in any order:
//   1. device     catalogue name, "h100-80g"
//   2. kind       "gemm", as in engine/kernel_call.h
//   3. dtype      "bf16"
//   4. variant    number, its meaning in the kernel's header
//   5.-10. d0 … d5  dimensions, zero where the kernel has fewer
//   11. time_us   median
//   12. spread    relative: interquartile range / (1.35 median), zero if unknown
//   13. samples   how many times the kernel ran
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "engine/kernel_call.h"
#include "engine/result.h"
#include "engine/units.h"

namespace orrery {

struct ProfileEntry {
    std::string device;
    KernelCall call;  // FLOP and bytes as its descriptor counts them
    Time median;
    double spread = 0;
    std::int64_t samples = 1;
    bool operator==(const ProfileEntry&) const = default;
};

using Profile = std::vector<ProfileEntry>;

ResultOrErrors<Profile> read_profile(const std::string& path);
ResultOrErrors<Profile> read_profile(std::istream& text, const std::string& name);
// The file's text; each line of `provenance` becomes a comment.
std::string profile_csv(const Profile& profile, const std::string& provenance);

}  // namespace orrery

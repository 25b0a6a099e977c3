// SPDX-License-Identifier: Apache-2.0
// Measured times of one or more devices. The file is CSV. Lines that begin with # are comments with
// the provenance (GPU, driver, clocks, date). Columns, in any order:
//   1. device     catalogue name, "h100-80g"
//   2. kind       "gemm", as in engine/program/kernel_call.h, or a kind named below
//   3. dtype      "bf16"
//   4. variant    number; the kernel's header has its meaning
//   5.-10. d0 … d5  dimensions, zero beyond the kernel's own
//   11. time_us   median
//   12. spread    relative: interquartile range / (1.35 median), zero if unknown
//   13. samples   number of measured runs
//   14. ranks     ranks of the node at work at the same time (1 if absent), which may share caches,
//                 memory bandwidth and power
// Rows of other kinds, with variant 0:
//   all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send_recv: d0 bytes, dtype on
//   the
//               wire, ranks of the group
//   host_op     host time per op of a device that runs ops in program order
//   host_step   further host time per step; d0: bytes of tensors that a step zeroes at its begin
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"
#include "engine/program/kernel_call.h"
#include "engine/world/measured_transfer.h"

namespace orrery {

struct ProfileEntry {
    std::string device;
    KernelCall call;  // FLOP and bytes as counted by its descriptor
    Time median;
    double spread = 0;
    std::int64_t samples = 1;
    std::uint32_t ranks = 1;
    bool operator==(const ProfileEntry&) const = default;
};

using Profile = std::vector<ProfileEntry>;

struct TransferEntry {
    std::string device;
    MeasuredTransfer time;
    bool operator==(const TransferEntry&) const = default;
};

struct HostEntry {
    std::string device;
    bool whole_step = false;  // true: a host_step row, false: a host_op row
    Bytes cleared;
    Time median;
    double spread = 0;
    std::int64_t samples = 1;
    std::uint32_t ranks = 1;
    bool operator==(const HostEntry&) const = default;
};

// All rows of a file.
struct MachineProfile {
    Profile kernels;
    std::vector<TransferEntry> transfers;
    std::vector<HostEntry> hosts;
    bool operator==(const MachineProfile&) const = default;
};

ResultOrErrors<MachineProfile> read_machine_profile(const std::string& path);
ResultOrErrors<MachineProfile> read_machine_profile(std::istream& text, const std::string& name);
// Reads only the rows of kernels.
ResultOrErrors<Profile> read_profile(const std::string& path);
ResultOrErrors<Profile> read_profile(std::istream& text, const std::string& name);
// The file's text; each line of `provenance` becomes a comment.
std::string profile_csv(const MachineProfile& profile, const std::string& provenance);
std::string profile_csv(const Profile& profile, const std::string& provenance);

}  // namespace orrery

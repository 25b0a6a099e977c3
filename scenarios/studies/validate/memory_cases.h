// SPDX-License-Identifier: Apache-2.0
// Configurations with a known outcome in memory (columns outcome: ok or oom, and
// measured_peak_memory_bytes, the allocator's peak), beside the memory plans of their Programs. The
// word activation_offload=SHARE of a row's features gives the share of the saved activations that
// lies on the host.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/studies/validate/published_cases.h"

namespace orrery {

struct MemoryCase {
    PublishedCase row;
    bool ran = true;             // false: out of memory
    double measured_peak_b = 0;  // 0: not stated
    double activation_offload = 0;
};

struct ValidatedMemory {
    std::string name;
    std::string family;
    bool ran = true;
    bool fits = true;  // predicted
    double measured_peak_b = 0;
    double predicted_peak_b = 0;
    double beside_plan_b = 0;  // of driver, context, NCCL and allocator (memory_overheads.h)
    double device_b = 0;

    double error() const { return predicted_peak_b / measured_peak_b - 1; }
};

struct SkippedMemory {
    std::string name;
    std::string reason;
};

struct MemoryValidation {
    std::vector<ValidatedMemory> rows;
    std::vector<SkippedMemory> skipped;
    std::size_t ran = 0;
    std::size_t ran_and_fit = 0;
    std::size_t out_of_memory = 0;
    std::size_t out_and_too_large = 0;
    std::size_t peaks = 0;
    double median_error = 0;  // of the absolute errors of the stated peaks
};

// Whether the first line of the file is the header of such a table.
bool is_memory_table(const std::string& file);
ResultOrErrors<std::vector<MemoryCase>> read_memory_cases(const std::string& file);
Result<MemoryValidation> validate_memory(const std::vector<MemoryCase>& cases,
                                         const std::filesystem::path& catalogue);

}  // namespace orrery

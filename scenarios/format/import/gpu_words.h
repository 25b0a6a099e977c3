// SPDX-License-Identifier: Apache-2.0
// The GPU in a line of a log ("GPU capacity: NVIDIA H100 (0) with 95.04GiB memory"), with its name
// in tables of measured steps.
#pragma once

#include <string>
#include <string_view>

namespace orrery {

struct GpuWord {
    std::string_view in_log;
    double least_gib;
    std::string_view gpu;
};
// The first match counts. Logs name the part and its memory.
inline constexpr GpuWord kGpuWords[] = {{"GB200", 0, "gb200"},
                                        {"B200", 0, "b200"},
                                        {"H200", 0, "h200"},
                                        {"H100 PCIe", 0, "h100-pcie"},
                                        {"H100", 90, "h100-96g-hbm2e"},
                                        {"H100", 0, "h100-80g"},
                                        {"H800", 0, "h800"},
                                        {"A100", 60, "a100-80g"},
                                        {"A100", 0, "a100-40g"}};

// `gib` is the GPU's memory. Empty if the line names no known part.
inline std::string gpu_named(std::string_view line, double gib) {
    for (const GpuWord& word : kGpuWords) {
        if (line.find(word.in_log) != std::string_view::npos && gib >= word.least_gib) {
            return std::string{word.gpu};
        }
    }
    return {};
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/device_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <vector>

namespace orrery {
namespace {

struct GpuName {
    std::array<std::string_view, 3> words;  // all of them are words of the name
    double gib_at_least;                    // of memory
    std::string_view device;                // empty: a chip that the catalogue lacks
};
// The first match counts; more special names come first. Some parts have other rates than the
// catalogue's: fewer SMs (H800 PCIe, RTX 4090 D and Laptop), other memory (H100 NVL).
constexpr std::array kGpuNames{
    GpuName{{"GB300"}, 0, "gb300"},
    GpuName{{"B300"}, 0, "b300"},
    GpuName{{"GH200"}, 120, "gh200-144gb"},
    GpuName{{"GH200"}, 0, "gh200"},
    GpuName{{"GB200"}, 0, "gb200"},
    GpuName{{"B200"}, 0, "b200"},
    GpuName{{"H200", "NVL"}, 0, "h200-nvl"},
    GpuName{{"H200"}, 0, "h200"},
    GpuName{{"H20"}, 120, ""},
    GpuName{{"H20"}, 0, "h20"},
    GpuName{{"H800", "PCIE"}, 0, ""},
    GpuName{{"H800", "NVL"}, 0, ""},
    GpuName{{"H800"}, 0, "h800"},
    GpuName{{"H100", "PCIE"}, 0, "h100-pcie"},
    GpuName{{"H100", "NVL"}, 0, ""},
    GpuName{{"H100"}, 85, "h100-96g-hbm2e"},
    GpuName{{"H100"}, 70, "h100-80g"},
    GpuName{{"A800"}, 70, "a800-80g"},
    GpuName{{"A100"}, 70, "a100-80g"},
    GpuName{{"A100"}, 50, ""},
    GpuName{{"A100"}, 30, "a100-40g"},
    GpuName{{"V100"}, 20, "v100-32g"},
    GpuName{{"V100"}, 10, "v100-16g"},
    GpuName{{"RTX", "4090", "LAPTOP"}, 0, ""},
    GpuName{{"RTX", "4090", "D"}, 0, ""},
    GpuName{{"RTX", "4090"}, 0, "rtx-4090"},
    GpuName{{"RTX", "3090", "TI"}, 0, ""},
    GpuName{{"RTX", "3090"}, 0, "rtx-3090"},
    GpuName{{"RTX", "PRO", "6000"}, 0, "rtx-pro-6000"},
    GpuName{{"L40S"}, 0, "l40s"},
    GpuName{{"TITAN", "RTX"}, 0, "titan-rtx"},
    GpuName{{"K40C"}, 0, "k40"},
    GpuName{{"K40M"}, 0, "k40"},
    GpuName{{"MI300X"}, 0, "mi300x"},
    GpuName{{"MI325X"}, 0, "mi325x"},
};

// The words of a name in capitals, split at all characters other than letters and digits.
std::vector<std::string> words_of_name(std::string_view name) {
    std::vector<std::string> words(1);
    for (const char c : name) {
        const auto byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0) {
            words.back() += static_cast<char>(std::toupper(byte));
        } else if (!words.back().empty()) {
            words.emplace_back();
        }
    }
    return words;
}

// "80GB" is 80; 0 if no word is such a size.
double gib_in(const std::vector<std::string>& words) {
    for (const std::string& word : words) {
        double size = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), size);
        if (error == std::errc{} &&
            std::string_view{end, static_cast<std::size_t>(word.data() + word.size() - end)} ==
                "GB") {
            return size;
        }
    }
    return 0;
}

}  // namespace

std::string device_of_gpu(std::string_view name, std::uint64_t memory_bytes) {
    const std::vector<std::string> words = words_of_name(name);
    const double gib =
        memory_bytes > 0 ? static_cast<double>(memory_bytes) / (1 << 30) : gib_in(words);
    const GpuName* last = nullptr;
    for (const GpuName& known : kGpuNames) {
        const bool called_so = std::ranges::all_of(known.words, [&](std::string_view word) {
            return word.empty() || std::ranges::find(words, word) != words.end();
        });
        if (called_so && gib >= known.gib_at_least) {
            return std::string{known.device};
        }
        last = called_so ? &known : last;
    }
    // Without a memory size: the smallest variant.
    return last != nullptr && gib == 0 ? std::string{last->device} : "";
}

bool names_a_gpu(std::string_view device) {
    return std::ranges::find(kGpuNames, device, &GpuName::device) != kGpuNames.end();
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/software.h"

#include <algorithm>
#include <array>
#include <utility>

namespace orrery {
namespace {

constexpr std::string_view kMegatron = "megatron-lm";

// Facts from the authors of each software: NeMo, Megatron Bridge and NVIDIA's MLPerf entries train
// with Megatron Core. MegaScale is built on Megatron-LM (arXiv 2402.15627). torchao's tables are
// runs of torchtitan. PaxML and MaxText leave the step to XLA.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kBuiltOn{
    {{"maxtext", "xla"},
     {"mb", kMegatron},
     {"megascale", kMegatron},
     {"mlm-readme", kMegatron},
     {"nemo", kMegatron},
     {"nemo-megatron", kMegatron},
     {"nemo-mlperf", kMegatron},
     {"nemo-run", kMegatron},
     {"paxml", "xla"},
     {"torchtitan-torchao", "torchtitan"}}};

std::string lower_case(std::string_view text) {
    std::string lower{text};
    for (char& c : lower) {
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return lower;
}

}  // namespace

std::string software_of(std::string_view stack) {
    // The version begins with the first of the words between dashes that has a digit, unless that
    // is the first word.
    constexpr std::string_view kDigits = "0123456789";
    std::size_t end = stack.find_first_of(kDigits);
    if (end == std::string_view::npos) {
        return lower_case(stack);
    }
    const std::size_t dash = stack.rfind('-', end);
    if (dash != std::string_view::npos) {
        end = dash;
    }
    return lower_case(stack.substr(0, end));
}

std::string lineage_of(std::string_view stack) {
    std::string software = software_of(stack);
    const auto known = std::ranges::find(kBuiltOn,
                                         std::string_view{software},
                                         &std::pair<std::string_view, std::string_view>::first);
    if (known != kBuiltOn.end()) {
        return std::string{known->second};
    }
    // Such as megatron-core, megatron-deepspeed and research forks.
    return software.starts_with("megatron-") ? std::string{kMegatron} : software;
}

}  // namespace orrery

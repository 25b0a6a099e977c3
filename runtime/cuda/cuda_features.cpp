// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/cuda_features.h"

#include <algorithm>
#include <array>

namespace orrery {
namespace {

struct FeatureWord {
    std::string_view word;
    bool CudaFeatures::*feature;
};
constexpr std::array<FeatureWord, 5> kFeatureWords{{
    {"wgmma", &CudaFeatures::wgmma},
    {"mma", &CudaFeatures::mma},
    {"graphs", &CudaFeatures::graphs},
    {"fused", &CudaFeatures::fused},
    {"gates", &CudaFeatures::gates},
}};

std::string listed(const auto& is_listed) {
    std::string list;
    for (const FeatureWord& known : kFeatureWords) {
        if (is_listed(known)) {
            list += (list.empty() ? "" : ",") + std::string{known.word};
        }
    }
    return list;
}

}  // namespace

std::string CudaFeatures::without() const {
    return listed([&](const FeatureWord& known) { return !(this->*known.feature); });
}

Result<CudaFeatures> cuda_features_without(std::string_view words) {
    CudaFeatures features;
    while (!words.empty()) {
        const std::size_t comma = std::min(words.find(','), words.size());
        const std::string_view word = words.substr(0, comma);
        words.remove_prefix(std::min(comma + 1, words.size()));
        const auto known = std::ranges::find(kFeatureWords, word, &FeatureWord::word);
        if (known != kFeatureWords.end()) {
            features.*(known->feature) = false;
        } else if (!word.empty()) {
            return fail(kCudaWithout,
                        "'" + std::string{word} + "' is nothing that can be left out",
                        "a list of " + listed([](const FeatureWord&) { return true; }));
        }
    }
    return features;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Releases of engines, which the engine column and the notes of published rows name.
#pragma once

#include <compare>
#include <optional>
#include <string_view>

namespace orrery {

struct EngineRelease {
    int major = 0;
    int minor = 0;
    int patch = 0;

    auto operator<=>(const EngineRelease&) const = default;
};

// The release that ends the name of an engine: 0.5.6 of "sglang-0.5.6.post1", 1.2.0 of
// "trtllm serve 1.2.0rc1", 0.14.0 of "trtllm-0.14". Nothing for "vllm-2024" and "trtllm".
std::optional<EngineRelease> release_of(std::string_view engine);

// Whether the row's engine is this one, in a release that is not earlier. A name without a release
// is not.
bool is_from(std::string_view engine, std::string_view name, EngineRelease first);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/engine_release.h"

#include <charconv>
#include <system_error>

namespace orrery {

std::optional<EngineRelease> release_of(std::string_view engine) {
    if (const std::size_t behind = engine.find_last_of("- "); behind != std::string_view::npos) {
        engine.remove_prefix(behind + 1);
    }
    EngineRelease release;
    int read = 0;
    for (int* const part : {&release.major, &release.minor, &release.patch}) {
        const auto [end, error] =
            std::from_chars(engine.data(), engine.data() + engine.size(), *part);
        if (error != std::errc{}) {
            break;
        }
        ++read;
        engine.remove_prefix(static_cast<std::size_t>(end - engine.data()));
        if (!engine.starts_with('.')) {
            break;
        }
        engine.remove_prefix(1);
    }
    // A year alone is no release.
    return read >= 2 ? std::optional{release} : std::nullopt;
}

bool is_from(std::string_view engine, std::string_view name, EngineRelease first) {
    const std::optional<EngineRelease> release = release_of(engine);
    return engine.starts_with(name) && release && *release >= first;
}

}  // namespace orrery

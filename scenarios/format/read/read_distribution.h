// SPDX-License-Identifier: Apache-2.0
// Coarse times and their distributions in scenario files: `5 d` is constant, `{mean: 5 d}`
// exponential, `{median: 5 d, sigma: 1.9}` lognormal, `{mean: 5 d, shape: 0.48}` Weibull.
#pragma once

#include <optional>

#include "engine/base/field.h"
#include "engine/faults/distribution.h"
#include "scenarios/format/document/map_reader.h"

namespace orrery {

inline constexpr RealRange kSigmas{0, 10};
inline constexpr RealRange kWeibullShapes{0.05, 100};

// Returns whether the key exists with a valid value of at least `least`.
bool read_wall_time(MapReader& reader,
                    std::string_view key,
                    WallTime& value,
                    WallTime least = WallTime{},
                    Presence presence = Presence::optional);
bool read_wall_time(MapReader& reader, std::string_view key, std::optional<WallTime>& value);
bool read_distribution(MapReader& reader,
                       std::string_view key,
                       Distribution& value,
                       Errors& errors);

}  // namespace orrery

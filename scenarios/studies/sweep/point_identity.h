// SPDX-License-Identifier: Apache-2.0
// What makes a point of a study the same point tomorrow: the program's sources, the catalogue, the
// scenario's text, the files that it names, and what the point changes. A point with a known
// identity is never run again; another program or another figure of the catalogue makes new points.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace orrery {

// Of what all points of a scenario share: the build (scenarios/format/provenance/version.h), the
// catalogue by its fingerprint, and the scenario's files.
std::string scenario_fingerprint(const std::filesystem::path& scenario,
                                 const std::string& catalogue);

// `base` is the scenario's fingerprint; values that name files below `folder` count with what is
// in them.
std::string point_identity(const std::string& base,
                           const std::vector<std::string>& overrides,
                           const std::filesystem::path& folder);

}  // namespace orrery

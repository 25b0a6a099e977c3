// SPDX-License-Identifier: Apache-2.0
// The identity of a study's point across runs: the program's sources, the catalogue, the scenario's
// text, the files that it names, and the point's changes. A point with a known identity is never
// run again. Another program or another figure of the catalogue makes new points.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace orrery {

// The fingerprint of the common parts of a scenario's points: the build
// (scenarios/format/provenance/version.h), the catalogue by its fingerprint, and the scenario's
// files.
std::string scenario_fingerprint(const std::filesystem::path& scenario,
                                 const std::string& catalogue);

// `base` is the scenario's fingerprint. Values that name files below `folder` count with the files'
// contents.
std::string point_identity(const std::string& base,
                           const std::vector<std::string>& overrides,
                           const std::filesystem::path& folder);

}  // namespace orrery

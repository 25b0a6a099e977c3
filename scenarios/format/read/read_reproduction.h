// SPDX-License-Identifier: Apache-2.0
// Reads a reproduction (scenarios/reproductions/NAME.yaml).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "engine/base/result.h"
#include "scenarios/format/read/key_table.h"
#include "scenarios/format/specs/reproduction.h"

namespace orrery {

extern const KeyTable<Reproduction> kReproductionKeys;

// The word in files and in --json.
std::string_view name(ReproductionClass kind);
std::string_view name(ReproducedMetric metric);

// Every variant has a source, every comparison a known variant and what its class needs: a ratio a
// baseline, a direction a range, all a published figure or published cases. Files of scenarios
// must exist.
ResultOrErrors<Reproduction> read_reproduction(const std::filesystem::path& file);
// `folder` is the base of the scenarios' paths.
ResultOrErrors<Reproduction> read_reproduction_text(const std::string& text,
                                                    const std::string& source,
                                                    const std::filesystem::path& folder);

}  // namespace orrery

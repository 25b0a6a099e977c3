// SPDX-License-Identifier: Apache-2.0
// `orrery reproduce --html FOLDER/`: a page for each system, and index.html with all verdicts.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/provenance/provenance.h"
#include "scenarios/studies/reproduce/reproduce.h"

namespace orrery {

// Whether the name ends in "/".
bool names_folder(const std::string& file);

// Makes the folder of the pages. It is called before the work, so that an invalid path is reported
// at once.
Result<void> make_folder(const std::filesystem::path& folder);

// `made_of` returns the provenance of a page of these reproductions.
Result<void> write_room_pages(
    const std::filesystem::path& folder,
    const std::vector<RoomOutcome>& outcomes,
    const std::function<Provenance(const std::vector<Reproduction>&)>& made_of);

}  // namespace orrery

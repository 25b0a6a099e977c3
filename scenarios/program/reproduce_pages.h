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

// A name that ends in "/".
bool names_folder(const std::string& file);

// Makes the folder of the pages. Called before the work: a wrong place is an error at once.
Result<void> make_folder(const std::filesystem::path& folder);

// `made_of`: what a page of these rooms is made of.
Result<void> write_room_pages(
    const std::filesystem::path& folder,
    const std::vector<RoomOutcome>& outcomes,
    const std::function<Provenance(const std::vector<Reproduction>&)>& made_of);

}  // namespace orrery

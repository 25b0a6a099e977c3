// SPDX-License-Identifier: Apache-2.0
// The known names nearest to what a user wrote, by Damerau-Levenshtein distance (insertions,
// deletions, substitutions and swaps of neighbours cost 1 each), for hints in error messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

std::size_t edit_distance(std::string_view a, std::string_view b);

// At most `count` different names, nearest first (ties in the given order): names that begin with
// what was written, then the others by distance, without names that differ in more than half of
// the characters and contain no common part.
std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<std::string>& known,
                                       std::size_t count);

// "did you mean 'a' or 'b'?", or the list of known names if none is near.
std::string nearest_hint(std::string_view name, const std::vector<std::string>& known);

}  // namespace orrery

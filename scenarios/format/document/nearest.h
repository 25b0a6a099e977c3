// SPDX-License-Identifier: Apache-2.0
// Known names nearest to a user's word, for hints in error messages. The distance is
// Damerau-Levenshtein's: insertions, deletions, substitutions and swaps of neighbours cost 1 each.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

std::size_t edit_distance(std::string_view a, std::string_view b);

// At most `count` different names, nearest first (ties in the given order): names that begin with
// the word, then the others by distance. A name that differs in more than half of the characters
// and has no common part is left out.
std::vector<std::string> nearest_names(std::string_view name,
                                       const std::vector<std::string>& known,
                                       std::size_t count);

// "did you mean 'a' or 'b'?", or the list of known names if none is near.
std::string nearest_hint(std::string_view name, const std::vector<std::string>& known);

}  // namespace orrery

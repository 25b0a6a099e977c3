// SPDX-License-Identifier: Apache-2.0
// Cuts text into words for byte-pair encoding, by GPT-2's pattern (Radford et al. 2019). Words are
// contractions ('s 't 're 've 'm 'll 'd), and runs of letters, of digits or of other characters,
// each with one preceding space if there is one. A run of white space is also a word; if something
// follows the run, its last character is excluded. The concatenated words are the text. Letters,
// digits and white space are Unicode's; a byte that is not UTF-8 counts as another character.
#pragma once

#include <cstddef>
#include <string_view>

namespace orrery {

// The first word of a text that is not empty, or its first `longest` bytes. A longer run is not
// read to its end.
std::string_view first_word(std::string_view text,
                            std::size_t longest = std::string_view::npos);

}  // namespace orrery

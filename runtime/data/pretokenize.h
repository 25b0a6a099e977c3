// SPDX-License-Identifier: Apache-2.0
// Cuts text into the words that byte-pair encoding works on, as GPT-2's pattern does (Radford et
// al. 2019): contractions ('s 't 're 've 'm 'll 'd), runs of letters, of digits and of anything
// else, each with a space before it if there is one, and white space, of which the last leaves a
// run that something follows. The words joined are the text. Letters, digits and white space are
// Unicode's; a byte that is no UTF-8 is anything else.
#pragma once

#include <cstddef>
#include <string_view>

namespace orrery {

// The first word of a text that isn't empty, or its first `longest` bytes: a run without end is
// read no further than that.
std::string_view first_word(std::string_view text,
                            std::size_t longest = std::string_view::npos);

}  // namespace orrery

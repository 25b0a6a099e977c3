// SPDX-License-Identifier: Apache-2.0
// Turns the bytes of generated tokens into text that can be sent piece by piece. Characters of
// UTF-8 are never split, invalid bytes become U+FFFD, and the text ends before a stop string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery {

class TextStream {
public:
    explicit TextStream(std::vector<std::string> stops = {}) : stops_(std::move(stops)) {}

    // The text that is certain after these bytes. `last`: no bytes follow.
    std::string add(std::string_view bytes, bool last);
    bool stopped() const { return stopped_; }  // a stop string was found

private:
    std::string characters(bool last);

    std::vector<std::string> stops_;
    std::string bytes_;  // of an incomplete character
    std::string held_;   // possible begin of a stop string
    bool stopped_ = false;
};

}  // namespace orrery

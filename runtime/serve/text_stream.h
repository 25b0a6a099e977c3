// SPDX-License-Identifier: Apache-2.0
// Bytes of generated tokens as text that can be sent piece by piece: characters of UTF-8 are never
// cut, bytes that are none become U+FFFD, and the text ends before a stop string.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace orrery {

class TextStream {
public:
    explicit TextStream(std::vector<std::string> stops = {}) : stops_(std::move(stops)) {}

    // The text that is certain after these bytes. `last`: nothing comes after them.
    std::string add(std::string_view bytes, bool last);
    bool stopped() const { return stopped_; }  // a stop string was met

private:
    std::string characters(bool last);

    std::vector<std::string> stops_;
    std::string bytes_;  // of a character that is not complete
    std::string held_;   // text that may be the begin of a stop string
    bool stopped_ = false;
};

}  // namespace orrery

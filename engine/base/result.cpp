// SPDX-License-Identifier: Apache-2.0
#include "engine/base/result.h"

namespace orrery {

std::string Error::to_string() const {
    std::string text = where.empty() ? std::string{} : where + ": ";
    text += "error: " + what;
    if (!hint.empty()) {
        text += " (hint: " + hint + ")";
    }
    return text;
}

}  // namespace orrery

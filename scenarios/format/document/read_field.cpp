// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/document/read_field.h"

#include <fmt/format.h>

namespace orrery {

std::string number_text(double value) {
    return fmt::format("{}", value);
}

}  // namespace orrery

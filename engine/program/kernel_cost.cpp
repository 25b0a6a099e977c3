// SPDX-License-Identifier: Apache-2.0
#include "engine/program/kernel_cost.h"

namespace orrery {

std::string_view name(CostSource source) {
    switch (source) {
        case CostSource::measured:
            return "measured";
        case CostSource::interpolated:
            return "interpolated";
        case CostSource::roofline:
            return "roofline";
    }
    return "unknown";
}

}  // namespace orrery

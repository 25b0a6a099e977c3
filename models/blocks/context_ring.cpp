// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/context_ring.h"

#include "engine/base/check.h"

namespace orrery {

std::int64_t ranks_of_ring(const LayoutAssignment& layouts) {
    return layouts.stream_key_value ? layouts.mesh.combined_size(layouts.mesh.axis("cp")) : 1;
}

std::uint32_t digit_of_hop(const LayoutAssignment& layouts, std::int64_t hop) {
    ORRERY_CHECK(hop > 0 && hop < ranks_of_ring(layouts));
    std::uint32_t next = layouts.context_digit;
    for (std::int64_t round = 1; hop % round == 0; ++next) {
        round *= layouts.mesh.size(next);
    }
    return next - 1;
}

}  // namespace orrery

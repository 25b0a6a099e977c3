// SPDX-License-Identifier: Apache-2.0
#include "scenarios/search/empty_space.h"

#include <fmt/format.h>

#include <algorithm>

namespace orrery {

Error why_space_is_empty(std::int64_t points, const std::map<std::string, std::int64_t>& pruned) {
    const auto most =
        std::ranges::max_element(pruned, {}, [](const auto& reason) { return reason.second; });
    if (most == pruned.end()) {
        return {"search", "the space has no point", "list other sizes"};
    }
    std::string all;
    for (const auto& [reason, count] : pruned) {
        all += fmt::format("{}{} {}", all.empty() ? "" : ", ", reason, count);
    }
    return {"search",
            fmt::format("no plan of {} is feasible: {} refuses most of them", points, most->first),
            fmt::format("points by the rule that refuses them: {}", all)};
}

}  // namespace orrery

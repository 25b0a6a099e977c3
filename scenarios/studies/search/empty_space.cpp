// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/empty_space.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace orrery {
namespace {

// Text about the limits that plans miss, and the distance of the nearest plan.
std::string missed_limits(const LeftOut& out, const SearchSpec& spec) {
    std::vector<std::string> limits;
    if (out.deadline > 0) {
        limits.push_back(
            fmt::format("{} take longer than deadline_days {:g}, the fastest {:.3g} "
                        "days or more",
                        out.deadline,
                        spec.deadline_days,
                        out.least_days));
    }
    if (out.budget > 0) {
        limits.push_back(fmt::format("{} cost more than budget {:g}, the cheapest {:.3g} or more",
                                     out.budget,
                                     spec.budget,
                                     out.least_money));
    }
    if (out.memory > 0) {
        limits.push_back(
            fmt::format("{} do not fit into memory, the smallest needs {:.0f} % of a "
                        "GPU's or more",
                        out.memory,
                        out.least_memory * 100));
    }
    return fmt::format("{}", fmt::join(limits, "; "));
}

Error ran_out(const EmptySpace& space, const SearchSpec& spec) {
    const std::string missed = missed_limits(space.left_out, spec);
    return {"search.simulations",
            fmt::format("{} ran out before a plan was found: {} simulated, {} left unsimulated{}{}",
                        spec.simulations,
                        space.simulated,
                        space.left_out.ran_out,
                        missed.empty() ? "" : "; of the others ",
                        missed),
            fmt::format("search.simulations={} or more, or a smaller space",
                        std::max<std::int64_t>(100, spec.simulations * 10))};
}

}  // namespace

Error why_space_is_empty(const EmptySpace& space, const SearchSpec& spec) {
    const LeftOut& out = space.left_out;
    if (space.points == 0) {
        return {"search", "the space has no point", "list other sizes"};
    }
    if (out.ran_out > 0) {
        return ran_out(space, spec);
    }
    // According to their bounds these plans fit in memory: only the deadline or the budget refuses
    // them.
    const std::string what =
        fmt::format("no plan of {} is feasible: {}", space.points, missed_limits(out, spec));
    if (out.deadline > 0) {
        return {"search.deadline_days",
                what,
                fmt::format("{:.3g} days or more, or more GPUs", out.least_days)};
    }
    if (out.budget > 0) {
        return {"search.budget", what, fmt::format("{:.3g} or more", out.least_money)};
    }
    if (out.memory > 0) {
        return {"search", what, "more GPUs, or GPUs with more memory"};
    }
    const auto most =
        std::ranges::max_element(out.rules, {}, [](const auto& rule) { return rule.second; });
    std::string all;
    for (const auto& [reason, count] : out.rows()) {
        all += fmt::format("{}{} {}", all.empty() ? "" : ", ", reason, count);
    }
    return {"search",
            fmt::format("no plan of {} is feasible; most are refused by: {}",
                        space.points,
                        most == out.rules.end() ? "same plan" : most->first),
            fmt::format("points by the rule that refuses them: {}", all)};
}

}  // namespace orrery

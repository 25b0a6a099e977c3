// SPDX-License-Identifier: Apache-2.0
#include "tests/kernels/router/slow_router.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace orrery::numeric {
namespace {

Doubles scores_of(const RouterShape& s, const Doubles& logits, std::size_t token) {
    const auto experts = static_cast<std::size_t>(s.experts);
    Doubles scores;
    double sum = 0;
    for (std::size_t e = 0; e < experts; ++e) {
        const double x = logits[token * experts + e];
        scores.push_back(s.score == RouterScore::sigmoid ? 1 / (1 + std::exp(-x)) : std::exp(x));
        sum += scores.back();
    }
    for (double& score : scores) {
        score /= s.score == RouterScore::sigmoid ? 1 : sum;
    }
    return scores;
}

std::vector<std::size_t> best_first(const Doubles& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order,
                             [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
    return order;
}

// The choices, the best first.
std::vector<std::size_t> eligible(const RouterShape& s, const Doubles& compared) {
    const auto size = static_cast<std::size_t>(s.experts / s.groups);
    Doubles sums;
    for (std::size_t g = 0; g < static_cast<std::size_t>(s.groups); ++g) {
        Doubles group(compared.begin() + static_cast<std::ptrdiff_t>(g * size),
                      compared.begin() + static_cast<std::ptrdiff_t>((g + 1) * size));
        std::ranges::sort(group, std::greater{});
        sums.push_back(group[0] + (size > 1 ? group[1] : 0));
    }
    const std::vector<std::size_t> groups = best_first(sums);
    std::vector<std::size_t> all = best_first(compared);
    std::erase_if(all, [&](std::size_t expert) {
        const auto rank = std::ranges::find(groups, expert / size) - groups.begin();
        return rank >= s.kept_groups;
    });
    return all;
}

}  // namespace

Doubles slow_router_weights(const RouterShape& s,
                            const Doubles& logits,
                            const std::vector<std::int32_t>& experts) {
    Doubles weights;
    const auto k = static_cast<std::size_t>(s.k);
    for (std::size_t t = 0; t < static_cast<std::size_t>(s.tokens); ++t) {
        const Doubles scores = scores_of(s, logits, t);
        double sum = 0;
        for (std::size_t j = 0; j < k; ++j) {
            sum += scores[static_cast<std::size_t>(experts[t * k + j])];
        }
        for (std::size_t j = 0; j < k; ++j) {
            const double score = scores[static_cast<std::size_t>(experts[t * k + j])];
            weights.push_back(s.normalised ? score / sum : score);
        }
    }
    return weights;
}

Routed slow_router(const RouterShape& s, const Doubles& logits, const Doubles& bias) {
    Routed routed;
    for (std::size_t t = 0; t < static_cast<std::size_t>(s.tokens); ++t) {
        Doubles compared = scores_of(s, logits, t);
        for (std::size_t e = 0; e < bias.size(); ++e) {
            compared[e] += bias[e];
        }
        const std::vector<std::size_t> order = eligible(s, compared);
        for (std::size_t j = 0; j < static_cast<std::size_t>(s.k); ++j) {
            routed.experts.push_back(static_cast<std::int32_t>(order[j]));
        }
    }
    routed.weights = slow_router_weights(s, logits, routed.experts);
    return routed;
}

RouterShape draw_router(Draw& draw) {
    const std::int64_t groups = draw.coin() ? 1 : draw.between(2, 5);
    const std::int64_t size = draw.between(1, draw.coin() ? 4 : 30);
    const std::int64_t kept = draw.between(1, groups);
    return {.tokens = draw.between(1, 9),
            .experts = groups * size,
            .k = draw.between(1, std::min<std::int64_t>(8, kept * size)),
            .groups = groups,
            .kept_groups = kept,
            .score = draw.coin() ? RouterScore::sigmoid : RouterScore::softmax,
            .biased = draw.coin(),
            .normalised = draw.coin()};
}

}  // namespace orrery::numeric

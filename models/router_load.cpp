// SPDX-License-Identifier: Apache-2.0
#include "models/router_load.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/check.h"
#include "engine/counter_random.h"

namespace orrery {
namespace {

constexpr std::uint32_t kChoicePurpose = 0x6d6f65;
constexpr std::uint32_t kOrderPurpose = 0x6d6f66;
constexpr std::int64_t kDrawnTokens = 4096;

// By expert: how likely it is, up to a factor.
std::vector<double> likelihoods(const RouterDraw& draw, std::int64_t layer) {
    std::vector<double> likely(static_cast<std::size_t>(draw.experts), 1.0);
    if (draw.load != RouterLoad::zipf) {
        return likely;
    }
    std::vector<std::size_t> order(likely.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    CounterRandom random{draw.seed, static_cast<std::uint64_t>(layer), kOrderPurpose};
    for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.next() % i)]);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
        likely[order[i]] = std::pow(static_cast<double>(i + 1), -draw.alpha);
    }
    return likely;
}

// Draws tokens that choose topk different experts each, one after the other by their likelihood.
std::vector<double> drawn(const RouterDraw& draw, std::int64_t layer, std::int64_t tokens) {
    std::vector<double> counts(static_cast<std::size_t>(draw.experts));
    std::vector<double> ends = likelihoods(draw, layer);
    std::partial_sum(ends.begin(), ends.end(), ends.begin());
    CounterRandom random{draw.seed, static_cast<std::uint64_t>(layer), kChoicePurpose};
    std::vector<std::int64_t> last_token(counts.size(), -1);
    for (std::int64_t token = 0; token < tokens; ++token) {
        for (std::int64_t chosen = 0; chosen < draw.topk;) {
            const auto found = std::ranges::upper_bound(ends, random.uniform() * ends.back());
            const auto expert = static_cast<std::size_t>(
                std::min<std::ptrdiff_t>(found - ends.begin(), std::ssize(ends) - 1));
            if (last_token[expert] != token) {
                last_token[expert] = token;
                ++counts[expert];
                ++chosen;
            }
        }
    }
    return counts;
}

}  // namespace

std::vector<double> expert_loads(const RouterDraw& draw, std::int64_t layer, std::int64_t tokens) {
    ORRERY_CHECK(draw.experts > 0 && draw.topk > 0 && draw.topk <= draw.experts);
    const auto all = static_cast<double>(tokens);
    const double mean = all * static_cast<double>(draw.topk) / static_cast<double>(draw.experts);
    if (draw.load == RouterLoad::balanced || draw.topk == draw.experts) {
        return std::vector<double>(static_cast<std::size_t>(draw.experts), mean);
    }
    const std::int64_t sample = std::min(tokens, kDrawnTokens);
    std::vector<double> loads = drawn(draw, layer, sample);
    const double times = all / static_cast<double>(sample);
    const double sampled_mean = mean / times;
    for (double& load : loads) {
        load = draw.load == RouterLoad::zipf ? load * times
                                             : mean + (load - sampled_mean) * std::sqrt(times);
    }
    return loads;
}

double max_over_mean(const std::vector<double>& loads, std::int64_t groups) {
    ORRERY_CHECK(groups > 0 && std::ssize(loads) % groups == 0);
    const auto size = std::ssize(loads) / groups;
    const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
    double most = 0;
    for (auto first = loads.begin(); first != loads.end(); first += size) {
        most = std::max(most, std::accumulate(first, first + size, 0.0));
    }
    return sum > 0 ? most * static_cast<double>(groups) / sum : 1.0;
}

double busiest_rank(const Transformer& model,
                    const ParallelPlan& plan,
                    std::int64_t layer,
                    std::int64_t tokens) {
    const RouterDraw draw{.load = plan.moe_router_load,
                          .alpha = plan.moe_router_load_alpha,
                          .seed = static_cast<std::uint64_t>(plan.moe_router_load_seed),
                          .experts = model.num_experts,
                          .topk = model.moe_router_topk};
    return max_over_mean(expert_loads(draw, layer, tokens), plan.expert_model_parallel_size);
}

}  // namespace orrery

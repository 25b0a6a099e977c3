// SPDX-License-Identifier: Apache-2.0
#include "models/experts/expert_counts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/base/counter_random.h"

namespace orrery {
namespace {

constexpr std::uint32_t kCountPurpose = 0x6d6f67;
constexpr int kHalvings = 100;
// A lower bound of likelihoods. Steep distributions would underflow to zero, and fewer experts than
// a token needs could be chosen.
constexpr double kLeastLikely = 1e-290;

// The sum of scale (1 - exp(-c w)).
double sum_of_chances(const std::vector<double>& likely,
                      const std::vector<double>& scale,
                      double c) {
    double sum = 0;
    for (std::size_t i = 0; i < likely.size(); ++i) {
        sum += scale[i] * -std::expm1(-c * likely[i]);
    }
    return sum;
}

}  // namespace

std::vector<double> chances_of(const std::vector<double>& likely,
                               const std::vector<double>& scale,
                               double choices) {
    double low = 0;
    double high = 1;
    const double least = *std::ranges::min_element(likely);
    while (sum_of_chances(likely, scale, high) < choices && high * least < 100) {
        high *= 2;
    }
    for (int i = 0; i < kHalvings; ++i) {
        const double middle = (low + high) / 2;
        (sum_of_chances(likely, scale, middle) < choices ? low : high) = middle;
    }
    std::vector<double> chances(likely.size());
    for (std::size_t i = 0; i < likely.size(); ++i) {
        chances[i] = std::min(1.0, scale[i] * -std::expm1(-high * likely[i]));
    }
    return chances;
}

namespace {

// Subtracts the excess of the sum in proportion to the variances: the mean of normal numbers whose
// sum is known.
void add_up(std::vector<double>& counts, const std::vector<double>& variances, double sum) {
    const double excess = std::accumulate(counts.begin(), counts.end(), 0.0) - sum;
    const double all = std::accumulate(variances.begin(), variances.end(), 0.0);
    for (std::size_t i = 0; i < counts.size() && all > 0; ++i) {
        counts[i] -= excess * variances[i] / all;
    }
}

// Whole numbers between 0 and `most` that add up to `sum`.
void round_to(std::vector<double>& counts, double most, double sum) {
    double left = sum;
    for (double& count : counts) {
        count = std::clamp(std::floor(count + 0.5), 0.0, most);
        left -= count;
    }
    for (std::size_t i = 0; i < counts.size() && left != 0; ++i) {
        const double next = std::clamp(counts[i] + left, 0.0, most);
        left -= next - counts[i];
        counts[i] = next;
    }
}

}  // namespace

ExpertCounts::ExpertCounts(const RouterDraw& draw, std::int64_t layer)
    : draw_(draw), layer_(layer) {
    if (!is_drawn()) {
        return;
    }
    std::vector<double> likely = expert_likelihoods(draw, layer);
    for (double& of : likely) {
        of = std::max(of, kLeastLikely);
    }
    std::vector<double> scale(likely.size(), 1.0);
    if (has_groups()) {
        const auto groups = static_cast<std::size_t>(draw.groups);
        const std::size_t size = likely.size() / groups;
        std::vector<double> sums;
        for (std::size_t g = 0; g < groups; ++g) {
            const auto first = likely.begin() + static_cast<std::ptrdiff_t>(g * size);
            sums.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(size), 0.0));
        }
        group_chances_ = chances_of(
            sums, std::vector<double>(groups, 1.0), static_cast<double>(draw.group_topk));
        for (std::size_t e = 0; e < likely.size(); ++e) {
            scale[e] = group_chances_[e / size];
        }
    }
    chances_ = chances_of(likely, scale, static_cast<double>(draw.topk));
}

bool ExpertCounts::is_drawn() const {
    return draw_.topk < draw_.experts &&
           (draw_.load == RouterLoad::uniform || draw_.load == RouterLoad::zipf ||
            draw_.load == RouterLoad::bias_balanced);
}

bool ExpertCounts::has_groups() const {
    return draw_.groups > 0 && draw_.group_topk > 0 && draw_.group_topk < draw_.groups &&
           draw_.experts % draw_.groups == 0;
}

std::vector<double> ExpertCounts::not_drawn(std::uint32_t micro_batch, std::int64_t tokens) const {
    RouterDraw draw = draw_;
    const auto of_micro_batch = static_cast<std::size_t>(draw.experts * draw.layers);
    if (draw.load == RouterLoad::trace && of_micro_batch > 0 &&
        draw.trace.size() > of_micro_batch) {
        const std::size_t micro_batches = draw.trace.size() / of_micro_batch;
        draw.trace =
            draw.trace.subspan(micro_batch % micro_batches * of_micro_batch, of_micro_batch);
    }
    std::vector<double> loads = expert_loads(draw, layer_, tokens);
    std::ranges::for_each(loads, [](double& load) { load = std::floor(load + 0.5); });
    return loads;
}

std::vector<double> ExpertCounts::of(std::uint32_t micro_batch,
                                     std::uint32_t group,
                                     std::int64_t tokens) const {
    if (!is_drawn()) {
        return not_drawn(micro_batch, tokens);
    }
    // The draws of a layer have a stream of random numbers of their own.
    const std::uint64_t number = std::uint64_t{micro_batch} << 24 | group;
    CounterRandom random(
        draw_.seed, static_cast<std::uint64_t>(layer_) << 48 ^ number, kCountPurpose);
    const auto all = static_cast<double>(tokens);
    const auto drawn =
        [&](std::vector<double>& counts, std::vector<double>& variances, double of, double chance) {
            const double variance = std::max(0.0, of * chance * (1 - chance));
            counts.push_back(of * chance + std::sqrt(variance) * random.normal());
            variances.push_back(variance);
        };
    std::vector<double> tokens_of_group;
    if (has_groups()) {
        std::vector<double> variances;
        for (const double chance : group_chances_) {
            drawn(tokens_of_group, variances, all, chance);
        }
        add_up(tokens_of_group, variances, all * static_cast<double>(draw_.group_topk));
        for (double& of : tokens_of_group) {
            of = std::clamp(of, 0.0, all);
        }
    }
    std::vector<double> counts;
    std::vector<double> variances;
    counts.reserve(chances_.size());
    variances.reserve(chances_.size());
    for (std::size_t e = 0; e < chances_.size(); ++e) {
        if (tokens_of_group.empty()) {
            drawn(counts, variances, all, chances_[e]);
            continue;
        }
        const std::size_t own = e * tokens_of_group.size() / chances_.size();
        drawn(counts, variances, tokens_of_group[own], chances_[e] / group_chances_[own]);
    }
    const double sum = all * static_cast<double>(draw_.topk);
    add_up(counts, variances, sum);
    round_to(counts, all, sum);
    if (draw_.capacity_factor > 0) {
        const auto most = static_cast<double>(
            expert_capacity(tokens, draw_.topk, draw_.experts, draw_.capacity_factor));
        for (double& count : counts) {
            count = std::min(count, most);
        }
    }
    return counts;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "models/experts/router_load.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "engine/base/check.h"
#include "engine/base/counter_random.h"
#include "models/experts/expert_counts.h"
#include "models/experts/expert_placement.h"

namespace orrery {
namespace {

constexpr std::uint32_t kChoicePurpose = 0x6d6f65;
constexpr std::uint32_t kOrderPurpose = 0x6d6f66;
constexpr std::int64_t kDrawnTokens = 4096;

// One update of the bias, in units of a score's logarithm (DeepSeek-V3, section 4.2: 0.001).
constexpr double kBiasUpdate = 1e-3;

// Consecutive draws of experts that the token already has. After this number the likeliest free
// expert is taken, because a draw would take too long.
constexpr int kMissesMost = 1000;

void shuffle(std::vector<std::size_t>& order, CounterRandom random) {
    for (std::size_t i = order.size(); i > 1; --i) {
        std::swap(order[i - 1], order[static_cast<std::size_t>(random.next() % i)]);
    }
}

// Chooses experts by their intervals on a line.
class Chooser {
public:
    Chooser(const RouterDraw& draw, std::int64_t layer)
        : draw_(draw),
          random_(draw.seed, static_cast<std::uint64_t>(layer), kChoicePurpose),
          likely_(expert_likelihoods(draw, layer)),
          ends_(likely_.size()) {
        std::partial_sum(likely_.begin(), likely_.end(), ends_.begin());
    }

    // Chooses topk different experts, one after the other by their likelihood.
    void add_token(std::vector<double>& counts) {
        std::vector<std::int64_t> groups;
        if (draw_.groups > 0 && draw_.group_topk > 0 && draw_.group_topk < draw_.groups) {
            groups = chosen_groups();
        }
        std::vector<std::size_t> chosen;
        const auto is_open = [&](std::size_t expert) {
            return (groups.empty() || std::ranges::count(groups, group_of(expert)) > 0) &&
                   std::ranges::find(chosen, expert) == chosen.end();
        };
        for (int misses = 0; std::ssize(chosen) < draw_.topk;) {
            std::size_t expert = one();
            if (!is_open(expert) && ++misses < kMissesMost) {
                continue;
            }
            expert = is_open(expert) ? expert : likeliest(is_open);
            misses = 0;
            chosen.push_back(expert);
            ++counts[expert];
        }
    }

private:
    std::size_t one() {
        const auto found = std::ranges::upper_bound(ends_, random_.uniform() * ends_.back());
        return static_cast<std::size_t>(
            std::min<std::ptrdiff_t>(found - ends_.begin(), std::ssize(ends_) - 1));
    }
    // The likeliest free expert, for the case that draws almost certainly repeat the others.
    template <class IsOpen>
    std::size_t likeliest(const IsOpen& is_open) const {
        std::size_t best = likely_.size();
        for (std::size_t expert = 0; expert < likely_.size(); ++expert) {
            const bool better = best == likely_.size() || likely_[expert] > likely_[best];
            best = is_open(expert) && better ? expert : best;
        }
        ORRERY_CHECK(best < likely_.size());
        return best;
    }
    std::int64_t group_of(std::size_t expert) const {
        return static_cast<std::int64_t>(expert) * draw_.groups / draw_.experts;
    }
    // Groups are chosen in proportion to the likelihood of their experts, because groups with the
    // best experts have the best scores.
    std::vector<std::int64_t> chosen_groups() {
        std::vector<std::int64_t> groups;
        const auto is_new = [&](std::size_t expert) {
            return std::ranges::find(groups, group_of(expert)) == groups.end();
        };
        for (int misses = 0; std::ssize(groups) < draw_.group_topk;) {
            const std::size_t expert = one();
            if (!is_new(expert) && ++misses < kMissesMost) {
                continue;
            }
            groups.push_back(group_of(is_new(expert) ? expert : likeliest(is_new)));
            misses = 0;
        }
        return groups;
    }

    const RouterDraw& draw_;
    CounterRandom random_;
    std::vector<double> likely_;
    std::vector<double> ends_;
};

std::vector<double> drawn_loads(const RouterDraw& draw,
                                std::int64_t layer,
                                std::int64_t tokens,
                                double mean) {
    const std::int64_t sample = std::min(tokens, kDrawnTokens);
    std::vector<double> loads(static_cast<std::size_t>(draw.experts));
    Chooser chooser(draw, layer);
    for (std::int64_t token = 0; token < sample; ++token) {
        chooser.add_token(loads);
    }
    const double times = static_cast<double>(tokens) / static_cast<double>(sample);
    for (double& load : loads) {
        load = draw.load == RouterLoad::zipf ? load * times
                                             : mean + (load - mean / times) * std::sqrt(times);
    }
    return loads;
}

std::vector<double> in_order(const std::vector<double>& of_experts,
                             const std::vector<std::int64_t>& experts) {
    std::vector<double> ordered;
    for (const std::int64_t expert : experts) {
        ordered.push_back(of_experts[static_cast<std::size_t>(expert)]);
    }
    return ordered;
}

// The order of the layer's experts by their tokens in all micro-batches of the trace.
std::vector<std::int64_t> order_of_trace(const RouterDraw& draw, std::int64_t layer) {
    const auto experts = static_cast<std::size_t>(draw.experts);
    const std::size_t rows = draw.placed_by.size() / experts;
    const auto layers = static_cast<std::size_t>(draw.layers);
    const std::size_t stride = rows > layers ? layers : rows;
    std::vector<double> sums(experts);
    for (std::size_t row = static_cast<std::size_t>(layer) % stride; row < rows; row += stride) {
        for (std::size_t e = 0; e < experts; ++e) {
            sums[e] += static_cast<double>(draw.placed_by[row * experts + e]);
        }
    }
    return balanced_order(sums, draw.placed_on);
}

std::vector<double> loads_without_capacity(const RouterDraw& draw,
                                           std::int64_t layer,
                                           std::int64_t tokens) {
    const auto all = static_cast<double>(tokens) * static_cast<double>(draw.topk);
    const auto experts = static_cast<std::size_t>(draw.experts);
    const double mean = all / static_cast<double>(draw.experts);
    std::vector<double> loads(experts, mean);
    if (is_even(draw.load) || draw.topk == draw.experts) {
        return loads;
    }
    if (draw.load == RouterLoad::hot) {
        const double hottest = std::min(mean * draw.alpha, static_cast<double>(tokens));
        loads.assign(experts, (all - hottest) / static_cast<double>(experts - 1));
        loads[(draw.seed + static_cast<std::uint64_t>(layer)) % experts] = hottest;
        return loads;
    }
    if (draw.load == RouterLoad::trace) {
        const std::size_t layers = draw.trace.size() / experts;
        const auto first = static_cast<std::size_t>(layer) % layers * experts;
        std::copy_n(
            draw.trace.begin() + static_cast<std::ptrdiff_t>(first), experts, loads.begin());
        const double sum = std::accumulate(loads.begin(), loads.end(), 0.0);
        for (double& load : loads) {
            load = sum > 0 ? load * all / sum : mean;
        }
        return draw.placed_on > 0 ? in_order(loads, order_of_trace(draw, layer)) : loads;
    }
    return drawn_loads(draw, layer, tokens, mean);
}

// Every node of a layer needs its load, and a draw takes time: results are cached.
using LoadKey = std::array<std::int64_t, 12>;
constexpr std::size_t kKnownLoadsMost = 10'000;
std::map<LoadKey, LayerLoad>& known_loads() {
    thread_local std::map<LoadKey, LayerLoad> loads;
    return loads;
}

}  // namespace

RouterDraw router_draw(const Transformer& model, const ParallelPlan& plan) {
    return {.load = plan.moe_router_load,
            .alpha = plan.moe_router_load_alpha,
            .seed = static_cast<std::uint64_t>(plan.moe_router_load_seed),
            .experts = model.num_experts,
            .topk = model.moe_router_topk,
            .groups = model.moe_router_num_groups,
            .group_topk = model.moe_router_group_topk,
            .trace = plan.moe_router_load_trace,
            .capacity_factor = plan.moe_expert_capacity_factor,
            .layers = model.num_layers,
            .placed_on = plan.moe_expert_placement == ExpertPlacement::balanced
                             ? plan.expert_model_parallel_size
                             : 0,
            .placed_by = plan.moe_router_load_trace};
}

std::vector<double> expert_likelihoods(const RouterDraw& draw, std::int64_t layer) {
    std::vector<double> likely(static_cast<std::size_t>(draw.experts), 1.0);
    if (draw.load != RouterLoad::zipf && draw.load != RouterLoad::bias_balanced) {
        return likely;
    }
    std::vector<std::size_t> order(likely.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    shuffle(order, CounterRandom{draw.seed, static_cast<std::uint64_t>(layer), kOrderPurpose});
    for (std::size_t i = 0; i < order.size(); ++i) {
        const double popularity = std::pow(static_cast<double>(i + 1), -draw.alpha);
        // The bias has converged: it is one update too high or too low.
        likely[order[i]] = draw.load == RouterLoad::zipf ? popularity
                           : draw.alpha == 0             ? 1
                                             : std::exp(i % 2 == 0 ? kBiasUpdate : -kBiasUpdate);
    }
    if (draw.placed_on == 0) {
        return likely;
    }
    const std::vector<double> ones(likely.size(), 1.0);
    const std::vector<double> expected = chances_of(likely, ones, static_cast<double>(draw.topk));
    return in_order(likely, balanced_order(expected, draw.placed_on));
}

std::vector<double> expert_loads(const RouterDraw& draw, std::int64_t layer, std::int64_t tokens) {
    ORRERY_CHECK(draw.experts > 0 && draw.topk > 0 && draw.topk <= draw.experts);
    ORRERY_CHECK(draw.load != RouterLoad::trace ||
                 (!draw.trace.empty() && std::ssize(draw.trace) % draw.experts == 0));
    std::vector<double> loads = loads_without_capacity(draw, layer, tokens);
    if (draw.capacity_factor > 0) {
        const auto most = static_cast<double>(
            expert_capacity(tokens, draw.topk, draw.experts, draw.capacity_factor));
        for (double& load : loads) {
            load = std::min(load, most);
        }
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

std::int64_t expert_capacity(std::int64_t tokens,
                             std::int64_t topk,
                             std::int64_t experts,
                             double factor) {
    return static_cast<std::int64_t>(
        std::ceil(static_cast<double>(tokens * topk) / static_cast<double>(experts) * factor));
}

std::vector<int> bias_update(std::span<const double> loads) {
    const double mean =
        std::accumulate(loads.begin(), loads.end(), 0.0) / static_cast<double>(loads.size());
    std::vector<int> updates;
    for (const double load : loads) {
        updates.push_back(load < mean ? 1 : load > mean ? -1 : 0);
    }
    return updates;
}

LayerLoad layer_load(const Transformer& model,
                     const ParallelPlan& plan,
                     std::int64_t layer,
                     std::int64_t tokens) {
    LayerLoad load;
    if (plan.moe_pad_expert_input_to_capacity) {
        const double factor = plan.moe_expert_capacity_factor;
        load.busiest = load.kept = factor;
        if (factor != 1) {
            const auto ranks = static_cast<std::size_t>(plan.expert_model_parallel_size);
            const double share = factor / static_cast<double>(ranks);
            load.shares.assign(ranks, static_cast<std::uint32_t>(std::lround(share * 1e6)));
        }
        return load;
    }
    const bool drops = plan.moe_expert_capacity_factor > 0 && plan.moe_expert_capacity_factor < 1;
    if (is_even(plan.moe_router_load) && !drops) {
        return load;
    }
    const RouterDraw draw = router_draw(model, plan);
    const LoadKey key{static_cast<std::int64_t>(draw.load),
                      std::llround(draw.alpha * 1e6),
                      static_cast<std::int64_t>(draw.seed),
                      draw.experts,
                      draw.topk,
                      draw.groups,
                      draw.group_topk,
                      std::llround(draw.capacity_factor * 1e6),
                      layer,
                      tokens,
                      plan.expert_model_parallel_size,
                      draw.placed_on};
    const bool keeps = draw.load != RouterLoad::trace;
    if (const auto known = known_loads().find(key); keeps && known != known_loads().end()) {
        return known->second;
    }
    const std::vector<double> loads = expert_loads(draw, layer, tokens);
    const auto ranks = static_cast<std::size_t>(plan.expert_model_parallel_size);
    const std::size_t of_rank = loads.size() / ranks;
    const double taken = std::accumulate(loads.begin(), loads.end(), 0.0);
    const auto all = static_cast<double>(tokens) * static_cast<double>(model.moe_router_topk);
    load.kept = taken / all;
    double most = -1;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto first = loads.begin() + static_cast<std::ptrdiff_t>(rank * of_rank);
        const double rows =
            std::accumulate(first, first + static_cast<std::ptrdiff_t>(of_rank), 0.0);
        load.shares.push_back(static_cast<std::uint32_t>(std::lround(rows / all * 1e6)));
        if (rows > most) {
            most = rows;
            load.busiest_rank = static_cast<std::int64_t>(rank);
            load.of_experts.assign(first, first + static_cast<std::ptrdiff_t>(of_rank));
        }
    }
    for (double& part : load.of_experts) {
        part = most > 0 ? part / most : 1 / static_cast<double>(of_rank);
    }
    load.busiest = most / all * static_cast<double>(ranks);
    if (keeps) {
        if (known_loads().size() >= kKnownLoadsMost) {
            known_loads().clear();
        }
        known_loads().emplace(key, load);
    }
    return load;
}

double busiest_rank(const Transformer& model,
                    const ParallelPlan& plan,
                    std::int64_t layer,
                    std::int64_t tokens) {
    return layer_load(model, plan, layer, tokens).busiest;
}

}  // namespace orrery

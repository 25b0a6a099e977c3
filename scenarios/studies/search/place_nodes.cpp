// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/place_nodes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/base/counter_random.h"
#include "network/fabric/node_order.h"
#include "scenarios/studies/simulate/simulate_scenario.h"

namespace orrery {
namespace {

using NodeOrder = std::vector<std::uint32_t>;

// Temperatures at the begin and at the end: an order whose step is longer by this share of the
// first step is accepted with probability 1/e.
constexpr double kFirstTemperature = 0.05;
constexpr double kLastTemperature = 0.0005;
constexpr std::uint32_t kPlacePurpose = 0x706c6163;

std::size_t place_below(CounterRandom& random, std::size_t count) {
    return std::min(count - 1,
                    static_cast<std::size_t>(random.uniform() * static_cast<double>(count)));
}

// Swaps two nodes, moves one node, or reverses a stretch of nodes.
NodeOrder changed_order(NodeOrder order, CounterRandom& random) {
    std::size_t a = place_below(random, order.size());
    std::size_t b = place_below(random, order.size() - 1);
    b += b >= a ? 1 : 0;
    if (a > b) {
        std::swap(a, b);
    }
    const auto at = [&](std::size_t i) { return order.begin() + static_cast<std::ptrdiff_t>(i); };
    switch (place_below(random, 3)) {
        case 0:
            std::swap(order[a], order[b]);
            break;
        case 1:
            std::rotate(at(a), at(a) + 1, at(b) + 1);
            break;
        default:
            std::reverse(at(a), at(b) + 1);
            break;
    }
    return order;
}

class NodePlacer {
public:
    NodePlacer(const Scenario& scenario, const PlaceOptions& options)
        : scenario_(scenario), options_(options), random_(options.seed, 0, kPlacePurpose) {}

    Result<PlacedNodes> run(const NodeOrder& first) {
        Result<Answer> begin = simulate(first);
        if (!begin) {
            return tl::unexpected(begin.error());
        }
        if (!begin->memory.fits) {
            return fail("plan", "the plan does not fit into memory", "orrery search finds one");
        }
        result_.order = first;
        result_.before = *begin;
        result_.answer = std::move(*begin);
        NodeOrder order = first;
        double now = seconds_[first];
        const double scale = now;
        for (std::int64_t i = 0; i < options_.tries; ++i) {
            if (options_.stop && options_.stop()) {
                result_.interrupted = true;
                break;
            }
            NodeOrder next = changed_order(order, random_);
            const Result<double> then = step_of(next);
            if (!then) {
                return tl::unexpected(then.error());
            }
            if (accepts((*then - now) / scale, i)) {
                order = std::move(next);
                now = *then;
            }
            if (options_.progress) {
                options_.progress(static_cast<double>(i + 1) / static_cast<double>(options_.tries));
            }
        }
        return std::move(result_);
    }

private:
    Result<Answer> simulate(const NodeOrder& order) {
        Scenario placed = scenario_;
        placed.cluster.gpu_of_rank = gpus_of_nodes(order, placed.cluster.node.gpus_per_node);
        SimulationOptions how;
        how.only_if_fits = true;
        Result<Answer> answer = simulate_scenario(placed, how);
        if (answer) {
            ++result_.simulations;
            seconds_[order] = answer->iteration.seconds();
        }
        return answer;
    }

    Result<double> step_of(const NodeOrder& order) {
        if (const auto known = seconds_.find(order); known != seconds_.end()) {
            return known->second;
        }
        Result<Answer> answer = simulate(order);
        if (!answer) {
            return tl::unexpected(answer.error());
        }
        const double step = answer->iteration.seconds();
        if (answer->iteration < result_.answer.iteration) {
            result_.order = order;
            result_.answer = std::move(*answer);
        }
        return step;
    }

    // `longer` is relative to the first step.
    bool accepts(double longer, std::int64_t i) {
        const double share = static_cast<double>(i) / static_cast<double>(options_.tries);
        const double temperature =
            kFirstTemperature * std::pow(kLastTemperature / kFirstTemperature, share);
        return longer <= 0 || random_.uniform() < std::exp(-longer / temperature);
    }

    const Scenario& scenario_;
    const PlaceOptions& options_;
    CounterRandom random_;
    std::map<NodeOrder, double> seconds_;
    PlacedNodes result_;
};

}  // namespace

Result<PlacedNodes> place_nodes(const Scenario& scenario, const PlaceOptions& options) {
    if (scenario.cluster.num_nodes < 2) {
        return fail("cluster.nodes", "one node has no order", "2 or more");
    }
    if (!scenario.cluster.kinds.empty()) {
        return fail("cluster.kinds", "nodes of several kinds are taken in the order of the kinds");
    }
    const NodeOrder first = node_order_of(scenario.cluster);
    if (first.empty()) {
        return fail("cluster.gpus", "ranks that leave GPUs out have no order of whole nodes");
    }
    return NodePlacer{scenario, options}.run(first);
}

}  // namespace orrery

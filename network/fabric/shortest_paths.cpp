// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/shortest_paths.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "engine/base/check.h"
#include "network/fabric/routing.h"

namespace orrery {
namespace {

constexpr std::uint16_t kUnreachable = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t kPathsMax = std::uint64_t{1} << 32U;

}  // namespace

struct ShortestPaths::Choice {
    FiveTuple flow;
    std::uint32_t receiver = 0;
};

ShortestPaths::ShortestPaths(std::shared_ptr<const CableList> cables,
                             const FabricSpec& fabric,
                             std::uint32_t first_link)
    : cables_(std::move(cables)),
      nics_per_node_(cables_->nics_per_node()),
      kind_(fabric.routing),
      hash_seed_(fabric.hash_seed),
      one_seed_(fabric.hash_seeds == HashSeeds::one),
      nic_latency_(fabric.nic_latency),
      first_link_(first_link),
      out_(cables_->switches().size()),
      in_(cables_->switches().size()),
      hops_(cables_->switches().size()) {
    auto link = static_cast<std::uint32_t>(2 * cables_->nic_cables().size());
    const auto add = [&](std::uint32_t from, std::uint32_t to) {
        out_[from].push_back({link, to});
        in_[to].push_back({link, from});
        ++link;
    };
    for (const CableList::Cable& cable : cables_->switch_cables()) {
        add(cable.a, cable.b);
        add(cable.b, cable.a);
    }
    for (const CableList::Cable& cable : cables_->nic_cables()) {
        if (hops_[cable.b].empty()) {
            hops_[cable.b] = hops_to(cable.b, {});
        }
    }
}

ShortestPaths::Hops ShortestPaths::hops_to(std::uint32_t target, const LinkState& state) const {
    Hops hops(out_.size(), kUnreachable);
    hops[target] = 0;
    std::deque<std::uint32_t> queue = {target};
    while (!queue.empty()) {
        const std::uint32_t at = queue.front();
        queue.pop_front();
        for (const Out& in : in_[at]) {
            if (hops[in.to] == kUnreachable && is_up(in.link, state)) {
                hops[in.to] = static_cast<std::uint16_t>(hops[at] + 1);
                queue.push_back(in.to);
            }
        }
    }
    return hops;
}

Time ShortestPaths::link_latency(std::uint32_t link) const {
    const std::size_t cable = (link - first_link_) / 2;
    const std::size_t nics = cables_->nic_cables().size();
    return cable < nics ? cables_->nic_cables()[cable].latency + nic_latency_
                        : cables_->switch_cables()[cable - nics].latency;
}

bool ShortestPaths::walk(const Choice& choice,
                         std::uint32_t from,
                         std::uint32_t to,
                         const Hops& hops,
                         const LinkState& state,
                         Path& path) const {
    std::vector<std::uint32_t> next;
    for (std::uint32_t at = from; at != to;) {
        next.clear();
        for (std::uint32_t i = 0; i < out_[at].size(); ++i) {
            const Out& out = out_[at][i];
            if (hops[out.to] + 1 == hops[at] && is_up(out.link, state)) {
                next.push_back(i);
            }
        }
        if (next.empty()) {
            return false;
        }
        const auto n = static_cast<std::uint32_t>(next.size());
        const std::uint32_t seed = switch_seed(hash_seed_, one_seed_ ? 0 : at);
        std::uint32_t best = kind_ == RoutingKind::static_rail ? choice.receiver % n
                                                               : ecmp_choice(choice.flow, seed, n);
        if (kind_ == RoutingKind::adaptive) {
            const std::uint32_t first = best;
            const auto load = [&](std::uint32_t i) {
                return state.load_of(first_link_ + out_[at][next[i]].link);
            };
            for (std::uint32_t i = 1; i < n; ++i) {
                const std::uint32_t other = (first + i) % n;
                best = load(other) < load(best) ? other : best;
            }
        }
        const Out& out = out_[at][next[best]];
        const std::uint32_t link = first_link_ + out.link;
        path.add(to_id<LinkId>(link), link_latency(link));
        at = out.to;
    }
    return true;
}

bool ShortestPaths::route(NicPort from,
                          NicPort to,
                          std::uint64_t flow_label,
                          std::uint32_t queue_pair,
                          Path& path,
                          const LinkState& state) const {
    if (from == to) {
        return true;
    }
    const std::uint32_t source = nic_of(from);
    const std::uint32_t target = nic_of(to);
    const std::uint32_t out = 2 * source;
    const std::uint32_t in = 2 * target + 1;
    if (!is_up(out, state) || !is_up(in, state)) {
        return false;
    }
    const std::uint32_t first = cables_->nic_cables()[source].b;
    const std::uint32_t last = cables_->nic_cables()[target].b;
    const Choice choice{five_tuple(source, target, flow_label, queue_pair), target};
    Path switches;
    if (!walk(choice, first, last, hops_[last], state, switches)) {
        switches.clear();
        const Hops around = hops_to(last, state);
        if (around[first] == kUnreachable || !walk(choice, first, last, around, state, switches)) {
            return false;
        }
    }
    path.add(to_id<LinkId>(first_link_ + out), link_latency(first_link_ + out));
    path.links.insert(path.links.end(), switches.links.begin(), switches.links.end());
    path.latency += switches.latency;
    path.add(to_id<LinkId>(first_link_ + in), link_latency(first_link_ + in));
    return true;
}

std::uint64_t ShortestPaths::num_paths(NicPort from, NicPort to) const {
    if (from == to) {
        return 0;
    }
    const std::uint32_t first = cables_->nic_cables()[nic_of(from)].b;
    const std::uint32_t last = cables_->nic_cables()[nic_of(to)].b;
    const Hops& hops = hops_[last];
    ORRERY_CHECK(!hops.empty());
    std::vector<std::uint32_t> order;
    for (std::uint32_t s = 0; s < hops.size(); ++s) {
        if (hops[s] <= hops[first]) {
            order.push_back(s);
        }
    }
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        return hops[a] < hops[b];
    });
    std::vector<std::uint64_t> paths(hops.size(), 0);
    paths[last] = 1;
    for (const std::uint32_t s : order) {
        for (const Out& out : out_[s]) {
            if (hops[out.to] + 1 == hops[s]) {
                paths[s] = std::min(kPathsMax, paths[s] + paths[out.to]);
            }
        }
    }
    return paths[first];
}

}  // namespace orrery

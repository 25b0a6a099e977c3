// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/network_pattern.h"

namespace orrery {
namespace {

std::vector<NetworkPattern> make_patterns() {
    std::vector<NetworkPattern> all;
    for (const auto kind : {CollectiveKind::all_reduce,
                            CollectiveKind::all_gather,
                            CollectiveKind::reduce_scatter,
                            CollectiveKind::broadcast,
                            CollectiveKind::all_to_all}) {
        all.push_back({.name = std::string{name(kind)}, .collective = kind, .traffic = {}});
    }
    all.push_back({.name = "send_recv", .collective = {}, .traffic = {}});
    for (const auto flows : {TrafficPattern::permutation,
                             TrafficPattern::incast,
                             TrafficPattern::outcast,
                             TrafficPattern::ring,
                             TrafficPattern::rail,
                             TrafficPattern::pairs}) {
        all.push_back({.name = std::string{name(flows)}, .collective = {}, .traffic = flows});
    }
    return all;
}

}  // namespace

const std::vector<NetworkPattern>& all_network_patterns() {
    static const std::vector<NetworkPattern> all = make_patterns();
    return all;
}

double bus_factor(std::optional<CollectiveKind> kind, std::uint32_t ranks) {
    const double n = ranks;
    if (kind == CollectiveKind::all_reduce) {
        return 2 * (n - 1) / n;
    }
    return kind && kind != CollectiveKind::broadcast ? (n - 1) / n : 1.0;
}

}  // namespace orrery

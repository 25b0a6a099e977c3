// SPDX-License-Identifier: Apache-2.0
#include "tests/reference/max_min.h"

#include <algorithm>
#include <limits>

namespace orrery::reference {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

std::int64_t cap_of(const MaxMinFlow& flow) {
    const std::int64_t cap = flow.rate_max.bits_per_second();
    return cap == 0 ? kUnlimited : cap;
}

// One link while the flows are filled.
struct Filling {
    bool in_use = false;
    std::int64_t free_count = 0;   // sum of the counts of its free flows
    std::int64_t frozen_load = 0;  // bit/s that its frozen flows take
    std::int64_t offer = 0;        // t_l
};

}  // namespace

std::int64_t lone_rate(std::span<const LinkInfo> links, const MaxMinFlow& flow) {
    std::int64_t rate = cap_of(flow);
    for (const LinkShare& share : flow.footprint) {
        const std::int64_t capacity = links[index(share.link)].capacity.bits_per_second();
        rate = std::min(rate, capacity / share.count);
    }
    ORRERY_CHECK(rate != kUnlimited);  // neither a link nor a cap: no rate is defined
    return rate;
}

std::vector<std::int64_t> max_min_rates(std::span<const LinkInfo> links,
                                        std::span<const MaxMinFlow> flows) {
    std::vector<std::int64_t> rates(flows.size(), 0);
    std::vector<Filling> filling(links.size());
    std::vector<std::size_t> used_links;
    std::vector<std::size_t> free_flows;
    for (std::size_t f = 0; f < flows.size(); ++f) {
        free_flows.push_back(f);
        for (const LinkShare& share : flows[f].footprint) {
            Filling& link = filling[index(share.link)];
            if (!link.in_use) {
                link.in_use = true;
                used_links.push_back(index(share.link));
            }
            link.free_count += share.count;
        }
    }
    while (!free_flows.empty()) {
        std::int64_t lowest = kUnlimited;  // t*
        for (const std::size_t l : used_links) {
            Filling& link = filling[l];
            if (link.free_count > 0) {
                const std::int64_t capacity = links[l].capacity.bits_per_second();
                link.offer = (capacity - link.frozen_load) / link.free_count;
                lowest = std::min(lowest, link.offer);
            }
        }
        for (const std::size_t f : free_flows) {
            lowest = std::min(lowest, cap_of(flows[f]));
        }
        ORRERY_CHECK(lowest != kUnlimited);  // neither a link nor a cap: no rate is defined
        const auto stays_free = [&](std::size_t f) {
            const auto is_above = [&](const LinkShare& share) {
                return filling[index(share.link)].offer > lowest;
            };
            return cap_of(flows[f]) > lowest && std::ranges::all_of(flows[f].footprint, is_above);
        };
        // The offers do not change while we decide: the flows freeze together.
        const auto frozen_begin =
            std::stable_partition(free_flows.begin(), free_flows.end(), stays_free);
        for (auto f = frozen_begin; f != free_flows.end(); ++f) {
            rates[*f] = lowest;
            for (const LinkShare& share : flows[*f].footprint) {
                filling[index(share.link)].free_count -= share.count;
                filling[index(share.link)].frozen_load += share.count * lowest;
            }
        }
        free_flows.erase(frozen_begin, free_flows.end());
    }
    return rates;
}

}  // namespace orrery::reference

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/link_use.h"

#include <algorithm>
#include <map>

namespace orrery {

double utilisation(Bandwidth capacity, std::int64_t bytes, Time duration) {
    const double possible =
        static_cast<double>(capacity.bits_per_second()) / 8 * duration.seconds();
    return possible > 0 ? static_cast<double>(bytes) / possible : 0;
}

std::vector<LinkClassUse> use_by_class(const Fabric& fabric,
                                       std::span<const std::int64_t> bytes,
                                       Time duration) {
    std::vector<LinkClassUse> classes;
    for (const std::string& name : fabric.link_class_names()) {
        classes.push_back({.link_class = name});
    }
    for (std::size_t l = 0; l < bytes.size(); ++l) {
        const LinkInfo& link = fabric.links()[l];
        LinkClassUse& use = classes[link.link_class];
        const double share = utilisation(link.capacity, bytes[l], duration);
        ++use.links;
        use.used += bytes[l] > 0 ? 1 : 0;
        use.mean += share;
        use.max = std::max(use.max, share);
    }
    // Links between memory tiers count only if something is copied.
    constexpr auto kTiers = static_cast<std::ptrdiff_t>(LinkClass::c2c);
    if (std::ssize(classes) > kTiers) {
        const auto unused = std::remove_if(classes.begin() + kTiers,
                                           classes.end(),
                                           [](const LinkClassUse& use) { return use.used == 0; });
        classes.erase(unused, classes.end());
    }
    std::erase_if(classes, [](const LinkClassUse& use) { return use.links == 0; });
    for (LinkClassUse& use : classes) {
        use.mean /= static_cast<double>(use.links);
    }
    return classes;
}

std::vector<LinkHeat> heat_by_class(const Fabric& fabric,
                                    std::span<const std::int64_t> bytes,
                                    Time duration,
                                    std::size_t most) {
    std::vector<std::vector<std::size_t>> members(fabric.link_class_names().size());
    for (std::size_t link = 0; link < bytes.size(); ++link) {
        members[fabric.links()[link].link_class].push_back(link);
    }
    std::vector<LinkHeat> heat;
    for (std::size_t c = 0; c < members.size(); ++c) {
        const std::vector<std::size_t>& all = members[c];
        if (std::ranges::all_of(all, [&](std::size_t link) { return bytes[link] == 0; })) {
            continue;
        }
        LinkHeat& one = heat.emplace_back();
        one.link_class = fabric.link_class_names()[c];
        const auto use = [&](std::size_t link) {
            return utilisation(fabric.links()[link].capacity, bytes[link], duration);
        };
        const std::size_t cells = std::max<std::size_t>(1, most);
        const std::size_t each = (all.size() + cells - 1) / cells;
        for (std::size_t i = 0; i < all.size(); i += each) {
            const std::span<const std::size_t> cell =
                std::span{all}.subspan(i, std::min(each, all.size() - i));
            const std::size_t busiest = *std::ranges::max_element(cell, {}, use);
            one.utilisation.push_back(use(busiest));
            one.links.push_back(fabric.link_name(to_id<LinkId>(busiest)));
        }
    }
    return heat;
}

std::vector<LinkId> busiest_links(const Fabric& fabric,
                                  std::span<const std::int64_t> bytes,
                                  std::size_t most) {
    std::vector<std::size_t> order;
    for (std::size_t l = 0; l < bytes.size(); ++l) {
        if (bytes[l] > 0) {
            order.push_back(l);
        }
    }
    const auto busier = [&](std::size_t a, std::size_t b) {
        // Orders by bytes / capacity in integers, and equal ones by number.
        const auto left =
            static_cast<__int128>(bytes[a]) * fabric.links()[b].capacity.bits_per_second();
        const auto right =
            static_cast<__int128>(bytes[b]) * fabric.links()[a].capacity.bits_per_second();
        return left != right ? left > right : a < b;
    };
    const std::size_t count = std::min(most, order.size());
    std::partial_sort(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(), busier);
    std::vector<LinkId> links;
    for (std::size_t i = 0; i < count; ++i) {
        links.push_back(to_id<LinkId>(order[i]));
    }
    return links;
}

std::vector<TraceCounter> link_counters(const Fabric& fabric,
                                        const FlowRunner& runner,
                                        std::span<const LinkId> links) {
    // By link: changes of its load in bit/s.
    std::vector<std::map<Time, std::int64_t>> changes(links.size());
    for (const RateSpan& span : runner.spans()) {
        for (const LinkShare& share : runner.paths()[span.path]) {
            const auto at = std::find(links.begin(), links.end(), share.link);
            if (at != links.end()) {
                auto& of_link = changes[static_cast<std::size_t>(at - links.begin())];
                const std::int64_t load = share.count * span.rate.bits_per_second();
                of_link[span.begin] += load;
                of_link[span.end] -= load;
            }
        }
    }
    std::vector<TraceCounter> counters;
    for (std::size_t i = 0; i < links.size(); ++i) {
        TraceCounter counter{.name = fabric.link_name(links[i]) + " (%)", .values = {{Time{}, 0}}};
        const auto capacity =
            static_cast<double>(fabric.links()[index(links[i])].capacity.bits_per_second());
        std::int64_t load = 0;
        for (const auto& [at, change] : changes[i]) {
            load += change;
            const double percent = 100 * static_cast<double>(load) / capacity;
            if (at == counter.values.back().first) {
                counter.values.back().second = percent;
            } else if (percent != counter.values.back().second) {
                counter.values.emplace_back(at, percent);
            }
        }
        counters.push_back(std::move(counter));
    }
    return counters;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/footprint.h"

#include <algorithm>
#include <map>
#include <utility>

namespace orrery {
namespace {

// Whether the links are equal, with counts in proportion to the numbers of channels.
bool alike(const PartShape& a, const PartShape& b) {
    if (a.divisor != b.divisor || a.footprint.size() != b.footprint.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.footprint.size(); ++i) {
        if (a.footprint[i].link != b.footprint[i].link ||
            std::uint64_t{a.footprint[i].count} * b.multiplicity !=
                std::uint64_t{b.footprint[i].count} * a.multiplicity) {
            return false;
        }
    }
    return true;
}

std::uint64_t hash_of_links(const PartShape& part) {
    std::uint64_t hash = part.footprint.size();
    for (const auto& share : part.footprint) {
        hash = (hash ^ index(share.link)) * 0x100000001b3u;
    }
    return hash;
}

}  // namespace

std::vector<LinkShare> FootprintBuilder::take() {
    std::sort(shares_.begin(), shares_.end(), [](const LinkShare& a, const LinkShare& b) {
        return a.link < b.link;
    });
    std::vector<LinkShare> merged;
    for (const auto& share : shares_) {
        if (!merged.empty() && merged.back().link == share.link) {
            merged.back().count += share.count;
        } else {
            merged.push_back(share);
        }
    }
    shares_.clear();
    broken_ = false;
    return merged;
}

std::vector<PartShape> merged_channels(std::vector<PartShape> parts, bool apart) {
    std::vector<PartShape> merged;
    std::multimap<std::uint64_t, std::size_t> seen;  // by hash of the links
    for (auto& part : parts) {
        for (auto& share : part.footprint) {
            share.count *= part.multiplicity;
        }
        if (apart) {
            merged.push_back(std::move(part));
            continue;
        }
        const std::uint64_t key = hash_of_links(part);
        const auto [first, last] = seen.equal_range(key);
        const auto twin = std::find_if(
            first, last, [&](const auto& entry) { return alike(merged[entry.second], part); });
        if (twin == last) {
            seen.emplace(key, merged.size());
            merged.push_back(std::move(part));
            continue;
        }
        auto& into = merged[twin->second];
        for (std::size_t i = 0; i < part.footprint.size(); ++i) {
            into.footprint[i].count += part.footprint[i].count;
        }
        into.multiplicity += part.multiplicity;
    }
    return merged;
}

}  // namespace orrery

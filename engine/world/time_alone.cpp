// SPDX-License-Identifier: Apache-2.0
#include "engine/world/time_alone.h"

#include <algorithm>
#include <map>
#include <vector>

namespace orrery {

namespace {

using Work = __int128;  // bit * ps

struct Moving {
    std::span<const LinkShare> shares;
    Work remaining = 0;
    std::int64_t cap = 0;
    std::int64_t rate = 0;
    bool frozen = false;
};

struct LinkLoad {
    std::int64_t left = 0;
    std::int64_t free_count = 0;
};

void allocate(std::vector<Moving>& moving, std::span<const LinkInfo> links) {
    std::map<LinkId, LinkLoad> loads;
    for (Moving& part : moving) {
        part.frozen = false;
        for (const LinkShare& share : part.shares) {
            LinkLoad& load = loads[share.link];
            load.left = links[index(share.link)].capacity.bits_per_second();
            load.free_count += share.count;
        }
    }
    std::size_t free_parts = moving.size();
    while (free_parts > 0) {
        std::int64_t lowest = INT64_MAX;
        for (const auto& [link, load] : loads) {
            if (load.free_count > 0) {
                lowest = std::min(lowest, load.left / load.free_count);
            }
        }
        for (const Moving& part : moving) {
            lowest = part.frozen ? lowest : std::min(lowest, part.cap);
        }
        std::vector<Moving*> binding;
        for (Moving& part : moving) {
            if (part.frozen) {
                continue;
            }
            const bool binds =
                std::any_of(part.shares.begin(), part.shares.end(), [&](const LinkShare& share) {
                    const LinkLoad& load = loads[share.link];
                    return load.left / load.free_count == lowest;
                });
            if (part.cap == lowest || binds) {
                binding.push_back(&part);
            }
        }
        for (Moving* part : binding) {
            part->frozen = true;
            part->rate = lowest;
            for (const LinkShare& share : part->shares) {
                LinkLoad& load = loads[share.link];
                load.left -= lowest * static_cast<std::int64_t>(share.count);
                load.free_count -= share.count;
            }
        }
        free_parts -= binding.size();
    }
}

// Whether the parts share no link, or only links with enough capacity for the caps of all.
bool independent(const std::vector<Moving>& moving, std::span<const LinkInfo> links) {
    if (moving.size() < 2) {
        return true;
    }
    std::vector<std::pair<LinkId, std::int64_t>> loads;
    for (const Moving& part : moving) {
        for (const LinkShare& share : part.shares) {
            loads.emplace_back(share.link, (part.cap + 1) * static_cast<std::int64_t>(share.count));
        }
    }
    std::sort(loads.begin(), loads.end());
    for (std::size_t i = 0; i < loads.size();) {
        const std::size_t first = i;
        std::int64_t sum = 0;
        for (; i < loads.size() && loads[i].first == loads[first].first; ++i) {
            sum += loads[i].second;
        }
        if (i - first > 1 && sum > links[index(loads[first].first)].capacity.bits_per_second()) {
            return false;
        }
    }
    return true;
}

}  // namespace

Time time_alone(const Transfers& transfers,
                const Phase& phase,
                std::span<const LinkInfo> links,
                bool contention) {
    std::vector<Moving> moving;
    Time longest;
    for (std::uint32_t p = 0; p < phase.num_parts; ++p) {
        const Part& part = transfers.parts[phase.first_part + p];
        if (part.bytes > Bytes{}) {
            moving.push_back(
                {.shares = transfers.shares_of(part),
                 .remaining = static_cast<Work>(part.bytes.count()) * 8 * 1'000'000'000'000,
                 .cap = part.rate_max.bits_per_second()});
            longest = std::max(longest, part.bytes / part.rate_max);
        }
    }
    if (!contention || longest == Time::max() || independent(moving, links)) {
        return longest;
    }
    Time now;
    while (!moving.empty()) {
        allocate(moving, links);
        Work step = -1;
        for (const Moving& part : moving) {
            if (part.rate > 0) {
                const Work end = (part.remaining + part.rate - 1) / part.rate;
                step = step < 0 ? end : std::min(step, end);
            }
        }
        if (step < 0 || step > Time::max().picoseconds() - now.picoseconds()) {
            return Time::max();
        }
        now += Time::picoseconds(static_cast<std::int64_t>(step));
        for (Moving& part : moving) {
            part.remaining -= step * part.rate;
        }
        std::erase_if(moving, [](const Moving& part) { return part.remaining <= 0; });
    }
    return now;
}

void time_messages_alone(const NetworkModel& network, Transfers& transfers) {
    const bool contention = network.has_contention();
    for (ConnectionMessage& message : transfers.messages) {
        message.uncontended = true;
        for (std::uint32_t i = 0; i < message.num_phases; ++i) {
            const Phase& phase = transfers.phases[message.first_phase + i];
            const Time flow = time_alone(transfers, phase, network.links(), contention);
            message.uncontended_time =
                message.uncontended_time == Time::max() || flow == Time::max()
                    ? Time::max()
                    : message.uncontended_time + phase.latency + flow;
            for (std::uint32_t p = 0; contention && p < phase.num_parts; ++p) {
                const Part& part = transfers.parts[phase.first_part + p];
                message.uncontended = message.uncontended && part.num_shares == 0;
            }
        }
    }
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/search/stage_prices.h"

#include "engine/world/rate_alone.h"

namespace orrery {

FixedTransfer StagePrices::price(const TransferPlan& plan) const {
    return {.alone = time_without_contention(plan, network_.links()), .sms = plan.sms};
}

// Two groups with equal loads take equally long for any number of bytes on this way.
bool StagePrices::same_load(const TransferPlan& a, const TransferPlan& b) const {
    if (a.sms != b.sms || a.phases.size() != b.phases.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.phases.size(); ++i) {
        const TransferPhase& x = a.phases[i];
        const TransferPhase& y = b.phases[i];
        if (x.latency != y.latency || x.parts.size() != y.parts.size()) {
            return false;
        }
        for (std::size_t p = 0; p < x.parts.size(); ++p) {
            if (x.parts[p].bytes != y.parts[p].bytes ||
                x.parts[p].rate_max != y.parts[p].rate_max ||
                rate_alone(x.parts[p].footprint, {}, network_.links()) !=
                    rate_alone(y.parts[p].footprint, {}, network_.links())) {
                return false;
            }
        }
    }
    return true;
}

StagePrices::Geometry StagePrices::geometry_of(const Group& group) const {
    Geometry geometry{mesh_.num_ranks()};
    for (std::uint32_t digit = 0; digit < mesh_.digits().size(); ++digit) {
        if ((group.digits >> digit & 1U) == 0 || mesh_.size(digit) == 1) {
            continue;
        }
        geometry.push_back(mesh_.stride(digit));
        geometry.push_back(mesh_.size(digit));
        const bool cut = !group.subset.empty() && digit == group.subset_digit;
        geometry.push_back(cut ? static_cast<std::uint32_t>(group.subset.size()) : 0);
        if (cut) {
            geometry.insert(geometry.end(), group.subset.begin(), group.subset.end());
        }
    }
    return geometry;
}

// Whether the rank is the first member of its group.
bool StagePrices::leads(RankId rank, const Group& group) const {
    for (std::uint32_t digit = 0; digit < mesh_.digits().size(); ++digit) {
        const bool cut = !group.subset.empty() && digit == group.subset_digit;
        const std::uint32_t first = cut ? std::ranges::min(group.subset) : 0;
        if ((group.digits >> digit & 1U) != 0 && mesh_.coordinate(rank, digit) != first) {
            return false;
        }
    }
    return true;
}

bool StagePrices::all_alike(const CollectiveCall& call,
                            const Group& group,
                            const TransferPlan& first) const {
    for (std::uint32_t r = 0; r < mesh_.num_ranks(); ++r) {
        const RankId rank{r};
        if (leads(rank, group) &&
            !same_load(first, network_.plan(call, mesh_.members(group, rank)))) {
            return false;
        }
    }
    return true;
}

std::optional<FixedTransfer> StagePrices::collective(const CollectiveCall& call,
                                                     const Group& group) {
    if (!group.subset.empty()) {
        return ask_collective(call, group);
    }
    const auto [found, fresh] = own_collectives_.try_emplace(
        {group.digits, call.kind, call.communicator, call.wire, call.mover, call.bytes.count()});
    if (fresh) {
        found->second = ask_collective(call, group);
    }
    return found->second;
}

std::optional<FixedTransfer> StagePrices::ask_collective(const CollectiveCall& call,
                                                         const Group& group) {
    if (mesh_.group_size(group) < 2) {
        return FixedTransfer{};
    }
    const Kind kind{geometry_of(group), call.kind, call.communicator, call.wire, call.mover};
    const auto [found, fresh] = known_->collectives.try_emplace({kind, call.bytes.count()});
    if (fresh) {
        const TransferPlan plan = network_.plan(call, mesh_.members(group, RankId{}));
        const auto [way, unknown] =
            known_->alike.try_emplace({kind, plan.algorithm, plan.protocol, plan.channels}, false);
        if (unknown) {
            way->second = all_alike(call, group, plan);
        }
        if (way->second) {
            found->second = price(plan);
        }
    }
    return found->second;
}

std::vector<RankId> StagePrices::senders(std::uint32_t digit, int from) const {
    std::vector<RankId> ranks;
    for (std::uint32_t r = 0; r < mesh_.num_ranks(); ++r) {
        const RankId rank{r};
        if (from < 0 || mesh_.coordinate(rank, digit) == static_cast<std::uint32_t>(from)) {
            ranks.push_back(rank);
        }
    }
    return ranks;
}

std::optional<FixedTransfer> StagePrices::send(std::uint32_t digit,
                                               int delta,
                                               Bytes bytes,
                                               int from) {
    const auto [found, fresh] = own_sends_.try_emplace({digit, delta, from, bytes.count()});
    if (fresh) {
        found->second = ask_send(digit, delta, bytes, from);
    }
    return found->second;
}

std::optional<FixedTransfer> StagePrices::ask_send(std::uint32_t digit,
                                                   int delta,
                                                   Bytes bytes,
                                                   int from) {
    const Hop hop{{mesh_.num_ranks(), mesh_.stride(digit), mesh_.size(digit)}, delta, from};
    const auto [found, fresh] = known_->sends.try_emplace({hop, bytes.count()});
    if (!fresh) {
        return found->second;
    }
    const auto plan_of = [&](RankId rank) {
        return network_.plan(SendCall{.bytes = bytes, .ranks = mesh_.size(digit)},
                             std::array{rank, mesh_.shifted(rank, digit, delta)});
    };
    const std::vector<RankId> ranks = senders(digit, from);
    const TransferPlan first = plan_of(ranks.front());
    const auto [way, unknown] =
        known_->hops_alike.try_emplace({hop, first.protocol, first.channels}, false);
    if (unknown) {
        way->second = std::ranges::all_of(
            ranks, [&](RankId rank) { return same_load(first, plan_of(rank)); });
    }
    if (way->second) {
        found->second = price(first);
    }
    return found->second;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "network/fabric/cable_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "network/fabric/nic_name.h"

namespace orrery {
namespace {

constexpr std::size_t kSwitchesMax = 4'096;  // tables of distances grow with its square
constexpr std::size_t kErrorsMax = 20;

std::uint32_t root_of(std::vector<std::uint32_t>& parent, std::uint32_t at) {
    while (parent[at] != at) {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    return at;
}

}  // namespace

ResultOrErrors<std::shared_ptr<const CableList>> CableList::make(
    const std::vector<NamedCable>& cables,
    const std::string& source,
    std::uint32_t num_nodes,
    std::uint32_t nics_per_node) {
    const auto list = std::shared_ptr<CableList>(new CableList);
    list->num_nodes_ = num_nodes;
    list->nics_per_node_ = nics_per_node;
    list->nic_cables_.resize(std::size_t{num_nodes} * nics_per_node);
    Errors errors = list->add(cables);
    if (errors.empty()) {
        errors = list->check(source);
    }
    if (!errors.empty()) {
        errors.resize(std::min(errors.size(), kErrorsMax));
        return unexpected<Errors>(std::move(errors));
    }
    return std::shared_ptr<const CableList>(list);
}

Errors CableList::add(const std::vector<NamedCable>& cables) {
    Errors errors;
    std::map<std::string, std::uint32_t, std::less<>> numbers;
    const auto switch_of = [&](const std::string& name) {
        const auto [known, added] =
            numbers.emplace(name, static_cast<std::uint32_t>(switches_.size()));
        if (added) {
            switches_.push_back(name);
        }
        return known->second;
    };
    for (const NamedCable& cable : cables) {
        auto nic = nic_of_name(cable.from);
        const auto other = nic_of_name(cable.to);
        if (cable.from.empty() || cable.to.empty()) {
            errors.push_back({cable.where, "a cable has two ends", "from and to"});
        } else if (nic && other) {
            errors.push_back({cable.where,
                              fmt::format("'{}' and '{}' are both NICs", cable.from, cable.to),
                              "a NIC's cable leads to a switch"});
        } else if (cable.bandwidth <= Bandwidth{}) {
            errors.push_back({cable.where, "a cable's bandwidth must not be zero", "400 Gbps"});
        } else if (nic || other) {
            const NicPort port = nic ? *nic : *other;
            if (port.node >= num_nodes_ || port.nic >= nics_per_node_) {
                errors.push_back(
                    {cable.where,
                     fmt::format("the cluster has no NIC '{}'", nic ? cable.from : cable.to),
                     fmt::format(
                         "{} nodes of {} NICs, numbered from 0", num_nodes_, nics_per_node_)});
                continue;
            }
            const std::uint32_t number = port.node * nics_per_node_ + port.nic;
            if (nic_cables_[number].bandwidth > Bandwidth{}) {
                errors.push_back({cable.where,
                                  fmt::format("'{}' has two cables", nic ? cable.from : cable.to),
                                  "a NIC has one"});
                continue;
            }
            nic_cables_[number] = {
                number, switch_of(nic ? cable.to : cable.from), cable.bandwidth, cable.latency};
        } else if (cable.from == cable.to) {
            errors.push_back({cable.where,
                              fmt::format("a cable leads from '{}' to itself", cable.from),
                              "from one switch to another"});
        } else {
            const std::uint32_t a = switch_of(cable.from);
            const std::uint32_t b = switch_of(cable.to);
            switch_cables_.push_back({a, b, cable.bandwidth, cable.latency});
        }
    }
    return errors;
}

Errors CableList::check(const std::string& source) const {
    Errors errors;
    const auto name = [&](std::size_t nic) {
        return fmt::format("node {} nic {}", nic / nics_per_node_, nic % nics_per_node_);
    };
    if (switches_.size() > kSwitchesMax) {
        errors.push_back(
            {source,
             fmt::format("{} switches are too many", switches_.size()),
             fmt::format("at most {} in a list; clos and rail take more", kSwitchesMax)});
        return errors;
    }
    for (std::size_t nic = 0; nic < nic_cables_.size(); ++nic) {
        if (nic_cables_[nic].bandwidth <= Bandwidth{}) {
            errors.push_back({source,
                              fmt::format("'{}' has no cable", name(nic)),
                              fmt::format("{}, leaf 0, 400 Gbps", name(nic))});
        }
    }
    if (!errors.empty()) {
        return errors;
    }
    std::vector<std::uint32_t> parent(switches_.size());
    std::iota(parent.begin(), parent.end(), 0U);
    for (const Cable& cable : switch_cables_) {
        parent[root_of(parent, cable.a)] = root_of(parent, cable.b);
    }
    for (std::size_t nic = 1; nic < nic_cables_.size(); ++nic) {
        if (root_of(parent, nic_cables_[nic].b) != root_of(parent, nic_cables_[0].b)) {
            errors.push_back({source,
                              fmt::format("no cables lead from '{}' to '{}'", name(0), name(nic)),
                              "every NIC must reach every other one"});
            return errors;
        }
    }
    return errors;
}

Bandwidth CableList::slowest_nic() const {
    Bandwidth slowest = nic_cables_.front().bandwidth;
    for (const Cable& cable : nic_cables_) {
        slowest = std::min(slowest, cable.bandwidth);
    }
    return slowest;
}

}  // namespace orrery

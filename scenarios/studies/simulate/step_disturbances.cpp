// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/step_disturbances.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "scenarios/format/document/wall_time_text.h"
#include "scenarios/format/specs/cluster_shape.h"
#include "scenarios/studies/network/link_events.h"

namespace orrery {
namespace {

enum class Effect : std::uint8_t { none, slows_device, loses_device, slows_link, cuts_link };

Effect effect_of(FaultKind kind) {
    switch (kind) {
        case FaultKind::nic_down:
        case FaultKind::link_flap:
            return Effect::cuts_link;
        case FaultKind::switch_down:
            return Effect::none;
        default:
            break;
    }
    if (slows_gpus(kind)) {
        return Effect::slows_device;
    }
    if (slows_adapters(kind)) {
        return Effect::slows_link;
    }
    const FaultKindInfo& known = info(kind);
    return known.effect == FaultEffect::stop && known.on_node() ? Effect::loses_device
                                                                : Effect::none;
}

double factor_of(const StepFault& fault) {
    return fault.factor > 0 ? fault.factor : info(fault.kind).slowdown;
}

Time time_of(WallTime time) {
    return Time::picoseconds(time.microseconds() * 1'000'000);
}

// Whether the fault is at this GPU.
bool stands_at(const StepFault& fault,
               const FaultEvent& place,
               std::uint32_t gpu,
               std::uint32_t per_node) {
    if (fault.at.scope == Scope::gpu) {
        return fault.at.index == gpu;
    }
    const std::uint32_t node = gpu / per_node;
    return node >= place.nodes.first && node < place.nodes.first + place.nodes.count;
}

class Disturbances {
public:
    Disturbances(const Scenario& scenario, const Fabric& fabric, Time begin, DeviceClasses& classes)
        : scenario_(scenario),
          fabric_(fabric),
          begin_(begin),
          classes_(classes),
          places_(places_of(scenario.faults.in_step, scenario)) {}

    Result<StepEvents> make() {
        const std::vector<StepFault>& faults = scenario_.faults.in_step;
        for (std::size_t f = 0; f < faults.size(); ++f) {
            const Effect effect = effect_of(faults[f].kind);
            if (effect == Effect::none) {
                return fail("faults",
                            fmt::format("{} does not happen in the middle of a simulated step",
                                        name(faults[f].kind)),
                            "a slow or lost GPU or node, slow_nic, nic_down or link_flap");
            }
            if (effect == Effect::slows_link || effect == Effect::cuts_link) {
                if (Result<void> done = disturb_links(f, effect); !done) {
                    return unexpected<Error>(done.error());
                }
            }
        }
        disturb_devices();
        std::sort(events_.devices.begin(),
                  events_.devices.end(),
                  [](const DeviceChange& a, const DeviceChange& b) { return a.at < b.at; });
        return std::move(events_);
    }

private:
    Time start_of(const StepFault& fault) const { return begin_ + time_of(fault.time); }
    Time end_of(const StepFault& fault) const {
        return fault.duration > WallTime{} ? start_of(fault) + time_of(fault.duration)
                                           : Time::max();
    }

    // --- devices ---

    // Ranks of one class with the same faults stay in one class.
    void disturb_devices() {
        const auto ranks = fabric_.num_ranks();
        const std::uint32_t per_node = scenario_.cluster.gpus_per_server();
        if (classes_.of_rank.empty()) {
            classes_.of_rank.assign(ranks, 0);
        }
        std::map<std::pair<std::uint16_t, std::vector<std::size_t>>, std::uint16_t> apart;
        for (std::uint32_t r = 0; r < classes_.of_rank.size(); ++r) {
            std::vector<std::size_t> own;
            for (std::size_t f = 0; f < places_.size(); ++f) {
                const StepFault& fault = scenario_.faults.in_step[f];
                const Effect effect = effect_of(fault.kind);
                const bool device =
                    effect == Effect::slows_device || effect == Effect::loses_device;
                if (device && stands_at(fault, places_[f], gpu_of(r), per_node)) {
                    own.push_back(f);
                }
            }
            if (own.empty()) {
                continue;
            }
            const std::uint16_t base = classes_.of_rank[r];
            const auto [found, fresh] = apart.try_emplace({base, own}, next_class());
            if (fresh) {
                add_class(base, 1);
                change(found->second, base, own);
            }
            classes_.of_rank[r] = found->second;
        }
    }

    std::uint32_t gpu_of(std::uint32_t rank) const { return fabric_.gpu_of(to_id<RankId>(rank)); }
    std::uint16_t next_class() const { return static_cast<std::uint16_t>(classes_.devices.size()); }
    std::uint16_t add_class(std::uint16_t like, double factor) {
        classes_.devices.push_back(slower(classes_.devices[like], factor));
        return static_cast<std::uint16_t>(classes_.devices.size() - 1);
    }

    // Adds the changes of a device at the begin and end of its faults: the worst present fault
    // counts.
    void change(std::uint16_t device, std::uint16_t base, const std::vector<std::size_t>& own) {
        std::set<Time> times;
        for (const std::size_t f : own) {
            times.insert(start_of(scenario_.faults.in_step[f]));
            times.insert(end_of(scenario_.faults.in_step[f]));
        }
        times.erase(Time::max());
        std::map<double, std::uint16_t> paces{{1.0, device}};
        for (const Time at : times) {
            double factor = 1;
            bool lost = false;
            for (const std::size_t f : own) {
                const StepFault& fault = scenario_.faults.in_step[f];
                const bool loses = effect_of(fault.kind) == Effect::loses_device;
                lost = lost || (loses && start_of(fault) <= at);
                if (!loses && start_of(fault) <= at && at < end_of(fault)) {
                    factor = std::max(factor, factor_of(fault));
                }
            }
            if (lost) {
                events_.devices.push_back({.at = at, .device = device, .becomes = kLostDevice});
                return;
            }
            const auto [pace, fresh] = paces.try_emplace(factor, next_class());
            if (fresh) {
                add_class(base, factor);
            }
            events_.devices.push_back({.at = at, .device = device, .becomes = pace->second});
        }
    }

    // --- links ---

    Result<std::vector<LinkId>> links_of(std::size_t f) const {
        const StepFault& fault = scenario_.faults.in_step[f];
        std::vector<LinkId> links;
        if (!fault.link.empty()) {
            LinkEvent event;
            event.link = fault.link;
            event.where = "faults";
            const auto both = link_changes(fabric_, {event});
            if (!both) {
                return unexpected<Error>(both.error());
            }
            for (const LinkChange& one : *both) {
                links.push_back(one.link);
            }
            return links;
        }
        const std::uint32_t per_node = std::max(1U, scenario_.cluster.fabric.nics_per_node);
        const std::uint32_t own = std::max(1U, scenario_.cluster.nics_per_server());
        NodeRange nics{places_[f].nodes.first * own, places_[f].nodes.count * own};
        if (fault.at.scope == Scope::nic) {
            nics = {fault.at.index, 1};
        }
        for (std::uint32_t n = nics.first; n < nics.first + nics.count; ++n) {
            const NicPort port{.node = n / per_node, .nic = n % per_node};
            links.push_back(fabric_.nic_out(port));
            links.push_back(fabric_.nic_in(port));
        }
        return links;
    }

    Result<void> disturb_links(std::size_t f, Effect effect) {
        const StepFault& fault = scenario_.faults.in_step[f];
        if (scenario_.cluster.num_nodes < 2) {
            return fail("faults",
                        fmt::format("{} on one node: its adapters carry nothing", name(fault.kind)),
                        "two nodes or more");
        }
        if (scenario_.network != NetworkFidelity::fluid) {
            return fail("faults",
                        fmt::format("{} in the middle of a step needs links that are shared",
                                    name(fault.kind)),
                        "network: fluid");
        }
        auto links = links_of(f);
        if (!links) {
            return unexpected<Error>(links.error());
        }
        if (effect == Effect::slows_link) {
            for (const LinkId link : *links) {
                const Bandwidth full = fabric_.links()[index(link)].capacity;
                const auto left = static_cast<std::int64_t>(
                    static_cast<double>(full.bits_per_second()) / factor_of(fault));
                events_.capacities.push_back(
                    {start_of(fault),
                     link,
                     Bandwidth::bits_per_second(std::max<std::int64_t>(1, left))});
                if (end_of(fault) < Time::max()) {
                    events_.capacities.push_back({end_of(fault), link, full});
                }
            }
            return {};
        }
        LinkOutages& outages = events_.outages;
        if (outages.list.size() == kOutagesMost) {
            return fail("faults",
                        fmt::format("links are out of order {} times in one step", kOutagesMost),
                        "fewer of link_flap and nic_down");
        }
        outages.list.push_back(
            {.at = start_of(fault), .end = end_of(fault), .links = std::move(*links)});
        outages.convergence = scenario_.network_settings.convergence;
        outages.timer = Time::seconds(
            4.096e-6 * std::ldexp(1.0, static_cast<int>(scenario_.campaign.flap_timeout)));
        outages.retries = scenario_.campaign.flap_retries;
        return {};
    }

    const Scenario& scenario_;
    const Fabric& fabric_;
    Time begin_;
    DeviceClasses& classes_;
    std::vector<FaultEvent> places_;
    StepEvents events_;
};

}  // namespace

StepHang hang_of(const Hang& hang, Time begin, const Scenario& scenario) {
    StepHang told{
        .lost = hang.lost,
        .timeout = Time::seconds(scenario.campaign.detection.collective_timeout.seconds()),
        .groups = {}};
    for (const StuckOperation& stuck : hang.operations) {
        const StuckGroup group{.operation = stuck.operation,
                               .group = stuck.group,
                               .since = stuck.since - begin,
                               .waiting = stuck.waiting,
                               .missing = stuck.missing};
        if (told.groups.empty() || !(told.groups.back() == group)) {  // messages repeat it
            told.groups.push_back(group);
        }
    }
    return told;
}

std::vector<FaultEvent> places_of(const std::vector<StepFault>& faults, const Scenario& scenario) {
    const ClusterShape shape = cluster_shape(scenario.cluster, scenario.campaign);
    std::vector<FaultEvent> places;
    for (const StepFault& fault : faults) {
        FaultEvent place;
        place.kind = fault.kind;
        place.at = fault.at;
        place.nodes = fault.link.empty() ? nodes_of(shape, fault.at) : NodeRange{};
        places.push_back(place);
    }
    return places;
}

std::vector<std::string> fault_lines(const std::vector<StepFault>& faults,
                                     const Scenario& scenario) {
    const ClusterShape shape = cluster_shape(scenario.cluster, scenario.campaign);
    std::vector<std::string> lines;
    for (const StepFault& fault : faults) {
        const Effect effect = effect_of(fault.kind);
        const bool slows = effect == Effect::slows_device || effect == Effect::slows_link;
        lines.push_back(fmt::format(
            "{} at {}{}, {} into the step{}",
            name(fault.kind),
            fault.link.empty() ? to_text(shape, fault.at) : fault.link,
            slows ? fmt::format(", {:g} times as slow", factor_of(fault)) : "",
            to_short_text(fault.time),
            fault.duration > WallTime{} ? ", for " + to_short_text(fault.duration) : ""));
    }
    return lines;
}

Result<StepEvents> step_events(const Scenario& scenario,
                               const Fabric& fabric,
                               Time begin,
                               DeviceClasses& classes) {
    return Disturbances{scenario, fabric, begin, classes}.make();
}

}  // namespace orrery

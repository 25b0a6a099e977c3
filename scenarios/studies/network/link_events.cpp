// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/link_events.h"

#include <fmt/format.h>

#include <algorithm>

#include "scenarios/format/document/nearest.h"

namespace orrery {
namespace {

constexpr std::size_t kNamesSuggestedFrom = 20'000;  // with more names the search takes too long

std::optional<LinkId> reverse_of(const Fabric& fabric, LinkId link) {
    const LinkEnds& ends = fabric.link_ends()[index(link)];
    // The two directions of a cable have neighbouring numbers. Parallel cables have equal ends.
    for (const std::size_t other : {index(link) ^ 1U, index(link) + 1, index(link) - 1}) {
        if (other < fabric.links().size() &&
            fabric.link_ends()[other] == LinkEnds{ends.to, ends.from}) {
            return to_id<LinkId>(other);
        }
    }
    return std::nullopt;
}

std::string hint_for(const Fabric& fabric, const std::string& link) {
    std::vector<std::string> names;
    for (std::size_t l = 0; l < std::min(fabric.links().size(), kNamesSuggestedFrom); ++l) {
        names.push_back(fabric.link_name(to_id<LinkId>(l)));
    }
    const auto near = nearest_names(link, names, 1);
    return near.empty() ? fmt::format("a link is named like '{}'", names.back())
                        : fmt::format("did you mean '{}'?", near[0]);
}

}  // namespace

Result<std::vector<LinkChange>> link_changes(const Fabric& fabric,
                                             const std::vector<LinkEvent>& events) {
    std::vector<LinkChange> changes;
    for (const LinkEvent& event : events) {
        if (!event.nic.empty()) {
            return fail(
                event.where, "only packets are paused", "fidelity: packet, or the state of a link");
        }
        const auto link = fabric.find_link(event.link);
        if (!link) {
            return fail(event.where,
                        fmt::format("the fabric has no link '{}'", event.link),
                        hint_for(fabric, event.link));
        }
        std::vector<LinkId> both = {*link};
        if (const auto back = reverse_of(fabric, *link); back && !event.one_way) {
            both.push_back(*back);
        }
        for (const LinkId each : both) {
            const Bandwidth own = fabric.links()[index(each)].capacity;
            changes.push_back({.at = event.at,
                               .link = each,
                               .capacity = event.restores ? own : std::min(own, event.bandwidth)});
        }
    }
    return changes;
}

}  // namespace orrery

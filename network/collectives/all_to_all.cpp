// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/all_to_all.h"

#include <vector>

namespace orrery {

namespace {

// False if a flow has no path.
template <class Visit>
bool for_each_flow(const Fabric& fabric,
                   const GroupLayout& layout,
                   std::uint64_t purpose,
                   Connections* connections,
                   Visit visit) {
    std::vector<RankId> ranks;
    for (const auto& node : layout.nodes()) {
        ranks.insert(ranks.end(), node.gpus.begin(), node.gpus.end());
    }
    Path path;
    bool all_found = true;
    for (const RankId from : ranks) {
        for (const RankId to : ranks) {
            if (from == to) {
                continue;
            }
            path.clear();
            const std::uint64_t label = flow_label(from, to, 0, purpose);
            const LinkState state = connections != nullptr ? connections->state() : LinkState{};
            const bool found = fabric.route_pxn(from, to, label, path, state);
            all_found = all_found && found;
            if (connections != nullptr && fabric.node_of(from) != fabric.node_of(to)) {
                connections->opened(
                    fabric.way_out(from, to).nic, fabric.nic_of(to), label, 0, path);
            }
            visit(path);
        }
    }
    return all_found;
}

}  // namespace

std::vector<PartShape> all_to_all_parts(const Fabric& fabric,
                                        const GroupLayout& layout,
                                        std::uint64_t purpose,
                                        Connections* connections) {
    PartShape part{
        .broken = false, .footprint = {}, .divisor = layout.num_ranks(), .multiplicity = 1};
    constexpr std::uint32_t kManyRanks = 64;
    const bool numbered = connections != nullptr && connections->numbered();
    if (layout.num_ranks() <= kManyRanks || numbered) {
        FootprintBuilder builder;
        part.broken = !for_each_flow(
            fabric, layout, purpose, connections, [&](const Path& path) { builder.add(path, 1); });
        part.footprint = builder.take();
        return {part};
    }
    // There are many more flows than links, so that they are counted per link.
    std::vector<std::uint32_t> flows(fabric.links().size(), 0);
    part.broken = !for_each_flow(fabric, layout, purpose, connections, [&](const Path& path) {
        for (const LinkId link : path.links) {
            flows[index(link)] += 1;
        }
    });
    for (std::size_t link = 0; link < flows.size(); ++link) {
        if (flows[link] > 0) {
            part.footprint.push_back({to_id<LinkId>(link), flows[link]});
        }
    }
    return {part};
}

}  // namespace orrery

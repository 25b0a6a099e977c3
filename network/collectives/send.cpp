// SPDX-License-Identifier: Apache-2.0
#include "network/collectives/send.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"
#include "network/collectives/channel_router.h"

namespace orrery {
namespace {

// no communicator of collectives has this number
constexpr std::uint64_t kPurpose = 1u << 20;

// The links outside the switches, and the message's NICs.
struct Ends {
    Path path;
    NicPort out;
    NicPort in;
};

Ends ends_of(const Fabric& fabric, RankId from, RankId to) {
    Ends ends;
    ends.in = fabric.nic_towards(to, from);
    const Fabric::WayOut way = fabric.way_out(from, to);
    ends.out = way.nic;
    fabric.way_to_nic(from, way, ends.path);
    fabric.nic_to_gpu(ends.in.nic, to, ends.path);
    return ends;
}

}  // namespace

std::vector<PartShape> send_parts(const Fabric& fabric,
                                  RankId from,
                                  RankId to,
                                  std::uint32_t channels,
                                  Connections* connections) {
    ORRERY_CHECK(from != to && channels > 0);
    FootprintBuilder builder;
    if (fabric.node_of(from) == fabric.node_of(to)) {
        Path path;
        fabric.gpu_to_gpu(from, to, path);
        builder.add(path, 1);
        return {{.footprint = builder.take(), .divisor = 1, .multiplicity = 1}};
    }
    const Ends ends = ends_of(fabric, from, to);
    const bool choice = fabric.num_paths(ends.out, ends.in) > 1;
    const std::uint32_t queue_pairs = choice ? std::max(1u, fabric.queue_pairs_apart()) : 1;
    std::vector<PartShape> parts;
    Path path;
    for (std::uint32_t channel = 0; channel < channels; ++channel) {
        const std::uint64_t label = flow_label(from, to, channel, kPurpose);
        for (std::uint32_t qp = 0; qp < queue_pairs; ++qp) {
            path.clear();
            const LinkState state = connections != nullptr ? connections->state() : LinkState{};
            if (!fabric.route_nics(ends.out, ends.in, label, path, qp, state)) {
                builder.add_broken();
            }
            if (connections != nullptr) {
                connections->opened(ends.out, ends.in, label, qp, path);
            }
            builder.add(ends.path, 1);
            builder.add(path, 1);
            parts.push_back({.broken = builder.broken(),
                             .footprint = builder.take(),
                             .divisor = std::int64_t{channels} * queue_pairs,
                             .multiplicity = 1});
        }
    }
    const bool apart = connections != nullptr && connections->around_dead_links();
    return merged_channels(std::move(parts), apart);
}

}  // namespace orrery

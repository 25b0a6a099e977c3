// SPDX-License-Identifier: Apache-2.0
// Long-lived connections under adaptive routing: each new one takes the path with the fewest
// connections when it is opened. Other routings need no state, with two exceptions. If switches
// know of failed links, connections take paths around them. And if connections are numbered, each
// is also a link in its transfer's footprint.
#pragma once

#include <cstdint>
#include <vector>

#include "network/collectives/connection_table.h"
#include "network/fabric/fabric.h"

namespace orrery {

class Connections {
public:
    explicit Connections(const Fabric& fabric, ConnectionTable* numbers = nullptr)
        : numbers_(numbers) {
        if (fabric.spec().fabric.routing == RoutingKind::adaptive) {
            load_.resize(fabric.links().size(), 0);
        }
    }
    // All connections of one call at one moment; other calls do not count.
    explicit Connections(const LinkState& now) : now_(now), around_(true) {}
    bool adaptive() const { return !load_.empty(); }
    // Channels keep their numbers (merged_channels()).
    bool around_dead_links() const { return around_; }
    LinkState state() const { return around_ ? now_ : LinkState{.down = {}, .load = load_}; }
    // Records a connection between two nodes. If connections are numbered, appends its link to the
    // path.
    void opened(
        NicPort from, NicPort to, std::uint64_t label, std::uint32_t queue_pair, Path& path) {
        if (adaptive()) {
            for (const LinkId link : path.links) {
                ++load_[index(link)];
            }
        }
        if (numbers_ != nullptr) {
            path.links.push_back(numbers_->link_of({from, to, label, queue_pair, path.links}));
        }
    }
    bool numbered() const { return numbers_ != nullptr; }

private:
    std::vector<std::uint32_t> load_;
    LinkState now_;
    bool around_ = false;
    ConnectionTable* numbers_ = nullptr;
};

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Long-lived connections that adaptive routing has placed: each new one takes the least loaded
// path, counted in connections, when it is opened. With any other routing there is nothing to
// remember, unless switches know of dead links: then connections are laid anew around them.
#pragma once

#include <cstdint>
#include <vector>

#include "network/fabric.h"

namespace orrery {

class Connections {
public:
    explicit Connections(const Fabric& fabric) {
        if (fabric.spec().fabric.routing == RoutingKind::adaptive) {
            load_.resize(fabric.links().size(), 0);
        }
    }
    // All connections of one call at one moment: no call before or after it counts.
    explicit Connections(const LinkState& now) : now_(now), around_(true) {}
    bool adaptive() const { return !load_.empty(); }
    // Channels keep their numbers (merged_channels).
    bool around_dead_links() const { return around_; }
    LinkState state() const { return around_ ? now_ : LinkState{.down = {}, .load = load_}; }
    void opened(const Path& path) {
        if (adaptive()) {
            for (const LinkId link : path.links) {
                ++load_[index(link)];
            }
        }
    }

private:
    std::vector<std::uint32_t> load_;
    LinkState now_;
    bool around_ = false;
};

}  // namespace orrery

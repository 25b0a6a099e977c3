// SPDX-License-Identifier: Apache-2.0
// Long-lived connections that adaptive routing has placed: each new one takes the least loaded
// path, counted in connections, when it is opened. With any other routing there is nothing to
// remember.
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
    bool adaptive() const { return !load_.empty(); }
    LinkState state() const { return {.down = {}, .load = load_}; }
    void opened(const Path& path) {
        if (adaptive()) {
            for (const LinkId link : path.links) {
                ++load_[index(link)];
            }
        }
    }

private:
    std::vector<std::uint32_t> load_;
};

}  // namespace orrery

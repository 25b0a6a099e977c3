// SPDX-License-Identifier: Apache-2.0
// Numbered connections between NICs. Each is a link of its own, after the fabric's links. The
// packet model needs them, because a footprint alone does not tell which NICs communicate. The
// count of such a link in a footprint is the multiple of the transfer's progress that the
// connection carries.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "network/fabric/path.h"

namespace orrery {

struct NicConnection {
    NicPort from;
    NicPort to;
    std::uint64_t label = 0;
    std::uint32_t queue_pair = 0;
    std::vector<LinkId> links;  // at its opening, possibly including links inside the nodes
};

class ConnectionTable {
public:
    explicit ConnectionTable(std::size_t first_link) : first_link_(first_link) {}

    // The link of a connection. A known connection keeps the links of its opening.
    LinkId link_of(const NicConnection& connection) {
        const Key key{connection.from.node,
                      connection.from.nic,
                      connection.to.node,
                      connection.to.nic,
                      connection.label,
                      connection.queue_pair};
        const auto [known, added] = numbers_.try_emplace(key, connections_.size());
        if (added) {
            connections_.push_back(connection);
        }
        return to_id<LinkId>(first_link_ + known->second);
    }
    std::size_t first_link() const { return first_link_; }
    const std::vector<NicConnection>& connections() const { return connections_; }

private:
    using Key = std::tuple<std::uint32_t,
                           std::uint32_t,
                           std::uint32_t,
                           std::uint32_t,
                           std::uint64_t,
                           std::uint32_t>;
    std::size_t first_link_;
    std::map<Key, std::size_t> numbers_;
    std::vector<NicConnection> connections_;
};

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// A fabric of arbitrary switches whose cables are listed one by one (`fabric.kind: file`). NICs
// have their usual names ("node 3 nic 0"); every other name is a switch. A NIC has one cable. A
// cable is two links of the same bandwidth, one per direction.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/base/units.h"

namespace orrery {

struct NamedCable {
    std::string from;
    std::string to;
    Bandwidth bandwidth;
    Time latency;       // of the cable and the switch at its end
    std::string where;  // its row, for messages
};

class CableList {
public:
    // One cable. For a NIC, `a` is its number in node order; switches have numbers of their own.
    struct Cable {
        std::uint32_t a = 0;
        std::uint32_t b = 0;  // a switch
        Bandwidth bandwidth;
        Time latency;
    };

    // Errors: a NIC that does not exist, has no cable or has two; a cable between NICs, or from a
    // switch to itself; no bandwidth; a NIC that another one cannot reach; too many switches.
    static ResultOrErrors<std::shared_ptr<const CableList>> make(
        const std::vector<NamedCable>& cables,
        const std::string& source,
        std::uint32_t num_nodes,
        std::uint32_t nics_per_node);

    std::uint32_t num_nodes() const { return num_nodes_; }
    std::uint32_t nics_per_node() const { return nics_per_node_; }
    const std::vector<std::string>& switches() const { return switches_; }
    const std::vector<Cable>& nic_cables() const { return nic_cables_; }  // by NIC
    // In the order of the list
    const std::vector<Cable>& switch_cables() const { return switch_cables_; }
    Bandwidth slowest_nic() const;

private:
    CableList() = default;
    Errors add(const std::vector<NamedCable>& cables);
    Errors check(const std::string& source) const;

    std::uint32_t num_nodes_ = 0;
    std::uint32_t nics_per_node_ = 0;
    std::vector<std::string> switches_;
    std::vector<Cable> nic_cables_;
    std::vector<Cable> switch_cables_;
};

}  // namespace orrery

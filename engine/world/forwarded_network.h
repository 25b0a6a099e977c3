// SPDX-License-Identifier: Apache-2.0
// Base of networks that plan some transfers differently from another network, over its links.
#pragma once

#include <span>
#include <string>

#include "engine/program/network_model.h"

namespace orrery {

class ForwardedNetwork : public NetworkModel {
public:
    // `network` must outlive this one.
    explicit ForwardedNetwork(const NetworkModel& network) : network_(network) {}

    std::span<const LinkInfo> links() const final { return network_.links(); }
    std::span<const std::string> link_class_names() const final {
        return network_.link_class_names();
    }
    bool has_contention() const final { return network_.has_contention(); }

protected:
    const NetworkModel& network_;
};

}  // namespace orrery

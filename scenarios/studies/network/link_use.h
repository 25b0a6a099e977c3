// SPDX-License-Identifier: Apache-2.0
// A pattern's use of the links of a fabric: by class of links, of the busiest links, and over time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/fabric/fabric.h"
#include "network/fluid/flow_runner.h"
#include "scenarios/studies/network/network_answer.h"
#include "scenarios/studies/network/network_trace.h"

namespace orrery {

// Most cells for a class of links: the width of a page
inline constexpr std::size_t kHeatCells = 1024;

// Utilisation = bytes / (capacity x duration), with the fabric's capacities.
std::vector<LinkClassUse> use_by_class(const Fabric& fabric,
                                       std::span<const std::int64_t> bytes,
                                       Time duration);
// The most utilised links, at most `most`, in descending order. Unused links are left out.
std::vector<LinkId> busiest_links(const Fabric& fabric,
                                  std::span<const std::int64_t> bytes,
                                  std::size_t most);
// By class; unused classes are left out. If a class has more than `most` links, each value is the
// maximum of neighbouring links, and its link is the first with that value.
std::vector<LinkHeat> heat_by_class(const Fabric& fabric,
                                    std::span<const std::int64_t> bytes,
                                    Time duration,
                                    std::size_t most);
double utilisation(Bandwidth capacity, std::int64_t bytes, Time duration);

// Share of the fabric's capacity in use on each of `links`, from what a FlowRunner recorded.
std::vector<TraceCounter> link_counters(const Fabric& fabric,
                                        const FlowRunner& runner,
                                        std::span<const LinkId> links);

}  // namespace orrery

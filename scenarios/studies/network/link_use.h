// SPDX-License-Identifier: Apache-2.0
// How a pattern used the links of a fabric: per class of links, the busiest ones, and over time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "network/fabric/fabric.h"
#include "network/fluid/flow_runner.h"
#include "scenarios/studies/network/network_answer.h"
#include "scenarios/studies/network/network_trace.h"

namespace orrery {

inline constexpr std::size_t kHeatCells = 1024;  // of a class of links: a page is no wider

// Utilisation = bytes / (capacity x duration), with the capacities of the fabric.
std::vector<LinkClassUse> use_by_class(const Fabric& fabric,
                                       std::span<const std::int64_t> bytes,
                                       Time duration);
// The most utilised first, at most `most`; none that carried nothing.
std::vector<LinkId> busiest_links(const Fabric& fabric,
                                  std::span<const std::int64_t> bytes,
                                  std::size_t most);
// By class, without classes that carried nothing. Of a class with more than `most` links, each
// value is the largest of neighbouring ones, and its link is the first that has it.
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

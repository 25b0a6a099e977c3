// SPDX-License-Identifier: Apache-2.0
// The answer of `orrery network`: times of collectives in the form of nccl-tests, completion times
// of flows, and the use of links.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

// One size of a pattern. GB/s are 1e9 bytes a second. algbw is size / time; busbw is comparable
// with the bandwidth of a link (nccl-tests, PERFORMANCE.md).
struct NetworkRow {
    Bytes size;
    std::int64_t count = 0;  // elements of four bytes
    std::string reduction;   // "sum", or "none"
    std::string algorithm;   // empty: plain flows
    std::string protocol;
    std::uint32_t channels = 0;
    Time time;
    double algbw = 0;
    double busbw = 0;
    double nccl_us = 0;    // NCCL's own estimate; 0: none
    Time measured;         // time from the request's transfers; zero: none
    bool finished = true;  // false: a link stayed down and the pattern gave up
};

// The flows of one size. A slowdown is a completion time over that of the same flow in an empty
// network. Times run from the start to the arrival of the last byte.
struct FlowTimes {
    Bytes size;
    std::size_t flows = 0;
    std::size_t finished = 0;
    std::size_t moved = 0;    // flows that moved to another path
    std::size_t stalled = 0;  // flows that stopped for a while
    Time min;
    Time median;
    Time p99;
    Time max;
    double slowdown_median = 0;
    double slowdown_p99 = 0;
    double slowdown_max = 0;
    Time stalled_max;
};

// Counts of the packet model.
struct PacketCounts {
    Bytes size;
    std::int64_t packets = 0;
    std::int64_t repeated = 0;
    std::int64_t marked = 0;
    std::int64_t trimmed = 0;
    std::int64_t dropped = 0;
    std::int64_t pauses = 0;
    Time paused_max;       // of one port
    Bytes queue_max;       // of one port
    std::string queue_at;  // the port with the longest queue
    std::uint64_t events = 0;
};

struct LinkClassUse {
    std::string link_class;
    std::size_t links = 0;
    std::size_t used = 0;
    double mean = 0;  // utilisation of all links of the class
    double max = 0;
};

// All links of a class, in the fabric's order. Values and links have equal indices.
struct LinkHeat {
    std::string link_class;
    std::vector<double> utilisation;
    std::vector<std::string> links{};
};

struct BusyLink {
    std::string link;
    double utilisation = 0;
    std::int64_t bytes = 0;
    std::uint32_t flows = 0;  // number of flows that crossed it
};

struct NetworkAnswer {
    std::string scenario;
    std::string cluster;  // "8 x dgx-h100, clos"
    std::string pattern;
    std::string fidelity;
    std::string routing;
    std::uint32_t ranks = 0;
    std::vector<NetworkRow> rows;
    std::vector<FlowTimes> flows;  // of flow patterns
    std::vector<PacketCounts> packets;
    // Of the largest size, over its whole time.
    Bytes links_size;
    std::vector<LinkClassUse> classes;
    std::vector<BusyLink> busiest;
    // Of used classes; in a large fabric the maxima of neighbouring links
    std::vector<LinkHeat> heat;
    std::vector<std::string> notes;  // changed links, batches, flows that gave up
    std::int64_t rate_solves = 0;
    double wall_s = 0;
    std::string version;
};

}  // namespace orrery

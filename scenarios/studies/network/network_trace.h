// SPDX-License-Identifier: Apache-2.0
// A picture of traffic over time: a track per flow with slices, and counters of links.
// scenarios/report/trace/perfetto_network.cpp writes it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/base/units.h"

namespace orrery {

struct TraceSlice {
    std::string name;
    Time begin;
    Time end;
};

struct TraceTrack {
    std::string name;
    std::vector<TraceSlice> slices;  // ascending, not overlapping
};

struct TraceCounter {
    std::string name;
    std::vector<std::pair<Time, double>> values;  // ascending; each holds until the next
};

struct NetworkTrace {
    std::string title;
    std::vector<TraceTrack> tracks;
    std::vector<TraceCounter> counters;
};

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Runs a schedule by the clock: each stage works through its order, each pass waits for the pass
// that feeds it on the neighbouring virtual stage; communication takes no time. Slow and plain, so
// that it can judge the schedules: it knows only the data dependencies of a pipeline.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/schedule/schedule.h"

namespace orrery {

// Durations of one chunk's passes; a whole backward takes backward_input + backward_weight.
struct PassTimes {
    std::int64_t forward = 1;
    std::int64_t backward_input = 1;
    std::int64_t backward_weight = 1;
};

struct PipelineRun {
    bool deadlock = false;
    std::int64_t end = 0;
    std::vector<std::int64_t> busy;           // by stage
    std::vector<std::int32_t> in_flight_max;  // (chunk, micro-batch) pairs, by stage
    std::string text;                         // of a deadlock: which stage waits for what
    std::int64_t bubble(std::size_t stage) const { return end - busy[stage]; }
};

using Schedule = StageOrder (*)(const ScheduleShape&, std::int32_t stage);

PipelineRun run_pipeline(Schedule schedule, const ScheduleShape& shape, const PassTimes& times);

// Empty if every stage does each pass of each (chunk, micro-batch) exactly once and in an order
// that it could finish alone: forward before backward, input gradient before weight gradient.
std::string faults_of(Schedule schedule, const ScheduleShape& shape);

// Empty if all stages take the (chunk, micro-batch)s in the same order, forward and backward: then
// messages between two stages never overtake each other.
std::string overtaking_in(Schedule schedule, const ScheduleShape& shape);

// Every shape of up to 7 stages, chunks_max chunks and 17 micro-batches, and some larger ones drawn
// from a fixed seed.
std::vector<ScheduleShape> many_shapes(std::int32_t chunks_max);

// "p=4 v=2 m=8", for messages.
std::string text(const ScheduleShape& shape);

}  // namespace orrery

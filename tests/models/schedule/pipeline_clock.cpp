// SPDX-License-Identifier: Apache-2.0
#include "tests/models/schedule/pipeline_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

namespace orrery {
namespace {

enum class Gradient : std::uint8_t { none, input, weight };
// What is finished: (virtual stage, micro-batch, forward or which gradient) -> when.
using Finished = std::map<std::tuple<std::int32_t, std::int32_t, Gradient>, std::int64_t>;

std::vector<Gradient> produces(Pass pass) {
    switch (pass) {
        case Pass::forward:
            return {Gradient::none};
        case Pass::backward_input:
            return {Gradient::input};
        case Pass::backward_weight:
            return {Gradient::weight};
        default:
            return {Gradient::input, Gradient::weight};
    }
}

std::int64_t duration(Pass pass, const PassTimes& times) {
    switch (pass) {
        case Pass::forward:
            return times.forward;
        case Pass::backward_input:
            return times.backward_input;
        case Pass::backward_weight:
            return times.backward_weight;
        default:
            return times.backward_input + times.backward_weight;
    }
}

// When the inputs of this item are there, or -1 if not yet.
std::int64_t ready_at(const WorkItem& item,
                      std::int32_t virtual_stage,
                      std::int32_t last,
                      const Finished& finished) {
    std::vector<std::tuple<std::int32_t, std::int32_t, Gradient>> needs;
    const std::int32_t mb = item.micro_batch;
    if (item.pass == Pass::forward) {
        if (virtual_stage > 0) {
            needs.emplace_back(virtual_stage - 1, mb, Gradient::none);
        }
    } else if (item.pass == Pass::backward_weight) {
        needs.emplace_back(virtual_stage, mb, Gradient::input);
    } else {
        needs.emplace_back(virtual_stage, mb, Gradient::none);
        if (virtual_stage < last) {
            needs.emplace_back(virtual_stage + 1, mb, Gradient::input);
        }
    }
    std::int64_t when = 0;
    for (const auto& need : needs) {
        const auto found = finished.find(need);
        if (found == finished.end()) {
            return -1;
        }
        when = std::max(when, found->second);
    }
    return when;
}

std::int32_t peak_in_flight(const StageOrder& order) {
    std::int32_t now = 0;
    std::int32_t peak = 0;
    for (const WorkItem& item : order) {
        now += item.pass == Pass::forward ? 1 : item.pass == Pass::backward_input ? 0 : -1;
        peak = std::max(peak, now);
    }
    return peak;
}

}  // namespace

std::string text(const ScheduleShape& shape) {
    return fmt::format("p={} v={} m={}", shape.stages, shape.chunks, shape.micro_batches);
}

PipelineRun run_pipeline(Schedule schedule, const ScheduleShape& shape, const PassTimes& times) {
    const auto stages = static_cast<std::size_t>(shape.stages);
    const std::int32_t last = shape.stages * shape.chunks - 1;
    std::vector<StageOrder> orders;
    PipelineRun run;
    run.busy.resize(stages);
    for (std::int32_t s = 0; s < shape.stages; ++s) {
        orders.push_back(schedule(shape, s));
        run.in_flight_max.push_back(peak_in_flight(orders.back()));
    }
    std::vector<std::size_t> next(stages);
    std::vector<std::int64_t> clock(stages);
    Finished finished;
    for (bool progress = true; progress;) {
        progress = false;
        for (std::size_t s = 0; s < stages; ++s) {
            while (next[s] < orders[s].size()) {
                const WorkItem& item = orders[s][next[s]];
                const std::int32_t at = item.chunk * shape.stages + static_cast<std::int32_t>(s);
                const std::int64_t ready = ready_at(item, at, last, finished);
                if (ready < 0) {
                    break;
                }
                const std::int64_t takes = duration(item.pass, times);
                clock[s] = std::max(clock[s], ready) + takes;
                run.busy[s] += takes;
                for (const Gradient gradient : produces(item.pass)) {
                    finished[{at, item.micro_batch, gradient}] = clock[s];
                }
                ++next[s];
                progress = true;
            }
        }
    }
    for (std::size_t s = 0; s < stages; ++s) {
        run.end = std::max(run.end, clock[s]);
        if (next[s] < orders[s].size()) {
            run.deadlock = true;
            const WorkItem& item = orders[s][next[s]];
            run.text += fmt::format("stage {} waits in {} of chunk {}, micro-batch {}\n",
                                    s,
                                    name(item.pass),
                                    item.chunk,
                                    item.micro_batch);
        }
    }
    return run;
}

std::string faults_of(Schedule schedule, const ScheduleShape& shape) {
    std::string faults;
    for (std::int32_t stage = 0; stage < shape.stages; ++stage) {
        std::map<std::tuple<std::int32_t, std::int32_t, Gradient>, std::int32_t> seen;
        for (const WorkItem& item : schedule(shape, stage)) {
            const auto key = [&](Gradient g) {
                return std::tuple{item.chunk, item.micro_batch, g};
            };
            for (const Gradient gradient : produces(item.pass)) {
                if (++seen[key(gradient)] > 1) {
                    faults += fmt::format("stage {}: {} of ({}, {}) twice\n",
                                          stage,
                                          name(item.pass),
                                          item.chunk,
                                          item.micro_batch);
                }
            }
            const bool needs_forward = item.pass != Pass::forward;
            const bool needs_input = item.pass == Pass::backward_weight;
            if ((needs_forward && seen.count(key(Gradient::none)) == 0) ||
                (needs_input && seen.count(key(Gradient::input)) == 0)) {
                faults += fmt::format("stage {}: {} of ({}, {}) too early\n",
                                      stage,
                                      name(item.pass),
                                      item.chunk,
                                      item.micro_batch);
            }
            if (item.chunk < 0 || item.chunk >= shape.chunks || item.micro_batch < 0 ||
                item.micro_batch >= shape.micro_batches) {
                faults += fmt::format(
                    "stage {}: ({}, {}) does not exist\n", stage, item.chunk, item.micro_batch);
            }
        }
        const auto expected = static_cast<std::size_t>(3 * shape.chunks * shape.micro_batches);
        if (seen.size() != expected) {
            faults += fmt::format("stage {}: {} of {} results\n", stage, seen.size(), expected);
        }
    }
    return faults;
}

std::string overtaking_in(Schedule schedule, const ScheduleShape& shape) {
    const auto passes_of = [&](std::int32_t stage, bool forward) {
        std::vector<std::pair<std::int32_t, std::int32_t>> passes;
        for (const WorkItem& item : schedule(shape, stage)) {
            if (item.pass != Pass::backward_weight && (item.pass == Pass::forward) == forward) {
                passes.emplace_back(item.chunk, item.micro_batch);
            }
        }
        return passes;
    };
    for (std::int32_t stage = 1; stage < shape.stages; ++stage) {
        for (const bool forward : {true, false}) {
            if (passes_of(stage, forward) != passes_of(0, forward)) {
                return fmt::format("stage {} {} in another order than stage 0",
                                   stage,
                                   forward ? "sends" : "returns");
            }
        }
    }
    return {};
}

std::vector<ScheduleShape> many_shapes(std::int32_t chunks_max) {
    std::vector<ScheduleShape> shapes;
    for (std::int32_t p = 1; p <= 7; ++p) {
        for (std::int32_t v = 1; v <= chunks_max; ++v) {
            for (std::int32_t m = 1; m <= 17; ++m) {
                shapes.push_back({.stages = p, .chunks = v, .micro_batches = m});
            }
        }
    }
    std::mt19937 random(20211114);
    const auto draw = [&](std::int32_t max) {
        return 1 + static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(max));
    };
    for (int i = 0; i < 12; ++i) {
        const std::int32_t p = draw(24);
        shapes.push_back({.stages = p, .chunks = draw(chunks_max), .micro_batches = draw(4 * p)});
    }
    return shapes;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The files of a recorded run in one folder. Each rank r has two tables (CSV), with times in
// nanoseconds of rank 0's clock:
//   rank-000r.ops.csv    step, slot, op, begin_ns, end_ns, cpu_ns
//   rank-000r.steps.csv  step, begin_ns, end_ns, loss_ns, cpu_ns, preemptions, arena_bytes,
//                        resident_bytes
// The run has one JSON object, run.json (scenarios/studies/measure/recorded_run.h), which is
// written last.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "engine/base/result.h"
#include "runtime/measure/step_recorder.h"

namespace orrery {

struct RankRecording {
    std::vector<RecordedStep> steps;
    std::int64_t arena_bytes = 0;     // of the memory plan
    std::int64_t resident_bytes = 0;  // maximum of the process's memory
    bool operator==(const RankRecording&) const = default;
};

// Shifts the recorder's times by `offset_ns`, which converts this rank's clock to rank 0's.
RankRecording recording_of(const StepRecorder& recorder,
                           std::int64_t arena_bytes,
                           std::int64_t offset_ns);

Result<void> write_recording(const std::filesystem::path& folder,
                             std::uint32_t rank,
                             const RankRecording& recording);
ResultOrErrors<RankRecording> read_recording(const std::filesystem::path& folder,
                                             std::uint32_t rank);

}  // namespace orrery

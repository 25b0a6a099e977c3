// SPDX-License-Identifier: Apache-2.0
// What a rank's part of a training's state takes to be kept and to come back, measured before a run
// by the code that the run uses: a checkpoint of its size is written to the run's own folder,
// checked, loaded and copied.
#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/base/result.h"
#include "runtime/checkpoint.h"

namespace orrery {

struct StoreTimes {
    double save_s = 0;   // write a rank's file, and it is on the disk
    double check_s = 0;  // read it and compare its checksum
    double load_s = 0;   // check it and take its tensors
    double copy_s = 0;   // to another file, without waiting for a disk
};

// Medians of three; of more than 16 MiB a part is measured, and the rest is in proportion. `bytes`
// are those of a rank's file.
Result<StoreTimes> probe_store(const std::filesystem::path& folder,
                               const RunState& run,
                               std::int64_t bytes);

}  // namespace orrery

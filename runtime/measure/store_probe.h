// SPDX-License-Identifier: Apache-2.0
// The times to store and restore one rank's state of a training, measured before a run by the same
// code as in the run: a checkpoint of this size is written to the run's folder, checked, loaded and
// copied.
#pragma once

#include <cstdint>
#include <filesystem>

#include "engine/base/result.h"
#include "runtime/checkpoint.h"

namespace orrery {

struct StoreTimes {
    double save_s = 0;   // write a rank's file to the disk
    double check_s = 0;  // read it and compare its checksum
    double load_s = 0;   // check it and load its tensors
    double copy_s = 0;   // copy it to another file, without waiting for a disk
};

// Medians of three. Above 16 MiB a part is measured and scaled up. `bytes` is the size of a rank's
// file.
Result<StoreTimes> probe_store(const std::filesystem::path& folder,
                               const RunState& run,
                               std::int64_t bytes);

}  // namespace orrery

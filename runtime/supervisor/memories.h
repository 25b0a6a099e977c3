// SPDX-License-Identifier: Apache-2.0
// The memories of a supervised job's nodes (memory_copies.h) from the supervisor's side. The memory
// of a lost node is deleted; the others' copies are gathered for a restart.
#pragma once

#include <filesystem>
#include <optional>

#include "engine/base/result.h"
#include "engine/base/scratch_folder.h"
#include "engine/recovery/job_state.h"
#include "runtime/state/checkpoint_choice.h"

namespace orrery {

class Memories {
public:
    // `replicas`: data-parallel units have equal state.
    explicit Memories(bool replicas) : replicas_(replicas) {}

    // Creates the folder, and passes its path to members that start from now on.
    Result<void> open();
    const std::filesystem::path& folder() const { return folder_.path(); }
    void lose(NodeNumber node) const;
    void forget() const;  // the copies of all nodes
    // The newest complete step; -1: none.
    std::int64_t newest(const JobShape& shape) const;
    std::optional<StoredCheckpoint> gather(const JobShape& shape);

private:
    bool replicas_;
    ScratchFolder folder_;  // empty: no copies are kept
};

}  // namespace orrery

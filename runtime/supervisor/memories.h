// SPDX-License-Identifier: Apache-2.0
// The memories of a supervised job's nodes (memory_copies.h), as the supervisor has them: a node's
// goes with the node, and what the others hold is put together to go on from.
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
    // `replicas`: data-parallel units have the same state.
    explicit Memories(bool replicas) : replicas_(replicas) {}

    // Makes the place, and tells members that start from now on where it is.
    Result<void> open();
    const std::filesystem::path& folder() const { return folder_.path(); }
    void lose(NodeNumber node) const;
    void forget() const;  // all nodes' copies
    // -1: none
    std::int64_t newest(const JobShape& shape) const;
    std::optional<StoredCheckpoint> gather(const JobShape& shape);

private:
    bool replicas_;
    ScratchFolder folder_;  // none: no copies are kept
};

}  // namespace orrery

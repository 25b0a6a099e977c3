// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/memories.h"

#include <stdlib.h>

#include <system_error>
#include <utility>

#include "runtime/checkpoint.h"
#include "runtime/supervisor/memory_copies.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

Result<ScratchFolder> folder_in_memory() {
    constexpr const char* kPrefix = "orrery-memories";
    const fs::path shared{"/dev/shm"};
    std::error_code error;
    if (!fs::is_directory(shared, error)) {
        return ScratchFolder::make(kPrefix);
    }
    Result<ScratchFolder> made = ScratchFolder::make_in(shared, kPrefix);
    if (!made) {
        made.error().what = "cannot make a folder for copies in memory here";
    }
    return made;
}

}  // namespace

Result<void> Memories::open() {
    Result<ScratchFolder> made = folder_in_memory();
    if (!made) {
        return unexpected<Error>(made.error());
    }
    folder_ = std::move(*made);
    setenv(kMemoryVariable, folder().c_str(), 1);
    return {};
}

void Memories::lose(NodeNumber node) const {
    std::error_code ignored;
    if (!folder().empty()) {
        fs::remove_all(memory_of_node(folder(), node), ignored);
    }
}

void Memories::forget() const {
    std::error_code error;
    if (folder().empty()) {
        return;
    }
    for (const auto& entry : fs::directory_iterator{folder(), error}) {
        if (entry.path().filename().string().starts_with("node-")) {
            std::error_code ignored;
            fs::remove_all(entry.path(), ignored);
        }
    }
}

std::int64_t Memories::newest(const JobShape& shape) const {
    return folder().empty() ? -1 : newest_in_memory(folder(), shape, replicas_);
}

std::optional<StoredCheckpoint> Memories::gather(const JobShape& shape) {
    const std::int64_t step = newest(shape);
    if (step < 0) {
        return std::nullopt;
    }
    const fs::path gathered = folder() / "gathered" / checkpoint_name(step);
    const Result<void> whole = gather_from_memory(folder(), shape, replicas_, step, gathered);
    return whole ? std::optional{StoredCheckpoint{step, gathered}} : std::nullopt;
}

}  // namespace orrery

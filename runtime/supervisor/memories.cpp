// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/memories.h"

#include <stdlib.h>

#include <string>
#include <system_error>

#include "runtime/checkpoint.h"
#include "runtime/supervisor/memory_copies.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

}  // namespace

Memories::~Memories() {
    std::error_code ignored;
    if (!folder_.empty()) {
        fs::remove_all(folder_, ignored);
    }
}

Result<void> Memories::open() {
    std::error_code error;
    const fs::path shared{"/dev/shm"};
    const fs::path place = fs::is_directory(shared, error) ? shared : fs::temp_directory_path();
    std::string name = (place / "orrery-memories-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
        return fail(place.string(), "cannot make a folder for copies in memory here");
    }
    folder_ = name;
    setenv(kMemoryVariable, folder_.c_str(), 1);
    return {};
}

void Memories::lose(NodeNumber node) const {
    std::error_code ignored;
    if (!folder_.empty()) {
        fs::remove_all(memory_of_node(folder_, node), ignored);
    }
}

void Memories::forget() const {
    std::error_code error;
    if (folder_.empty()) {
        return;
    }
    for (const auto& entry : fs::directory_iterator{folder_, error}) {
        if (entry.path().filename().string().starts_with("node-")) {
            std::error_code ignored;
            fs::remove_all(entry.path(), ignored);
        }
    }
}

std::int64_t Memories::newest(const JobShape& shape) const {
    return folder_.empty() ? -1 : newest_in_memory(folder_, shape, replicas_);
}

std::optional<StoredCheckpoint> Memories::gather(const JobShape& shape) {
    const std::int64_t step = newest(shape);
    if (step < 0) {
        return std::nullopt;
    }
    const fs::path folder = folder_ / "gathered" / checkpoint_name(step);
    const Result<void> whole = gather_from_memory(folder_, shape, replicas_, step, folder);
    return whole ? std::optional{StoredCheckpoint{step, folder}} : std::nullopt;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Copies of the training's state in the memories of nodes (GEMINI, SOSP 2023). After a step each
// rank stores its state in its own node's memory and sends it to the nodes of the placement. The
// memory of a node is a folder of a memory file system, which is deleted when the node is lost. A
// rank's state has the form of its checkpoint file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/recovery/peer_placement.h"
#include "runtime/communication/transport.h"
#include "runtime/trainer.h"

namespace orrery {

// The variable with the folder of all memories of a supervisor's nodes, "ORRERY_MEMORY". Each node
// has a folder in it.
inline constexpr const char* kMemoryVariable = "ORRERY_MEMORY";
std::filesystem::path memory_of_node(const std::filesystem::path& memories, NodeNumber node);

class MemoryCopies {
public:
    // With `placement.copies` 1 a node keeps only its own state.
    MemoryCopies(std::filesystem::path memory, const JobShape& shape, PeerPlacement placement);
    // Stores a copy. All ranks call it together.
    Result<void> keep(Trainer& trainer, Transport* transport);

private:
    Result<void> store(std::int64_t step, std::uint32_t rank, std::span<const std::byte> bytes);

    std::filesystem::path memory_;
    JobShape shape_;
    PeerPlacement placement_;
};

// The newest step for which the memories have every rank's state; -1: none. With `replicas`, the
// state of another data-parallel unit replaces a lost one.
std::int64_t newest_in_memory(const std::filesystem::path& memories,
                              const JobShape& shape,
                              bool replicas);
// Assembles a checkpoint of `step` in `folder`.
Result<void> gather_from_memory(const std::filesystem::path& memories,
                                const JobShape& shape,
                                bool replicas,
                                std::int64_t step,
                                const std::filesystem::path& folder);

}  // namespace orrery

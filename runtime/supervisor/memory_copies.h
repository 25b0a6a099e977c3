// SPDX-License-Identifier: Apache-2.0
// Copies of the training's state in the memories of nodes (GEMINI, SOSP 2023): after a step each
// rank keeps its state in its own node's memory and sends it to the nodes that the placement names.
// The memory of a node is a folder of a memory file system, which goes when the node is lost; a
// rank's state is the file that a checkpoint would have of it.
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

// Where the memories of a supervisor's nodes are: "ORRERY_MEMORY", a folder; each has its own.
inline constexpr const char* kMemoryVariable = "ORRERY_MEMORY";
std::filesystem::path memory_of_node(const std::filesystem::path& memories, NodeNumber node);

class MemoryCopies {
public:
    // `placement.copies` 1: only the own one.
    MemoryCopies(std::filesystem::path memory, const JobShape& shape, PeerPlacement placement);
    // Of all ranks together.
    Result<void> keep(Trainer& trainer, Transport* transport);

private:
    Result<void> store(std::int64_t step, std::uint32_t rank, std::span<const std::byte> bytes);

    std::filesystem::path memory_;
    JobShape shape_;
    PeerPlacement placement_;
};

// The newest step of which the memories have every rank's state, -1 if none; where `replicas`, the
// state of another data-parallel unit stands in for one that is lost.
std::int64_t newest_in_memory(const std::filesystem::path& memories,
                              const JobShape& shape,
                              bool replicas);
// Puts its files together as a checkpoint in `folder`.
Result<void> gather_from_memory(const std::filesystem::path& memories,
                                const JobShape& shape,
                                bool replicas,
                                std::int64_t step,
                                const std::filesystem::path& folder);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// A pass cut into computations and exchanges of tokens (plan.overlap_moe_expert_parallel_comm). The
// backward pass of one micro-batch and the forward pass of another run them alternately, so that
// exchanges overlap products: Megatron-Core's combined passes, and DeepSeek-V3's (arXiv 2412.19437,
// section 3.2.1).
#pragma once

#include <cstdint>
#include <vector>

#include "models/segments/segment_builder.h"

namespace orrery {

// An op of one part waits for an op of an earlier part.
struct PartWait {
    std::uint32_t part = 0;
    std::uint32_t op = 0;
    std::uint32_t earlier_part = 0;
    std::uint32_t earlier_op = 0;
};

struct PassPart {
    SegmentId segment{};
    std::uint32_t turn = 0;  // the part's computation and the exchange behind it have one turn
    bool exchanges = false;
    bool holds_host = false;  // the host reads the numbers of rows before the exchange
};

struct PassParts {
    std::vector<PassPart> parts;  // in order
    std::vector<PartWait> waits;

    std::uint32_t num_turns() const { return parts.back().turn + 1; }
};

// The host's calls for a part besides those of its ops. Megatron-Core calls each part by itself:
// events before and behind it, its own graph of autograd and, backward, its own run of the engine
// (ScheduleNode of pipeline_parallel/utils.py).
inline constexpr std::uint8_t kCallsOfPart = 1;

// Cuts a segment before and after each run of ops that exchanges rows. Tensors of a slot that
// several parts use become tensors of the micro-batch. A segment without exchanges has one part.
// `calls` are the host's for each part.
PassParts parts_of_pass(ProgramTables& tables, SegmentId segment, std::uint8_t calls);

// The order in which the host launches the parts of two passes, or of one: indices of the pass and
// of its part. The passes take turns. An exchange before which the host reads is launched behind
// the other pass's next computation (Megatron-Core's TransformerLayerSchedulePlan.run()).
struct PartOfPass {
    std::uint32_t pass = 0;
    std::uint32_t part = 0;
};
std::vector<PartOfPass> launch_order(const std::vector<const PassParts*>& passes);

}  // namespace orrery

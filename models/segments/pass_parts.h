// SPDX-License-Identifier: Apache-2.0
// A pass cut into parts that end with an exchange of tokens
// (plan.overlap_moe_expert_parallel_comm). The backward pass of one micro-batch and the forward
// pass of another run their parts alternately, so that each exchange overlaps the other's products:
// Megatron-Core's combined forward and backward pass, and DeepSeek-V3's (arXiv 2412.19437, section
// 3.2.1).
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

struct PassParts {
    std::vector<SegmentId> segments;  // in order
    std::vector<PartWait> waits;
};

// Cuts a segment after each run of ops of the expert stream that exchanges rows. Tensors of a slot
// that several parts use become tensors of the micro-batch. A segment without exchanges has one
// part.
PassParts parts_of_pass(ProgramTables& tables, SegmentId segment);

}  // namespace orrery

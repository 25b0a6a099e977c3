// SPDX-License-Identifier: Apache-2.0
// Messages between neighbouring pipeline stages. A boundary tensor is cut along its sequence on
// both sides. If the stages have different tensor-parallel sizes, a rank of the smaller size
// exchanges consecutive pieces of its part with several ranks of the larger size.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/program.h"
#include "models/plan/stage_parties.h"

namespace orrery {

// One side of a message. The last stage and the first are neighbours, too.
struct StageMessage {
    bool is_send = true;
    std::int32_t stage = 0;
    bool with_next = true;  // otherwise with the previous stage
    Bytes bytes{};          // the rank's part of the boundary tensor
    std::uint16_t communicator = 0;
    std::uint32_t slice_digits = 0;  // see SendRecvPart
};
// The parts of the message. Appends to program.peers if the stages belong to different parties.
std::vector<SendRecvPart> stage_message_parts(Program& program,
                                              const std::vector<StageParty>& parties,
                                              const StageMessage& message);

}  // namespace orrery

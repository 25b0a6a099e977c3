// SPDX-License-Identifier: Apache-2.0
// Messages between neighbouring pipeline stages. A boundary tensor is cut along its sequence on
// both sides; where the stages have different tensor-parallel sizes, a rank of the coarser side
// exchanges consecutive pieces of its part with several ranks of the finer side.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/program.h"
#include "models/plan/stage_parties.h"

namespace orrery {

// One of them, seen from one side. The last stage and the first are neighbours, too.
struct StageMessage {
    bool is_send = true;
    std::int32_t stage = 0;
    bool with_next = true;  // or with the stage before it
    Bytes bytes{};          // of the rank's part of the boundary tensor
    std::uint16_t communicator = 0;
    std::uint32_t slice_digits = 0;  // SendRecvPart's
};
// Its parts; appends to program.peers where the stages are of different parties.
std::vector<SendRecvPart> stage_message_parts(Program& program,
                                              const std::vector<StageParty>& parties,
                                              const StageMessage& message);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "models/segments/stage_messages.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {
namespace {

std::uint32_t tensor_size(const StageParty& party) {
    const Mesh& mesh = party.layouts.mesh;
    return mesh.combined_size(mesh.axis("tp"));
}

const StageParty& party_of_stage(const std::vector<StageParty>& parties, std::int32_t stage) {
    const auto found =
        std::ranges::find_if(parties, [&](const StageParty& party) { return party.holds(stage); });
    ORRERY_CHECK(found != parties.end());
    return *found;
}

// The rank of a stage whose coordinates are all 0. The ranks of a stage are consecutive.
RankId first_rank(const StageParty& party, std::int32_t stage) {
    const Mesh& mesh = party.layouts.mesh;
    return mesh.shifted(mesh.first_rank(), party.layouts.pipeline_digit, stage - party.first_stage);
}

std::int32_t peers_number(Program& program, PeerMap map) {
    const auto found = std::ranges::find(program.peers, map);
    const auto number = static_cast<std::int32_t>(found - program.peers.begin());
    if (found == program.peers.end()) {
        program.peers.push_back(std::move(map));
    }
    return number;
}

}  // namespace

std::vector<SendRecvPart> stage_message_parts(Program& program,
                                              const std::vector<StageParty>& parties,
                                              const StageMessage& message) {
    const std::int32_t stages = num_stages(parties);
    const std::int32_t peer_stage = (message.stage + (message.with_next ? 1 : stages - 1)) % stages;
    const StageParty& own = party_of_stage(parties, message.stage);
    const StageParty& other = party_of_stage(parties, peer_stage);
    SendRecvPart part{.is_send = message.is_send,
                      .bytes = message.bytes,
                      .communicator = message.communicator,
                      .slice_digits = message.slice_digits};
    if (&own == &other) {
        part.digit = own.layouts.pipeline_digit;
        part.delta = message.with_next ? 1 : -1;
        return {part};
    }
    const std::uint32_t here = tensor_size(own);
    const std::uint32_t there = tensor_size(other);
    const std::uint32_t ranks_of_stage =
        own.layouts.mesh.num_ranks() / static_cast<std::uint32_t>(own.num_stages);
    const PeerTerm replicas{.stride = here, .size = ranks_of_stage / here, .peer_stride = there};
    const RankId first = first_rank(other, peer_stage);
    std::vector<SendRecvPart> parts;
    if (here >= there) {
        const std::uint32_t ratio = here / there;
        part.peers =
            peers_number(program, {.first = first, .terms = {{ratio, there, 1}, replicas}});
        return {part};
    }
    const std::uint32_t ratio = there / here;
    part.bytes = Bytes{message.bytes.count() / ratio};
    part.pieces = static_cast<std::uint16_t>(ratio);
    for (std::uint32_t piece = 0; piece < ratio; ++piece) {
        part.piece = static_cast<std::uint16_t>(piece);
        part.peers = peers_number(
            program,
            {.first = to_id<RankId>(index(first) + piece), .terms = {{1, here, ratio}, replicas}});
        parts.push_back(part);
    }
    return parts;
}

}  // namespace orrery

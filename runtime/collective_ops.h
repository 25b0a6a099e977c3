// SPDX-License-Identifier: Apache-2.0
// Runs the communication ops of a Program between processes: changes of an activation's layout
// (redistribute.h), sums and gathers of lists of tensors (gradients, parameters) part by part
// (parameter_shards.h), and messages between neighbours along a mesh digit.
//
// The operands of an op define the elements that move:
//   read + write          one activation from its read layout to its written layout
//   accumulates           lists of tensors, in place: all_reduce of every element, reduce_scatter
//   of
//                         each tensor's own part (the rest is undefined afterwards)
//   writes                lists of tensors of which each member has its part: all_gather
//   reads … writes …      parameters from the shards that persist (ZeRO 3): all_gather
//   reads … accumulates … gradients, added to the shards that persist: reduce_scatter
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "runtime/bound_op.h"
#include "runtime/communication/communicator.h"
#include "runtime/server_exchange.h"

namespace orrery {

class CollectiveOps {
public:
    // `transport` joins the Program's ranks and must outlive this object. `ranks_of_node`
    // consecutive ranks share a node; 0: all ranks do.
    CollectiveOps(const Program& program,
                  RankId rank,
                  Transport& transport,
                  std::uint32_t ranks_of_node = 0);

    // The reason why an op cannot run, or empty.
    std::string why_not(const Op& op) const;
    Result<void> run(const Op& op, const BoundTransfer& operands);
    // Waits until all messages of the step have been sent.
    Result<void> end_step() { return transport_.flush(); }
    // The communicator of all ranks.
    Communicator& world() { return world_; }

private:
    std::vector<RankId> members_of(const CollectiveCall& call) const;
    Communicator& communicator_of(const CollectiveCall& call);
    Result<void> run_row_exchange(const CollectiveCall& call, const BoundTransfer& operands);
    std::optional<ServersOfMembers> servers(const CollectiveCall& call) const;
    Result<void> run_collective(const CollectiveCall& call, const BoundTransfer& operands);
    class PackedParts;
    Result<void> sum_all(const CollectiveCall& call, const std::vector<BoundOperand>& list);
    Result<void> change_layout(const CollectiveCall& call,
                               const BoundOperand& from,
                               const BoundOperand& to);
    Result<void> change_piece(const CollectiveCall& call,
                              const BoundOperand& from,
                              const BoundOperand& to);
    Result<void> reduce_parts(const CollectiveCall& call, const std::vector<BoundOperand>& list);
    Result<void> gather_parts(const CollectiveCall& call, const std::vector<BoundOperand>& list);
    Result<void> gather_shards(const CollectiveCall& call, const BoundTransfer& operands);
    Result<void> reduce_to_shards(const CollectiveCall& call, const BoundTransfer& operands);
    Result<void> sum_to_shards(const CollectiveCall& call, const BoundTransfer& operands);
    static void add_to_shards(const TensorView& vector, const std::vector<BoundOperand>& shards);
    Result<void> run_send_recv(const SendRecvCall& call, const BoundTransfer& operands);

    const Program& program_;
    RankId rank_;
    Transport& transport_;
    std::uint32_t ranks_of_node_;
    Communicator world_;
    std::map<std::uint32_t, Communicator> communicators_;  // by id
    // By the id of the members' communicator
    std::map<std::uint32_t, ServerCommunicators> by_servers_;
    std::vector<std::byte> staging_;
};

}  // namespace orrery

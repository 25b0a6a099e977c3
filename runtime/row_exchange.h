// SPDX-License-Identifier: Apache-2.0
// All-to-alls of tokens' rows between ranks that share experts, whose sizes are data
// (models/blocks/fused_experts.h): the counts are exchanged before the rows, in equal parts.
//   reads counts, writes counts             of each expert, for every rank side by side
//   reads rows sent received, writes rows   rank by rank, of a rank expert by expert; back to
//                                           tokens (RowExchange::combine) the other way round
// Ranks that split each expert gather the counts and rows of all of them, rank by rank, and scatter
// sums of such rows:
//   reads counts, writes counts             of the own rows, and of all
//   reads rows held, writes rows            `held`: the gathered counts
#pragma once

#include <string>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "runtime/bound_op.h"
#include "runtime/communication/communicator.h"
#include "runtime/server_exchange.h"

namespace orrery {

bool is_row_exchange(const CollectiveCall& call);

// Why the op can't be run, or empty.
std::string why_not_exchange_rows(const Program& program, const Op& op);

// The same of ops that gather or scatter, whose second operand are counts.
bool is_row_gather(const Program& program, const Op& op);
std::string why_not_gather_rows(const Program& program, const Op& op);

// Whether the rows cross from server to server by a route of their own.
bool goes_by_servers(const CollectiveCall& call);

// `servers`: of such a route, or null if the members are on one server or each on its own.
Result<void> exchange_rows(const CollectiveCall& call,
                           const BoundTransfer& operands,
                           Communicator& communicator,
                           ServerCommunicators* servers = nullptr);
Result<void> gather_rows(const CollectiveCall& call,
                         const BoundTransfer& operands,
                         Communicator& communicator);

}  // namespace orrery

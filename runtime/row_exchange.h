// SPDX-License-Identifier: Apache-2.0
// All-to-alls of tokens' rows between ranks that share experts. Their sizes depend on data
// (models/blocks/fused_experts.h), so that the counts are exchanged first, in equal parts.
//   reads counts, writes counts             counts of each expert, for every rank side by side
//   reads rows sent received, writes rows   in the order of ranks, then of a rank's experts; with
//                                           RowExchange::combine the reverse, back to tokens
// Ranks that split each expert gather the counts and rows of all of them, in the order of ranks,
// and scatter the sums of such rows:
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

// The reason why the op cannot run, or empty.
std::string why_not_exchange_rows(const Program& program, const Op& op);

// The same for ops that gather or scatter, whose second operand has counts.
bool is_row_gather(const Program& program, const Op& op);
std::string why_not_gather_rows(const Program& program, const Op& op);

// Whether the rows take a route of their own between servers.
bool goes_by_servers(const CollectiveCall& call);

// `servers` has the communicators of such a route. It is null if the members are on one server, or
// each on its own.
Result<void> exchange_rows(const CollectiveCall& call,
                           const BoundTransfer& operands,
                           Communicator& communicator,
                           ServerCommunicators* servers = nullptr);
Result<void> gather_rows(const CollectiveCall& call,
                         const BoundTransfer& operands,
                         Communicator& communicator);

}  // namespace orrery

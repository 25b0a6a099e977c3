// SPDX-License-Identifier: Apache-2.0
// All-to-alls of tokens' rows between ranks that share experts, whose sizes are data
// (models/fused_experts.h): the counts are exchanged before the rows, in equal parts.
//   reads counts, writes counts             of each expert, for every rank side by side
//   reads rows sent received, writes rows   rank by rank, of a rank expert by expert; back to
//                                           tokens (RowExchange::combine) the other way round
#pragma once

#include <string>

#include "engine/program.h"
#include "engine/result.h"
#include "runtime/bound_op.h"
#include "runtime/communication/communicator.h"

namespace orrery {

bool is_row_exchange(const CollectiveCall& call);

// Why the op can't be run, or empty.
std::string why_not_exchange_rows(const Program& program, const Op& op);

Result<void> exchange_rows(const CollectiveCall& call,
                           const BoundTransfer& operands,
                           Communicator& communicator);

}  // namespace orrery

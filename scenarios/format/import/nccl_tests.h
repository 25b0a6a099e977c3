// SPDX-License-Identifier: Apache-2.0
// Converts the output of nccl-tests (text, or JSON of its -J) to rows of a profile, with which
// simulate --profile times the collectives inside a node. The out-of-place times count. Device and
// kind come from the output if it has them: lists of ranks and newer versions' "Collective test
// starting".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/world/measured_transfer.h"
#include "kernels/profile.h"

namespace orrery {

struct NcclTestsImport {
    std::string device;                        // catalogue name; empty: from the output
    std::optional<TransferKind> collective{};  // empty: from the output
    std::uint32_t ranks = 0;                   // 0: from the output
};

struct ImportedTransfers {
    MachineProfile profile;
    std::vector<std::string> left_out;  // "int8: 3 rows"
};

ResultOrErrors<ImportedTransfers> import_nccl_tests(const std::string& text,
                                                    const std::string& source,
                                                    const NcclTestsImport& options);

}  // namespace orrery

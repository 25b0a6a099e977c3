// SPDX-License-Identifier: Apache-2.0
// What nccl-tests printed (text, or JSON of its -J) as rows of a profile, with which simulate
// --profile times the collectives inside a node. The out-of-place times count. Device and kind come
// from the output where it has them: lists of ranks and newer versions' "Collective test starting".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/world/measured_transfer.h"
#include "kernels/profile.h"

namespace orrery {

struct NcclTestsImport {
    std::string device;                        // catalogue name; empty: as the output says
    std::optional<TransferKind> collective{};  // absent: as the output says
    std::uint32_t ranks = 0;                   // 0: as the output says
};

struct ImportedTransfers {
    MachineProfile profile;
    std::vector<std::string> left_out;  // "int8: 3 rows"
};

ResultOrErrors<ImportedTransfers> import_nccl_tests(const std::string& text,
                                                    const std::string& source,
                                                    const NcclTestsImport& options);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/network/measured_transfers.h"

#include <fmt/format.h>

namespace orrery {

ResultOrErrors<std::vector<MeasuredTransfer>> measured_transfers(const std::string& profile,
                                                                 const std::string& device) {
    std::vector<MeasuredTransfer> rows;
    if (profile.empty()) {
        return rows;
    }
    const auto read = read_machine_profile(profile);
    if (!read) {
        return unexpected<Errors>(read.error());
    }
    for (const TransferEntry& entry : read->transfers) {
        if (entry.device == device) {
            rows.push_back(entry.time);
        }
    }
    if (rows.empty()) {
        return unexpected<Errors>({{profile,
                                    fmt::format("has no transfer of the device '{}'", device),
                                    "orrery import nccl-tests makes such a profile"}});
    }
    return rows;
}

}  // namespace orrery

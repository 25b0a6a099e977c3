// SPDX-License-Identifier: Apache-2.0
#include "runtime/make_executor.h"

#include "engine/check.h"
#include "runtime/cpu_executor.h"

namespace orrery {

Result<std::unique_ptr<Executor>> make_executor(DeviceChoice device,
                                                const Program& program,
                                                RankId rank,
                                                Transport* transport) {
    ORRERY_CHECK(device == DeviceChoice::cpu);
    auto executor = CpuExecutor::create(program, rank, transport);
    if (!executor) {
        return unexpected<Error>(executor.error());
    }
    return std::move(*executor);
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/simulate/program_order.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace orrery {

bool runs_in_program_order(const DeviceSpec& device) {
    return device.generation == "cpu";
}

Time block_launches(const Program& program, const ParallelPlan& plan, StepCosts& costs) {
    if (!plan.cuda_launch_blocking) {
        return {};
    }
    struct Launches {
        std::int64_t sum = 0;
        std::int64_t ops = 0;
    };
    std::vector<Launches> of_kernel(program.kernels.size());
    for (const Segment& segment : program.segments) {
        for (const Op& op : segment.ops) {
            if (op.kind() == OpKind::kernel) {
                Launches& launches = of_kernel[index(op.payload.kernel())];
                launches.sum += op.launches;
                ++launches.ops;
            }
        }
    }
    const Time launch = std::exchange(costs.launch, Time{});
    for (DeviceTimings& device : costs.devices) {
        for (std::size_t k = 0; k < of_kernel.size(); ++k) {
            const auto [sum, ops] = of_kernel[k];
            if (ops > 0) {
                device.kernels[k].duration += Time::picoseconds(launch.picoseconds() * sum / ops);
            }
        }
    }
    return launch;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/measure/program_order.h"

#include <algorithm>

namespace orrery {

bool runs_in_program_order(const DeviceSpec& device) {
    return device.generation == "cpu";
}

void put_in_program_order(Program& program) {
    for (Segment& segment : program.segments) {
        for (Op& op : segment.ops) {
            const bool sent =
                op.kind == OpKind::send_recv &&
                std::ranges::all_of(program.send_recvs[op.payload].parts,
                                    [](const SendRecvPart& part) { return part.is_send; });
            op.stream = sent ? op.stream : StreamId{0};
        }
    }
}

}  // namespace orrery

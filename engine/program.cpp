// SPDX-License-Identifier: Apache-2.0
#include "engine/program.h"

namespace orrery {

std::string_view name(CollectiveKind kind) {
    static constexpr std::array<std::string_view, 5> kNames{
        "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(TransferEngine engine) {
    static constexpr std::array<std::string_view, 3> kNames{"sm", "copy_engine", "host"};
    return kNames[static_cast<std::size_t>(engine)];
}

std::string_view name(TensorKind kind) {
    static constexpr std::array<std::string_view, kNumTensorKinds> kNames{
        "weights", "gradients", "optimizer", "activations", "communication", "workspace"};
    return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(Pass pass) {
    static constexpr std::array<std::string_view, 10> kNames{"step_begin",
                                                             "receive",
                                                             "forward",
                                                             "send",
                                                             "backward_input",
                                                             "backward_weight",
                                                             "backward",
                                                             "gradient_sync",
                                                             "parameter_sync",
                                                             "optimizer"};
    return kNames[static_cast<std::size_t>(pass)];
}

std::int64_t num_ops(const Program& program) {
    std::int64_t per_role_sum = 0;
    for (const Role& role : program.roles) {
        for (const Slot& slot : role.slots) {
            per_role_sum += static_cast<std::int64_t>(program.segment_of(slot).ops.size());
        }
    }
    return per_role_sum * (program.num_ranks() / static_cast<std::int64_t>(program.roles.size()));
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/held_parameters.h"

#include <algorithm>
#include <set>

#include "engine/base/check.h"
#include "kernels/optimizer/optimizer.h"
#include "runtime/operand_lists.h"
#include "runtime/stepped_weights.h"

namespace orrery {
namespace {

void add_parameters_of(const Segment& segment,
                       const Op& op,
                       Executor& executor,
                       std::vector<HeldParameter>& all) {
    const Program& program = executor.program();
    const KernelCall& call = program.kernel(op);
    const std::vector<TensorId> weights = stepped_weights(program, segment, op);
    const TensorView state = executor.view(stepped_state(program, segment, op));
    std::int64_t first = 0;
    for (const TensorId id : weights) {
        const Tensor& tensor = program.tensors[index(id)];
        // A shard that persists (ZeRO 3) may end with padding, which is skipped.
        const ElementRange stored = executor.shards().stored(id);
        const ElementRange own = executor.shards().own(id);
        const std::int64_t updated =
            std::clamp<std::int64_t>(stored.count - own.first, 0, own.count);
        HeldParameter held{
            .name = tensor.parameter,
            .block = block_of_parameter(program, tensor, executor.rank()),
            .held = stored,
            .weight = slice(executor.view(id), 0, stored.count),
            .own = {stored.first + own.first, updated},
            .first_moment = {},
            .second_moment = {},
            .master = {},
        };
        ORRERY_CHECK(stored.first + stored.count <= held.block.local_elements());
        const auto part = [&](std::int64_t section) {
            return slice(state, section * call.dims[0] + first, held.own.count);
        };
        held.first_moment = part(0);
        held.second_moment = part(1);
        held.master = has_master(call) ? part(2) : TensorView{};
        first += own.count;
        all.push_back(std::move(held));
    }
    ORRERY_CHECK(first <= call.dims[0]);  // with an uneven division the last parts are padding
}

// A parameter that the step changes without an optimizer and without a gradient.
HeldParameter bias_of(const Op& op, Executor& executor) {
    const Program& program = executor.program();
    const TensorId id = operands_of(program, op).accumulates.front();
    const Tensor& tensor = program.tensors[index(id)];
    const TensorView view = executor.view(id);
    return {.name = tensor.parameter,
            .block = block_of_parameter(program, tensor, executor.rank()),
            .held = {0, view.size},
            .weight = view,
            .own = {},
            .first_moment = {},
            .second_moment = {},
            .master = {}};
}

}  // namespace

std::vector<HeldParameter> held_parameters(Executor& executor) {
    const Program& program = executor.program();
    std::vector<HeldParameter> all;
    std::set<SegmentId> seen;
    for (const Slot& slot : executor.role().slots) {
        if (slot.pass != Pass::optimizer || !seen.insert(slot.segment).second) {
            continue;
        }
        for (const Op& op : program.segment_of(slot).ops) {
            const bool updates =
                op.kind() == OpKind::kernel && (program.kernel(op).kind == KernelKind::adamw ||
                                                program.kernel(op).kind == KernelKind::lamb);
            if (updates) {
                add_parameters_of(program.segment_of(slot), op, executor, all);
            } else if (op.kind() == OpKind::kernel &&
                       program.kernel(op).kind == KernelKind::expert_bias) {
                all.push_back(bias_of(op, executor));
            }
        }
    }
    return all;
}

void set_weights(const HeldParameter& parameter, std::span<const float> whole) {
    const ParameterBlock& block = parameter.block;
    ORRERY_CHECK(static_cast<std::int64_t>(whole.size()) == block.rows * block.columns);
    const auto part = [&](std::int64_t global, std::int64_t count) {
        return whole.subspan(static_cast<std::size_t>(global), static_cast<std::size_t>(count));
    };
    const auto set = [&](TensorView view, ElementRange range) {
        block.for_each_run(range, [&](std::int64_t local, std::int64_t global, std::int64_t count) {
            store_row(view, local - range.first, part(global, count));
        });
    };
    set(parameter.weight, parameter.held);
    if (!parameter.master.empty()) {
        set(parameter.master, parameter.own);
    }
}

}  // namespace orrery

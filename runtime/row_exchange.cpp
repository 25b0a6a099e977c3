// SPDX-License-Identifier: Apache-2.0
#include "runtime/row_exchange.h"

#include <numeric>
#include <vector>

#include "engine/check.h"
#include "models/layout.h"
#include "runtime/operand_lists.h"

namespace orrery {
namespace {

bool is_count_exchange(const CollectiveCall& call) {
    return call.rows.dispatcher == 0 && call.wire == Dtype::int32;
}

// Elements for, or from, each member.
std::vector<std::int64_t> parts_of(ConstTensorView counts,
                                   std::uint32_t members,
                                   std::int64_t width) {
    const std::span<const std::int32_t> rows = ids(counts);
    const std::size_t each = rows.size() / members;
    ORRERY_CHECK(each * members == rows.size());
    std::vector<std::int64_t> parts;
    for (std::size_t m = 0; m < members; ++m) {
        const auto of_member = rows.subspan(m * each, each);
        parts.push_back(std::accumulate(of_member.begin(), of_member.end(), std::int64_t{0}) *
                        width);
    }
    return parts;
}

}  // namespace

bool is_row_exchange(const CollectiveCall& call) {
    return call.kind == CollectiveKind::all_to_all &&
           (call.rows.dispatcher != 0 || is_count_exchange(call));
}

std::string why_not_exchange_rows(const Program& program, const Op& op) {
    const CollectiveCall& call = program.collective(op);
    const OperandLists lists = operands_of(program, op);
    const std::size_t reads = is_count_exchange(call) ? 1 : 3;
    if (lists.reads.size() != reads || lists.writes.size() != 1 || !lists.accumulates.empty()) {
        return "rows of tokens are exchanged with their counts (plan.moe_fused_kernels)";
    }
    const auto tensor = [&](TensorId id) -> const Tensor& { return program.tensors[index(id)]; };
    const Tensor& from = tensor(lists.reads[0]);
    const Tensor& to = tensor(lists.writes[0]);
    if (is_count_exchange(call)) {
        return from.bytes == to.bytes ? "" : "counts of experts are exchanged in equal parts";
    }
    return from.dtype == to.dtype && from.global_shape.size() == 3 && to.global_shape.size() == 3 &&
                   tensor(lists.reads[1]).dtype == Dtype::int32 &&
                   tensor(lists.reads[2]).bytes == tensor(lists.reads[1]).bytes
               ? ""
               : "this exchange of rows is not executed";
}

Result<void> exchange_rows(const CollectiveCall& call,
                           const BoundTransfer& operands,
                           Communicator& communicator) {
    const BoundOperand& from = operands.reads[0];
    const BoundOperand& to = operands.writes[0];
    if (is_count_exchange(call)) {
        return communicator.all_to_all(from.view, to.view);
    }
    const std::int64_t width = from.tensor->global_shape[kWidth];
    const std::uint32_t members = communicator.size();
    const std::vector<std::int64_t> sent = parts_of(operands.reads[1].view, members, width);
    const std::vector<std::int64_t> received = parts_of(operands.reads[2].view, members, width);
    return call.rows.combine ? communicator.all_to_all_parts(from.view, received, to.view, sent)
                             : communicator.all_to_all_parts(from.view, sent, to.view, received);
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "runtime/row_exchange.h"

#include <numeric>
#include <vector>

#include "engine/base/check.h"
#include "models/plan/layout.h"
#include "network/collectives/dispatcher.h"
#include "runtime/operand_lists.h"

namespace orrery {
namespace {

bool is_count_exchange(const CollectiveCall& call) {
    return call.rows.dispatcher == 0 && call.wire == Dtype::int32;
}

bool gathers_or_scatters(const CollectiveCall& call) {
    return call.kind == CollectiveKind::all_gather || call.kind == CollectiveKind::reduce_scatter;
}

// The number of elements for, or from, each member.
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

bool is_row_gather(const Program& program, const Op& op) {
    const CollectiveCall& call = program.collective(op);
    if (!gathers_or_scatters(call)) {
        return false;
    }
    const OperandLists lists = operands_of(program, op);
    return !lists.reads.empty() && lists.writes.size() == 1 &&
           program.tensors[index(lists.reads.back())].dtype == Dtype::int32 &&
           program.tensors[index(lists.reads.back())].kind == TensorKind::communication;
}

std::string why_not_gather_rows(const Program& program, const Op& op) {
    const OperandLists lists = operands_of(program, op);
    const auto tensor = [&](TensorId id) -> const Tensor& { return program.tensors[index(id)]; };
    const Tensor& from = tensor(lists.reads[0]);
    const Tensor& to = tensor(lists.writes[0]);
    const bool counts = lists.reads.size() == 1 && to.dtype == Dtype::int32;
    const bool rows = lists.reads.size() == 2 && from.dtype == to.dtype &&
                      from.global_shape.size() == 3 && to.global_shape.size() == 3;
    return counts || rows ? "" : "this gather of rows is not executed";
}

Result<void> gather_rows(const CollectiveCall& call,
                         const BoundTransfer& operands,
                         Communicator& communicator) {
    const BoundOperand& from = operands.reads[0];
    const BoundOperand& to = operands.writes[0];
    if (operands.reads.size() == 1) {
        return communicator.all_gather(from.view, to.view);
    }
    const std::int64_t width = from.tensor->global_shape[kWidth];
    const std::vector<std::int64_t> parts =
        parts_of(operands.reads[1].view, communicator.size(), width);
    return call.kind == CollectiveKind::all_gather
               ? communicator.all_gather_parts(from.view, to.view, parts)
               : communicator.reduce_scatter_parts(from.view, parts, to.view);
}

bool goes_by_servers(const CollectiveCall& call) {
    const Dispatcher* by = numbered_dispatcher(call.rows.dispatcher);
    return by != nullptr &&
           (by->route == DispatchRoute::two_steps || by->route == DispatchRoute::leaders);
}

Result<void> exchange_rows(const CollectiveCall& call,
                           const BoundTransfer& operands,
                           Communicator& communicator,
                           ServerCommunicators* servers) {
    const BoundOperand& from = operands.reads[0];
    const BoundOperand& to = operands.writes[0];
    if (is_count_exchange(call)) {
        return communicator.all_to_all(from.view, to.view);
    }
    const std::int64_t width = from.tensor->global_shape[kWidth];
    const std::uint32_t members = communicator.size();
    const std::vector<std::int64_t> sent = parts_of(operands.reads[1].view, members, width);
    const std::vector<std::int64_t> received = parts_of(operands.reads[2].view, members, width);
    const auto& out = call.rows.combine ? received : sent;
    const auto& in = call.rows.combine ? sent : received;
    if (servers == nullptr) {
        return communicator.all_to_all_parts(from.view, out, to.view, in);
    }
    const bool two_steps =
        numbered_dispatcher(call.rows.dispatcher)->route == DispatchRoute::two_steps;
    return exchange_by_servers(two_steps ? ServerRoute::two_steps : ServerRoute::leaders,
                               *servers,
                               from.view,
                               out,
                               to.view,
                               in);
}

}  // namespace orrery

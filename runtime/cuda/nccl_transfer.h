// SPDX-License-Identifier: Apache-2.0
// A communication op of a Program as calls of NCCL: what runtime/collective_ops.h does with
// messages between processes, here as one group of collectives on memory of the device, with copies
// before and after where a layout is not contiguous. Lists of tensors are reduced and gathered in
// place, tensor by tensor, in one group: nothing is packed. Parts of unequal length (a size that
// the ranks do not divide) become one reduce or broadcast for each member.
//
// Only plans: addresses are not read. Tested on hosts against CollectiveOps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/program/program.h"
#include "runtime/bound_op.h"
#include "runtime/cuda/nccl_members.h"
#include "runtime/cuda/strided_copy.h"

namespace orrery {

enum class NcclCallKind : std::uint8_t {
    all_reduce,
    all_gather,
    reduce_scatter,
    broadcast,
    reduce,
    send,
    recv,
};

// As NCCL's C functions take them; `count` is of what one rank sends (all_gather) or receives
// (reduce_scatter), `peer` the root or the other side, a position in the communicator.
struct NcclCall {
    NcclCallKind function = NcclCallKind::all_reduce;
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::int64_t count = 0;
    Dtype dtype = Dtype::bf16;
    Reduction reduction = Reduction::sum;
    std::uint32_t peer = 0;
    std::uint32_t communicator = 0;  // of NcclTransfer::communicators
};

struct DeviceCopy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t element = 0;  // bytes
    StridedCopy shape;
};

struct DeviceSum {  // to += from
    ConstTensorView from;
    TensorView to;
};

struct NcclTransfer {
    std::vector<DeviceCopy> before;
    std::vector<NcclCall> calls;  // one group
    std::vector<DeviceCopy> after;
    std::vector<DeviceSum> sums;  // after the copies
    std::vector<NcclMembers> communicators;
    std::int64_t staging_bytes = 0;
};

// Why NCCL can't be asked for it, or empty.
std::string why_not_nccl(const Program& program, RankId rank, const Op& op);

// `staging` has room for staging_bytes; with none only that number is of use.
NcclTransfer nccl_transfer(const Program& program,
                           RankId rank,
                           const Op& op,
                           const BoundTransfer& operands,
                           std::byte* staging);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// A communication op of a Program as calls of NCCL, like runtime/collective_ops.h with messages
// between processes. It is one group of collectives on device memory, with copies before and after
// for layouts that are not contiguous. Lists of tensors are reduced and gathered in place, tensor
// by tensor, in one group, without packing. Parts of unequal length (if the ranks do not divide the
// size) become one reduce or broadcast per member.
//
// This is only planning: no address is read. Tests on hosts compare it with CollectiveOps.
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

// The arguments of NCCL's C functions. `count` is the size sent by one rank (all_gather) or
// received by one rank (reduce_scatter). `peer` is the root or the other side, as a position in the
// communicator.
struct NcclCall {
    NcclCallKind function = NcclCallKind::all_reduce;
    const std::byte* in = nullptr;
    std::byte* out = nullptr;
    std::int64_t count = 0;
    Dtype dtype = Dtype::bf16;
    Reduction reduction = Reduction::sum;
    std::uint32_t peer = 0;
    std::uint32_t communicator = 0;  // index into NcclTransfer::communicators
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
    std::vector<DeviceSum> sums;  // run after the copies
    std::vector<NcclMembers> communicators;
    std::int64_t staging_bytes = 0;
};

// The reason why NCCL does not support an op, or empty.
std::string why_not_nccl(const Program& program, RankId rank, const Op& op);

// `staging` must have staging_bytes bytes. With a null pointer only that number is valid.
NcclTransfer nccl_transfer(const Program& program,
                           RankId rank,
                           const Op& op,
                           const BoundTransfer& operands,
                           std::byte* staging);

}  // namespace orrery

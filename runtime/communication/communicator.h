// SPDX-License-Identifier: Apache-2.0
// Collectives of a group of processes, made of messages. Sums are pairwise in the order of the
// members (kernels/pairwise_sum.h), in fp32, and rounded once. They have the same bits however the
// vector is cut, whichever member computes them, and whether or not groups of an equal power of two
// of neighbours are summed first. Exchange is direct: in reduce_scatter every member receives its
// part of the vector from all members, in all_gather it sends its part to all members. all_reduce
// is one after the other; for short vectors every member sends the whole vector to all. In both,
// each member sends and receives (n-1)/n of the vector, as in a ring.
//
// Vectors are flat: parts are contiguous, in the order of the members. All members call the same
// operations in the same order with equal sizes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/base/result.h"
#include "kernels/tensor_view.h"
#include "runtime/communication/transport.h"

namespace orrery {

class Communicator {
public:
    // `members` are ranks of the transport, including this one. `id` (less than 2^24) distinguishes
    // communicators with common members. The transport must outlive the communicator.
    Communicator(Transport& transport, std::vector<std::uint32_t> members, std::uint32_t id);

    std::uint32_t rank() const { return position_; }  // position among the members
    std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }

    // The sum over members, in place; fp32 or bf16.
    Result<void> all_reduce(TensorView vector);
    // The maximum over members, in place; fp32.
    Result<void> all_reduce_max(TensorView vector);
    // out = the members' `in`, concatenated: out.size = size() * in.size.
    Result<void> all_gather(ConstTensorView in, TensorView out);
    // out = this member's part of the sum: in.size = size() * out.size.
    Result<void> reduce_scatter(ConstTensorView in, TensorView out);
    // Sends part i of `in` to member i, and receives part i of `out` from it; equal sizes.
    Result<void> all_to_all(ConstTensorView in, TensorView out);
    // The same for parts of any size: sent[i] elements of `in` go to member i, and received[i] come
    // from it. The members must agree on the sizes.
    Result<void> all_to_all_parts(ConstTensorView in,
                                  std::span<const std::int64_t> sent,
                                  TensorView out,
                                  std::span<const std::int64_t> received);
    // The same for parts of any size: member i has parts[i] elements.
    Result<void> all_gather_parts(ConstTensorView in,
                                  TensorView out,
                                  std::span<const std::int64_t> parts);
    // The beginning of `out` becomes this member's part of the sum of vectors with parts of these
    // sizes.
    Result<void> reduce_scatter_parts(ConstTensorView in,
                                      std::span<const std::int64_t> parts,
                                      TensorView out);
    Result<void> broadcast(TensorView vector, std::uint32_t root);
    Result<void> barrier();

private:
    struct Range {
        std::int64_t first;
        std::int64_t count;
    };
    enum class Reduction : std::uint8_t { sum, max };

    // The elements of a vector that a member reduces. The first members get one more each.
    Range part(std::int64_t elements, std::uint32_t member) const;
    Message message(bool is_send, std::uint32_t member, std::byte* data, std::int64_t bytes) const;
    // Reduces this member's part of `in` into `out`.
    Result<void> reduce_part(ConstTensorView in, TensorView out, Reduction reduction);
    Result<void> reduce_by_all(TensorView vector, Reduction reduction);
    Result<void> reduce_everywhere(TensorView vector, Reduction reduction);
    Result<void> gather_parts(TensorView vector);

    Transport& transport_;
    std::vector<std::uint32_t> members_;
    std::uint32_t position_ = 0;
    std::uint64_t tag_ = 0;
    std::vector<std::byte> received_;
};

// The tag of the messages of communicator `id`. `lane` distinguishes collectives (0) from
// point-to-point messages (1).
std::uint64_t message_tag(std::uint32_t id, std::uint32_t lane);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Collectives of a group of processes, from messages. Sums are taken pairwise in the order of the
// members (kernels/pairwise_sum.h), in fp32, and rounded once, so they are the same bits however
// the vector is cut up, whichever member computes them, and whether equal numbers of neighbours
// have added up theirs before. Exchange is direct: in reduce_scatter every member gets its part of
// the vector from everybody, in all_gather it sends its part to everybody; all_reduce is one after
// the other (or, if short, everything to everybody). Each member sends and receives (n-1)/n of the
// vector in either, as in a ring.
//
// Vectors are flat: parts lie one after the other in the order of the members. All members call the
// same operations in the same order with equal sizes.
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
    // `members`: ranks of the transport, this one among them. `id` tells communicators with common
    // members apart (less than 2^24). The transport must outlive the communicator.
    Communicator(Transport& transport, std::vector<std::uint32_t> members, std::uint32_t id);

    std::uint32_t rank() const { return position_; }  // in the order of the members
    std::uint32_t size() const { return static_cast<std::uint32_t>(members_.size()); }

    // The sum over members, in place; fp32 or bf16.
    Result<void> all_reduce(TensorView vector);
    // The maximum over members, in place; fp32.
    Result<void> all_reduce_max(TensorView vector);
    // out = the members' `in` one after the other: out.size = size() * in.size.
    Result<void> all_gather(ConstTensorView in, TensorView out);
    // out = this member's part of the sum: in.size = size() * out.size.
    Result<void> reduce_scatter(ConstTensorView in, TensorView out);
    // Part i of `in` goes to member i, part i of `out` comes from it; equal sizes.
    Result<void> all_to_all(ConstTensorView in, TensorView out);
    // The same of parts of any size: sent[i] elements of `in` to member i, received[i] from it.
    // Members agree on them.
    Result<void> all_to_all_parts(ConstTensorView in,
                                  std::span<const std::int64_t> sent,
                                  TensorView out,
                                  std::span<const std::int64_t> received);
    // The same of parts of any size: parts[i] elements of member i.
    Result<void> all_gather_parts(ConstTensorView in,
                                  TensorView out,
                                  std::span<const std::int64_t> parts);
    // out begins with this member's part of the sum of vectors that consist of such parts.
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

    // Elements of a vector that a member reduces; the first ones get one more.
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

// The tag of the messages of communicator `id`; `lane` tells collectives (0) from point-to-point
// messages (1).
std::uint64_t message_tag(std::uint32_t id, std::uint32_t lane);

}  // namespace orrery

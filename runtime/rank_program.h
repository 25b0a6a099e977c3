// SPDX-License-Identifier: Apache-2.0
// A Program from the view of one rank: the memory of each operand of each op, in one arena by
// MemoryPlan. Addresses are the device's, and this class never accesses the memory. If
// data-parallel ranks share the optimizer's work (runtime/state/parameter_shards.h), its kernels
// get this rank's parts of gradients and weights.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "models/memory/memory_plan.h"
#include "runtime/bound_op.h"
#include "runtime/state/parameter_shards.h"
#include "runtime/state/tier_file.h"

namespace orrery {

class RankProgram {
public:
    RankProgram(const Program& program, RankId rank);

    const Program& program() const { return program_; }
    RankId rank() const { return rank_; }
    const Role& role() const { return role_; }
    const MemoryPlan& plan() const { return plan_; }
    const ParameterShards& shards() const { return shards_; }

    const Op& op(std::uint32_t slot, std::uint32_t position) const {
        return program_.segment_of(role_.slots[slot]).ops[position];
    }
    // "chunk 0 forward, qkv": for errors.
    std::string describe(std::uint32_t slot, const Op& op) const;

    // Creates the file for tensors on drives, if there are any.
    Result<void> open_file(const std::filesystem::path& folder);
    // Starts copies between memory and tensors on drives, which run concurrently with the rank's
    // work.
    void begin_file_copy(const Op& op);
    // Waits until no file copy uses this memory, or, without argument, until all have ended.
    Result<void> wait_for_file(const TensorView& memory);
    Result<void> wait_for_file();

    // Sets the address of plan().bytes() bytes of the device's memory.
    void set_arena(std::byte* arena) { arena_ = arena; }
    std::byte* arena() const { return arena_; }

    // A tensor that outlives slots; empty if this rank has none.
    TensorView instance(TensorId tensor, std::int32_t micro_batch = -1) const;
    TensorView operand(std::uint32_t slot, TensorId tensor) const;
    BoundOp bind_kernel(std::uint32_t slot, const Op& op) const;
    BoundTransfer bind_transfer(std::uint32_t slot, const Op& op) const;
    // The tensors that MemoryPlan clears before a step.
    std::vector<TensorView> zero_before_step() const;

    // An error for the first op of the rank's slots for which `why_not` returns a reason.
    using WhyNot = std::function<std::string(const Op&)>;
    Result<void> check_ops(const WhyNot& why_not) const;

private:
    TensorView at(std::int64_t offset, const Tensor& tensor) const;
    BoundOperand bind(std::uint32_t slot, const Operand& operand) const;
    void take_own_parts(BoundOp& bound) const;
    void take_own_weights(std::uint32_t slot, const Op& op, BoundOp& bound) const;
    void hold_on_host();
    TensorView host_view(TensorId tensor) const;

    const Program& program_;
    RankId rank_;
    const Role& role_;
    MemoryPlan plan_;
    ParameterShards shards_;
    std::byte* arena_ = nullptr;
    // Tensors in the host's memory.
    std::map<TensorId, std::vector<std::byte>> on_host_;
    // Tensors on drives: their offsets in the file.
    std::map<TensorId, std::int64_t> in_file_;
    std::int64_t file_bytes_ = 0;
    std::unique_ptr<TierFile> file_;
};

}  // namespace orrery

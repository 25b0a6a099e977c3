// SPDX-License-Identifier: Apache-2.0
// One kernel as a Program of one op, with the operands that its descriptor lists and valid data.
// Any executor can run it, which serves to compare the results of two devices.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/program.h"
#include "kernels/operand_forms.h"
#include "runtime/executor.h"
#include "runtime/training_job.h"

namespace orrery {

struct KernelProgram {
    std::unique_ptr<Program> program;
    std::vector<OperandValues> values;  // by tensor
    std::vector<std::int64_t> ids;      // by tensor: the number of distinct ids
    std::vector<TensorId> results;      // tensors written or accumulated into
};

// No value for kernels that do not run by themselves (KernelDescriptor::operands).
std::optional<KernelProgram> kernel_program(const KernelCall& call);

// Fills the operands with values that depend only on (tensor, element), so that every executor has
// the same.
void fill_operands(const KernelProgram& kernel, Executor& executor);

// An executor's notes on a kernel, and the kernels that gave wrong results and were replaced.
struct KernelNotes {
    std::vector<std::string> notes;
    std::vector<std::string> wrong_ways;
};

// The relative difference |x - y| / |y| (L2) between the results of two devices, maximum over the
// results. If `notes` is not null, it gets the notes of x.
Result<double> compare_kernel(const KernelCall& call,
                              DeviceChoice x,
                              DeviceChoice y,
                              KernelNotes* notes = nullptr);

}  // namespace orrery

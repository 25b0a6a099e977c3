// SPDX-License-Identifier: Apache-2.0
// One kernel by itself as a Program of one op, with operands as its descriptor lists
// them and data that the kernel can take. Any executor runs it: that is how a kernel is timed alone
// on any device (profiles), and how two devices' results are compared.
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
    std::vector<OperandValues> values;     // by tensor
    std::vector<std::int64_t> ids;  // by tensor: how many there are
    std::vector<TensorId> results;  // written or added to
};

// Nothing for kernels that do not run by themselves (KernelDescriptor::operands).
std::optional<KernelProgram> kernel_program(const KernelCall& call);

// Values that follow from (tensor, element), the same for every executor.
void fill_operands(const KernelProgram& kernel, Executor& executor);

struct TimeAlone {
    double median_s = 0;
    double spread = 0;  // as in kernels/profile.h
    std::int64_t samples = 0;
};
// Runs the kernel by itself `repeats` times after a few that don't count.
Result<TimeAlone> measure_kernel(const KernelCall& call, DeviceChoice device, int repeats);

// How a device ran a kernel: what its executor notes, and which kernels it found to be wrong and
// ran others for.
struct KernelNotes {
    std::vector<std::string> notes;
    std::vector<std::string> wrong_ways;
};

// |x - y| / |y| (L2) of the results of two devices, the largest of all results. `notes` becomes
// those of x, if it is not null.
Result<double> compare_kernel(const KernelCall& call,
                              DeviceChoice x,
                              DeviceChoice y,
                              KernelNotes* notes = nullptr);

}  // namespace orrery

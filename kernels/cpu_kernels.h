// SPDX-License-Identifier: Apache-2.0
// The CPU's implementations in the list of kernels (kernels/kernel_list.h).
#pragma once

#include "kernels/kernel_arguments.h"

namespace orrery {

using CpuKernel = void (*)(const KernelArguments&);

// Null: the runtime binds the kernel's arguments itself, or there is none.
CpuKernel cpu_kernel(KernelKind kind);

}  // namespace orrery

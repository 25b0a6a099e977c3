// SPDX-License-Identifier: Apache-2.0
// CPU implementations of the list of kernels (kernels/kernel_list.h).
#pragma once

#include "kernels/kernel_arguments.h"

namespace orrery {

using CpuKernel = void (*)(const KernelArguments&);

// Null if there is none, or if the runtime binds the kernel's arguments itself.
CpuKernel cpu_kernel(KernelKind kind);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu_kernels.h"

#include "kernels/kernel_list.h"

namespace orrery {

CpuKernel cpu_kernel(KernelKind kind) {
    static constexpr auto kKernels =
        kernel::table_of<CpuKernel>(kernel::All{}, []<class K>() -> CpuKernel {
            if constexpr (requires { &K::run; }) {
                return &K::run;
            } else {
                return nullptr;
            }
        });
    return kKernels[static_cast<std::size_t>(kind)];
}

}  // namespace orrery

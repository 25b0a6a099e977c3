// SPDX-License-Identifier: Apache-2.0
// GPU implementations of the list of kernels (kernels/kernel_list.h), for any queue
// (kernels/cuda/queue.h).
#pragma once

#include "kernels/kernel_list.h"

namespace orrery::device {

template <class Queue>
using DeviceKernel = void (*)(Queue&, const KernelArguments&);

// Null if there is none, or if the runtime binds the kernel's arguments itself.
template <class Queue>
DeviceKernel<Queue> device_kernel(KernelKind kind) {
    static constexpr auto kKernels =
        kernel::table_of<DeviceKernel<Queue>>(kernel::All{}, []<class K>() -> DeviceKernel<Queue> {
            if constexpr (requires { &K::template launch<Queue>; }) {
                return &K::template launch<Queue>;
            } else {
                return nullptr;
            }
        });
    return kKernels[static_cast<std::size_t>(kind)];
}

// The reason why a GPU does not accept a call of this shape, or empty.
inline std::string why_not_on_cuda(const KernelCall& call) {
    using WhyNot = std::string (*)(const KernelCall&);
    static constexpr auto kReasons =
        kernel::table_of<WhyNot>(kernel::All{}, []<class K>() -> WhyNot {
            if constexpr (requires { &K::why_not_on_cuda; }) {
                return &K::why_not_on_cuda;
            } else {
                return nullptr;
            }
        });
    const WhyNot why = kReasons[static_cast<std::size_t>(call.kind)];
    return why == nullptr ? std::string{} : why(call);
}

}  // namespace orrery::device

// SPDX-License-Identifier: Apache-2.0
// Change of element type in the list of kernels (kernels/kernel_list.h): reads x …, writes y …
#pragma once

#include "kernels/cast/cast.h"
#include "kernels/cast/cast_cpu.h"
#include "kernels/cast/cast_cuda.h"
#include "kernels/kernel_arguments.h"
#include "kernels/kernel_descriptor.h"

namespace orrery::kernel {

struct Cast {
    static bool takes(const KernelCall& key) {
        return key.variant % 8 < kNumDtypes && key.variant < kOneByOne + 8 &&
               (key.variant / 8 == 1) == (key.dims[1] != 0);
    }
    static KernelCall call(const KernelCall& key) {
        const auto to = static_cast<Dtype>(key.variant % 8);
        if (key.variant >= kOneByOne) {
            return converting(key.dims[0], key.dtype, to);
        }
        return key.variant < 8 ? cast(key.dims[0], key.dtype, to)
                               : cast_transpose(key.dims[0], key.dims[1], key.dtype, to);
    }
    static std::string why_not(const KernelCall&, const OperandSizes& sizes) {
        return sizes.reads.size() == sizes.writes.size() && sizes.accumulates.empty()
                   ? ""
                   : "does not read one tensor for each that it writes";
    }
    static constexpr KernelDescriptor kDescriptor{.kind = KernelKind::cast,
                                                  .num_dims = 1,
                                                  .num_optional_dims = 1,
                                                  .takes = takes,
                                                  .call = call,
                                                  .why_not = why_not};

    static void run(const KernelArguments& op) {
        for (std::size_t i = 0; i < op.writes.size(); ++i) {
            cpu::cast(op.reads[i].view, op.writes[i].view);
        }
    }
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        for (std::size_t i = 0; i < op.writes.size(); ++i) {
            if (op.writes[i].view.size > 0) {  // a shard of padding is empty
                device::cast(queue, op.reads[i].view, op.writes[i].view);
            }
        }
    }
};

}  // namespace orrery::kernel

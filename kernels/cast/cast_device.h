// SPDX-License-Identifier: Apache-2.0
// The kernels of kernels/cast/cast_cuda.h.
#pragma once

#include "kernels/cast/cast_cuda.h"
#include "kernels/cuda/flat.h"

namespace orrery::device {

template <class From, class To>
struct CastKernel {
    static constexpr int kThreadsMax = kFlatThreads;
    const From* from;
    To* to;
    std::int64_t size;
    bool vector;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for_flat(block, size, vector, [this]<int kCount>(std::int64_t i) {
            float values[kCount];
            load(from + i, values);
            store(to + i, values);
        });
    }
};

template <class Queue>
void cast(Queue& queue, ConstTensorView from, TensorView to) {
    for_dtype(from.dtype, [&]<class From>(From*) {
        for_dtype(to.dtype, [&]<class To>(To*) {
            queue.launch(CastKernel<From, To>{.from = elements<From>(from),
                                              .to = elements<To>(to),
                                              .size = to.size,
                                              .vector = aligned(from) && aligned(to)},
                         flat_geometry(to.size));
        });
    });
}

}  // namespace orrery::device

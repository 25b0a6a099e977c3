// SPDX-License-Identifier: Apache-2.0
// sum = a + b, or a alone, each in its own precision. The addition is in fp32 and rounded once.
#pragma once

#include "kernels/cuda/flat.h"

namespace orrery::device {

template <class A, class B, class Sum>
struct FlatSumKernel {
    static constexpr int kThreadsMax = kFlatThreads;
    const A* a;
    const B* b;  // null: no addition
    Sum* sum;    // may alias a or b
    std::int64_t size;
    bool vector;

    template <class Block>
    ORRERY_DEVICE void operator()(Block& block) const {
        for_flat(block, size, vector, [this]<int kCount>(std::int64_t i) {
            float values[kCount];
            load(a + i, values);
            if (b != nullptr) {
                float more[kCount];
                load(b + i, more);
                ORRERY_UNROLL
                for (int j = 0; j < kCount; ++j) {
                    values[j] += more[j];
                }
            }
            store(sum + i, values);
        });
    }
};

// Without b, converts a to the precision of `sum`.
template <class Queue>
void flat_sum(Queue& queue, ConstTensorView a, ConstTensorView b, TensorView sum) {
    for_dtype(a.dtype, [&]<class A>(A*) {
        for_dtype(b.empty() ? a.dtype : b.dtype, [&]<class B>(B*) {
            for_dtype(sum.dtype, [&]<class Sum>(Sum*) {
                queue.launch(FlatSumKernel<A, B, Sum>{.a = elements<A>(a),
                                                      .b = b.empty() ? nullptr : elements<B>(b),
                                                      .sum = elements<Sum>(sum),
                                                      .size = sum.size,
                                                      .vector = aligned(a) && aligned(sum) &&
                                                                (b.empty() || aligned(b))},
                             flat_geometry(sum.size));
            });
        });
    });
}

}  // namespace orrery::device

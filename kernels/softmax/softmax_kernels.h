// SPDX-License-Identifier: Apache-2.0
// Unfused attention's softmax in the list of kernels (kernels/kernel_list.h). Scores, probabilities
// and gradients are (sequence, batch, heads x keys); masks are bytes, 1 for kept.
//   softmax_forward   reads scores [scalars], writes p [mask dropped]
//   softmax_backward  reads p [mask scalars], accumulates gradient
#pragma once

#include "engine/program/device_scalars.h"
#include "kernels/kernel_descriptor.h"
#include "kernels/softmax/softmax.h"

namespace orrery::kernel {

inline bool softmax_takes(const KernelCall& key) {
    return key.variant < 8;
}

inline std::int64_t num_scores(const SoftmaxShape& s) {
    return s.batch * s.heads * s.seq_q * s.seq_kv;
}

struct SoftmaxForward {
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        const SoftmaxShape s = softmax_shape(call);
        const std::int64_t scores = num_scores(s);
        return compare(
            sizes,
            s.dropout ? ExpectedSizes{.reads = {scores, kNumDeviceScalars},
                                      .writes = {scores, scores, scores},
                                      .accumulates = {}}
                      : ExpectedSizes{.reads = {scores}, .writes = {scores}, .accumulates = {}});
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::softmax_forward,
        .num_dims = 4,
        .num_optional_dims = 2,
        .takes = softmax_takes,
        .call =
            [](const KernelCall& key) { return softmax_forward(softmax_shape(key), key.dtype); },
        .why_not = why_not};
};

struct SoftmaxBackward {
    static std::string why_not(const KernelCall& call, const OperandSizes& sizes) {
        const SoftmaxShape s = softmax_shape(call);
        const std::int64_t scores = num_scores(s);
        ExpectedSizes e{.reads = {scores}, .writes = {}, .accumulates = {scores}};
        if (s.dropout) {
            e.reads = {scores, scores, kNumDeviceScalars};
        }
        return compare(sizes, e);
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::softmax_backward,
        .num_dims = 4,
        .num_optional_dims = 2,
        .takes = softmax_takes,
        .call =
            [](const KernelCall& key) { return softmax_backward(softmax_shape(key), key.dtype); },
        .why_not = why_not};
};

}  // namespace orrery::kernel

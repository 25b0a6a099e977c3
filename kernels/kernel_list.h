// SPDX-License-Identifier: Apache-2.0
// The list of all kernels (kernels/kernel_descriptor.h), in the order of KernelKind. Tables are
// generated from it: descriptors (kernels/catalogue.h), CPU implementations (kernels/cpu_kernels.h)
// and GPU implementations (kernels/cuda/device_kernels.h).
#pragma once

#include "kernels/activation/activation_kernels.h"
#include "kernels/attention/attention_kernels.h"
#include "kernels/cast/cast_kernels.h"
#include "kernels/cross_entropy/cross_entropy_kernels.h"
#include "kernels/elementwise/elementwise_kernels.h"
#include "kernels/embedding/embedding_kernels.h"
#include "kernels/expert_rows/expert_rows_kernels.h"
#include "kernels/gemm/gemm_kernels.h"
#include "kernels/layernorm/layernorm_kernels.h"
#include "kernels/optimizer/optimizer_kernels.h"
#include "kernels/quantise/quantise_kernels.h"
#include "kernels/residual/residual_kernels.h"
#include "kernels/rmsnorm/rmsnorm_kernels.h"
#include "kernels/rope/rope_kernels.h"
#include "kernels/router/router_kernels.h"
#include "kernels/softmax/softmax_kernels.h"

namespace orrery::kernel {

template <class... Kernels>
struct KernelList {
    static constexpr std::size_t kSize = sizeof...(Kernels);
};

using All = KernelList<Gemm,
                       AttentionForward,
                       AttentionBackward,
                       SoftmaxForward,
                       SoftmaxBackward,
                       NormForward<LayerNorm>,
                       NormBackward<LayerNorm>,
                       NormForward<RmsNorm>,
                       NormBackward<RmsNorm>,
                       Rope,
                       GeluForward,
                       GeluBackward,
                       SwigluForward,
                       SwigluBackward,
                       ResidualAdd,
                       Dropout,
                       BiasGradient,
                       EmbeddingForward,
                       EmbeddingBackward,
                       CrossEntropyForward,
                       CrossEntropyBackward,
                       Cast,
                       GradientAccumulate,
                       GradientNorm,
                       GradientScale,
                       Adamw,
                       LambUpdate,
                       Lamb,
                       Transpose,
                       RouterForward,
                       RouterBackward,
                       ExpertCounts,
                       Permute,
                       Unpermute,
                       ExpertBias,
                       Quantise,
                       Requantise,
                       Dequantise>;

// table[kind] = of<Kernel>() for every kernel.
template <class Value, class Of, class... Kernels>
constexpr std::array<Value, sizeof...(Kernels)> table_of(KernelList<Kernels...>, const Of& of) {
    return {of.template operator()<Kernels>()...};
}

static_assert(All::kSize == kNumKernelKinds, "each kind has its place in the list of kernels");
static_assert(
    [] {
        const auto kinds =
            table_of<KernelKind>(All{}, []<class K>() { return K::kDescriptor.kind; });
        for (std::size_t i = 0; i < kinds.size(); ++i) {
            if (kinds[i] != static_cast<KernelKind>(i)) {
                return false;
            }
        }
        return true;
    }(),
    "the list of kernels is in the order of KernelKind");

}  // namespace orrery::kernel

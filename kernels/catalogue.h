// SPDX-License-Identifier: Apache-2.0
// Look-up of kernel descriptors by kind. Each family has a folder. Its header documents the dims
// and variant of a KernelCall and the counts of FLOP and bytes. kernels/kernel_list.h lists the
// descriptors.
#pragma once

#include <optional>
#include <string_view>

#include "kernels/activation/activation.h"        // gelu_*, swiglu_*
#include "kernels/attention/attention.h"          // attention_forward, attention_backward
#include "kernels/cast/cast.h"                    // cast, cast_transpose
#include "kernels/cross_entropy/cross_entropy.h"  // cross_entropy_*
#include "kernels/elementwise/elementwise.h"      // transpose
#include "kernels/embedding/embedding.h"          // embedding_*
#include "kernels/gemm/gemm.h"                    // gemm
#include "kernels/kernel_descriptor.h"
#include "kernels/layernorm/layernorm.h"          // layernorm_*
#include "kernels/optimizer/optimizer.h"          // adamw, lamb, gradient_*
#include "kernels/residual/residual.h"            // residual_add, bias_dropout_add, dropout, …
#include "kernels/rmsnorm/rmsnorm.h"              // rmsnorm_*
#include "kernels/rope/rope.h"                    // rope
#include "kernels/softmax/softmax.h"              // softmax_forward, softmax_backward

namespace orrery {

const KernelDescriptor& descriptor_of(KernelKind kind);

// The descriptor's call for these arguments, with its FLOP and bytes. No value if a dimension or
// the variant is out of range.
std::optional<KernelCall> call_from_key(KernelKind kind,
                                        Dtype dtype,
                                        std::uint8_t variant,
                                        const std::array<std::int64_t, 6>& dims);

std::optional<KernelKind> kernel_kind(std::string_view name);
std::optional<Dtype> dtype_named(std::string_view name);

}  // namespace orrery

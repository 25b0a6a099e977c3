// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_attention.h"

namespace orrery {

Errors check_attention(const Transformer& model, const ParallelPlan& plan, bool shared) {
    Errors errors;
    if (plan.eager_attention && plan.attention_kernel != AttentionKernel::unfused) {
        errors.push_back({"plan.eager_attention",
                          "a fused kernel makes no mask and no scores",
                          "false, or plan.attention_kernel: unfused"});
    }
    if (!plan.fp8_dot_product_attention) {
        return errors;
    }
    const auto require = [&](bool good, const char* what, const char* hint) {
        if (!good) {
            errors.push_back({"plan.fp8_dot_product_attention", what, hint});
        }
    };
    require(plan.precision == Dtype::fp8,
            "no other product is in FP8",
            "false, or plan.precision: fp8");
    require(plan.attention_kernel == AttentionKernel::flash_3 ||
                plan.attention_kernel == AttentionKernel::cudnn,
            "only cuDNN and FlashAttention 3 have such kernels",
            "false, or plan.attention_kernel: cudnn");
    require(!shared || plan.context_parallel_comm == ContextParallelComm::all_to_all,
            "keys and values go to other ranks in 16 bits",
            "false, or plan.context_parallel_comm: all_to_all");
    require(model.linear_attention_every != 1,
            "all layers have linear attention",
            "false, or another model.linear_attention_every");
    return errors;
}

}  // namespace orrery

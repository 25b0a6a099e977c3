// SPDX-License-Identifier: Apache-2.0
#include "runtime/state/upcycling.h"

#include <algorithm>

#include "engine/base/check.h"

namespace orrery {

Result<Transformer> dense_counterpart(const Transformer& model) {
    if (model.num_experts == 0) {
        return model;
    }
    const bool layers_fit = (model.first_k_dense_replace == 0 && model.moe_layer_freq == 1) ||
                            model.ffn_hidden_size == model.expert_ffn_size();
    if (!layers_fit || model.moe_shared_expert_intermediate_size > 0) {
        return fail("",
                    "experts begin as copies of one MLP: layers with other MLPs, or with a shared "
                    "expert, have no weights to begin with",
                    "model.moe_ffn_hidden_size as ffn_hidden_size, and no shared expert");
    }
    Transformer dense = model;
    const Transformer none;
    dense.ffn_hidden_size = model.expert_ffn_size();
    dense.num_experts = none.num_experts;
    dense.moe_ffn_hidden_size = none.moe_ffn_hidden_size;
    return dense;
}

std::string dense_parameter(std::string_view parameter) {
    constexpr std::string_view kExperts = ".mlp.experts.";
    std::string name{parameter};
    if (name.find(".mlp.router.") != std::string::npos) {
        return {};
    }
    if (const std::size_t at = name.find(kExperts); at != std::string::npos) {
        name.replace(at, kExperts.size(), ".mlp.");
    }
    return name;
}

std::vector<float> for_every_expert(std::vector<float> values, std::size_t elements) {
    ORRERY_CHECK(!values.empty() && elements % values.size() == 0);
    const std::size_t one = values.size();
    values.resize(elements);
    for (std::size_t first = one; first < elements; first += one) {
        std::copy_n(values.begin(), one, values.begin() + static_cast<std::ptrdiff_t>(first));
    }
    return values;
}

}  // namespace orrery

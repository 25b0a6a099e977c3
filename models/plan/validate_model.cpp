// SPDX-License-Identifier: Apache-2.0
#include "models/plan/validate_model.h"

#include <fmt/format.h>

#include "kernels/attention/attention.h"
#include "models/plan/divisors.h"

namespace orrery {

Errors check_model_sizes(const Transformer& model) {
    struct Size {
        const char* key;
        std::int64_t value;
        std::int64_t low;
        std::int64_t high;
    };
    Errors errors;
    for (const Size& size : {Size{"num_layers", model.num_layers, 1, kSizeMax},
                             {"hidden_size", model.hidden_size, 1, kSizeMax},
                             {"ffn_hidden_size", model.ffn_hidden_size, 1, kSizeMax},
                             {"num_attention_heads", model.num_attention_heads, 1, kSizeMax},
                             {"num_query_groups", model.num_query_groups, 1, kSizeMax},
                             {"kv_channels", model.kv_channels, 1, kHeadDimMax},
                             {"seq_length", model.seq_length, 1, kSizeMax},
                             {"vocab_size", model.vocab_size, 1, kSizeMax},
                             {"sliding_window", model.sliding_window, 0, kSizeMax},
                             {"sliding_window_every", model.sliding_window_every, 1, kSizeMax},
                             {"full_attention_every", model.full_attention_every, 0, kSizeMax}}) {
        if (size.value < size.low || size.value > size.high) {
            errors.push_back({fmt::format("model.{}", size.key),
                              fmt::format("{} is out of range", size.value),
                              fmt::format("{} to {}", size.low, size.high)});
        }
    }
    return errors;
}

Errors check_model_shape(const Transformer& model) {
    Errors errors;
    const auto reject = [&](const char* key, std::string what, std::string hint) {
        errors.push_back({key, std::move(what), std::move(hint)});
    };
    const std::int64_t heads = model.num_attention_heads;
    if (heads % model.num_query_groups != 0) {
        reject(
            "model.num_query_groups",
            fmt::format("{} does not divide num_attention_heads {}", model.num_query_groups, heads),
            valid_divisors(heads, heads));
    }
    if (model.sandwich_norm && model.parallel_block) {
        reject("model.sandwich_norm", "a parallel block has one sum of two branches", "false");
    }
    if (model.sandwich_norm && model.add_bias_linear) {
        reject("model.sandwich_norm",
               "biases of the last products are added behind the norm",
               "false, or model.add_bias_linear: false");
    }
    if (model.add_qkv_bias && model.multi_latent_attention) {
        reject("model.add_qkv_bias", "latent attention has no product of all three", "false");
    }
    if (model.full_attention_every > 0 && model.sliding_window == 0) {
        reject("model.full_attention_every", "without a window all layers attend in full", "0");
    }
    return errors;
}

}  // namespace orrery

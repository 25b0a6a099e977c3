// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/attention_buffers.h"

namespace orrery {

std::vector<Value> attention_backward_buffers(BlockBuilder& b, const Value& qkv) {
    std::vector<Value> buffers;
    if (!b.plan.attention_backward_buffers) {
        return buffers;
    }
    const std::int64_t width = b.model.query_size();
    const auto add = [&](std::string_view name, std::int64_t columns, Dtype dtype) {
        buffers.push_back(
            b.value(name, columns, qkv.layout, Lifetime::slot, dtype, TensorKind::workspace));
    };
    add("query gradient sums", width, Dtype::fp32);
    if (b.attended_key_value_size() < width) {
        add("key value gradients of query heads", 2 * width, qkv.dtype);
    }
    return buffers;
}

}  // namespace orrery

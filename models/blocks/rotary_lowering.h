// SPDX-License-Identifier: Apache-2.0
// The rotary embedding of packed Q, K and V.
#pragma once

#include <string_view>

#include "models/segments/block_builder.h"

namespace orrery {

// In place. `back` rotates a gradient by the negative angle, the rotation's transpose. Has no
// effect for models without the embedding, or with latent attention, which rotates parts of heads
// while it makes Q and K.
void rotate(BlockBuilder& b, std::string_view name, const Value& qkv, bool back);

}  // namespace orrery

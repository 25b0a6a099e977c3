// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/tiled_mlp.h"

#include "models/blocks/activation_lowering.h"
#include "models/blocks/layer_nodes.h"
#include "models/blocks/token_tiles.h"

namespace orrery {

void TiledMlpNode::forward(ForwardPass& pass) {
    BlockBuilder& b = pass.b;
    const Value& x = x_.value;
    const LayerParameters& p = parameters_;
    const TokenTiles tiles{b, x, b.plan.mlp_tile_tokens};
    const Dtype dtype = b.activation_dtype();
    y_.value = b.value("fc2", p.fc2.shape[kOutput], x.layout, Lifetime::slot);
    Value fc1 = tiles.buffer("fc1", p.fc1.shape[kOutput], dtype, TensorKind::activations);
    b.set_column_parts(fc1, p.fc1.column_parts);
    const Value activated =
        tiles.buffer("activation", p.fc2.shape[kInput], dtype, TensorKind::activations);
    for (std::int64_t tile = 0; tile < tiles.count(); ++tile) {
        tiles.product("fc1", tile, tiles.part_of(x), p.fc1, fc1, false);
        activation_ops(b, fc1, {}, nullptr, activated);
        tiles.product("fc2", tile, activated, p.fc2, tiles.part_of(y_.value), false);
    }
}

void TiledMlpNode::backward(BackwardPass& pass) {
    BlockBuilder& b = pass.b;
    LayerParameters& p = parameters_;
    const Value& x = x_.value;
    const Value& dy = y_.gradient;
    const TokenTiles tiles{b, x, b.plan.mlp_tile_tokens};
    const Dtype dtype = b.activation_dtype();
    const auto buffer = [&](std::string_view name, std::int64_t width) {
        return tiles.buffer(name, width, dtype, TensorKind::activations);
    };
    const std::int64_t wide = p.fc1.shape[kOutput];
    Value fc1 = buffer("fc1", wide);
    Value dfc1 = buffer("activation backward", wide);
    b.set_column_parts(fc1, p.fc1.column_parts);
    b.set_column_parts(dfc1, p.fc1.column_parts);
    const Value activated = buffer("activation", p.fc2.shape[kInput]);
    const Value dactivated = buffer("fc2 dgrad", p.fc2.shape[kInput]);
    const Value dx = b.value("fc1 dgrad", x.shape[kWidth], x.layout, Lifetime::slot);
    for (std::int64_t tile = 0; tile < tiles.count(); ++tile) {
        b.recomputing = true;
        tiles.product("fc1", tile, tiles.part_of(x), p.fc1, fc1, false);
        activation_ops(b, fc1, {}, nullptr, activated);
        b.recomputing = false;
        tiles.product("fc2 dgrad", tile, tiles.part_of(dy), p.fc2, dactivated, true);
        b.weight_product("fc2 wgrad", activated, tiles.part_of(dy), p.fc2);
        activation_backward_ops(b, dactivated, fc1, {}, nullptr, nullptr, dfc1);
        tiles.product("fc1 dgrad", tile, dfc1, p.fc1, tiles.part_of(dx), true);
        b.weight_product("fc1 wgrad", tiles.part_of(x), dfc1, p.fc1);
    }
    add_gradient(b, x_, dx);
}

}  // namespace orrery

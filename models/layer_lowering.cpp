// SPDX-License-Identifier: Apache-2.0
#include "models/layer_lowering.h"

#include "models/layer_nodes.h"

namespace orrery {

std::vector<Parameter*> LayerParameters::present() {
    std::vector<Parameter*> found;
    for (Parameter* p : {&norm1,
                         &qkv,
                         &qkv_bias,
                         &projection,
                         &projection_bias,
                         &norm2,
                         &fc1,
                         &fc1_bias,
                         &fc2,
                         &fc2_bias}) {
        if (p->elements > 0) {
            found.push_back(p);
        }
    }
    return found;
}

namespace {

// The nodes of a layer between which recomputation chooses.
struct LayerNodes {
    NormNode* norm1 = nullptr;
    ColumnInputNode* attention_input = nullptr;
    BranchOutputNode* attention_output = nullptr;  // not in a parallel block
    NormNode* norm2 = nullptr;                     // not in a parallel block
    ColumnInputNode* mlp_input = nullptr;          // in a parallel block attention's
    ColumnProductNode* fc1 = nullptr;
    ActivationNode* activation = nullptr;
    RowProductNode* fc2 = nullptr;
    BranchOutputNode* output = nullptr;
    ColumnProductNode* qkv = nullptr;
    std::vector<Node*> before_attention{};  // what makes Q, K and V of the product
};

// Keeps attention's output, and of the products none, the first of each two, or, where Q, K, V,
// gate and up are products of their own, all but K and up. All else of the layer runs again.
void choose_products(Tape& tape, const LayerRecompute& recompute, const LayerNodes& nodes) {
    const bool none = recompute.has(RecomputeModule::linear);
    const bool apart = recompute.has(RecomputeModule::every_second_projection);
    std::vector<Node*> again{nodes.norm1};
    nodes.norm1->discard();
    if (none || apart) {
        again.insert(again.end(), {nodes.attention_input, nodes.qkv});
    }
    if (none) {
        nodes.qkv->set_saved(Lifetime::slot);
        for (Node* const node : nodes.before_attention) {
            node->set_saved(Lifetime::slot);
            again.push_back(node);
        }
        nodes.fc1->set_saved(Lifetime::slot);
    } else if (apart) {
        constexpr std::int8_t kKey = 1;
        constexpr std::int8_t kUp = 1;
        nodes.qkv->run_part_again(kKey);
        nodes.fc1->run_part_again(kUp);
    }
    if (nodes.norm2 != nullptr) {
        nodes.attention_output->set_saved(Lifetime::slot);
        nodes.norm2->discard();
        again.insert(again.end(), {nodes.attention_output, nodes.norm2});
        if (none || apart) {
            again.push_back(nodes.mlp_input);
        }
    }
    if (none || apart) {
        again.push_back(nodes.fc1);
    }
    nodes.activation->set_saved(Lifetime::slot);
    again.push_back(nodes.activation);
    tape.run_again_before(*nodes.output, std::move(again));
}

void choose_modules(Tape& tape, const LayerRecompute& recompute, const LayerNodes& nodes) {
    if ((recompute.modules & kWholeLayerModules) != 0) {
        choose_products(tape, recompute, nodes);
        return;
    }
    if (recompute.has(RecomputeModule::layernorm)) {
        NormNode* const mlp_norm = nodes.norm2 != nullptr ? nodes.norm2 : nodes.norm1;
        mlp_norm->discard_output();
        // An MLP that runs again is the first to read its norm's output.
        const Node* reader = recompute.has(RecomputeModule::mlp)
                                 ? static_cast<const Node*>(nodes.output)
                                 : nodes.mlp_input;
        tape.run_again_before(*reader, {mlp_norm});
        if (mlp_norm != nodes.norm1) {
            nodes.norm1->discard_output();
            tape.run_again_before(*nodes.attention_input, {nodes.norm1});
        }
    }
    if (recompute.has(RecomputeModule::mlp)) {
        nodes.fc1->set_saved(Lifetime::slot);
        nodes.activation->set_saved(Lifetime::slot);
        std::vector<Node*> again{nodes.mlp_input, nodes.fc1, nodes.activation};
        if (nodes.norm2 != nullptr) {  // a parallel block's sum is not of the MLP alone
            again.push_back(nodes.output);
        }
        tape.run_again_before(*nodes.output, std::move(again));
    } else if (recompute.has(RecomputeModule::activation)) {
        nodes.activation->set_saved(Lifetime::slot);
        tape.run_again_before(*nodes.fc2, {nodes.activation});
    }
}

}  // namespace

Tape layer_tape(const Transformer& model,
                const LayerRecompute& recompute,
                LayerParameters& p,
                std::int64_t layer) {
    Tape tape{recompute.whole ? Lifetime::slot : Lifetime::micro_batch};
    LayerNodes nodes;
    Edge& norm1 = tape.edge();
    Edge& qkv = tape.edge();
    nodes.norm1 = &tape.add<NormNode>("norm 1", p.norm1, norm1);
    nodes.attention_input = &tape.add<ColumnInputNode>("qkv", p.qkv, norm1);
    nodes.qkv =
        &tape.add<ColumnProductNode>("qkv", *nodes.attention_input, p.qkv, p.qkv_bias, qkv, true);
    Edge& context = add_attention(tape, recompute, layer, qkv, nodes.before_attention);
    auto& projection = tape.add<RowProductNode>();
    const RowProduct project{"projection", &p.projection, &p.projection_bias, &context};
    nodes.mlp_input = nodes.attention_input;
    if (!model.parallel_block) {
        const auto purpose = RandomPurpose::projection_dropout;
        nodes.attention_output =
            &tape.add<BranchOutputNode>("projection", std::vector{project}, purpose, layer);
        projection.set_output(*nodes.attention_output, 0);
        Edge& norm2 = tape.edge();
        nodes.norm2 = &tape.add<NormNode>("norm 2", p.norm2, norm2);
        nodes.mlp_input = &tape.add<ColumnInputNode>("fc1", p.fc1, norm2);
    }
    Edge& fc1 = tape.edge();
    Edge& activated = tape.edge();
    nodes.fc1 = &tape.add<ColumnProductNode>("fc1", *nodes.mlp_input, p.fc1, p.fc1_bias, fc1);
    nodes.activation = &tape.add<ActivationNode>(fc1, activated);
    nodes.fc2 = &tape.add<RowProductNode>();
    std::vector<RowProduct> products{{"fc2", &p.fc2, &p.fc2_bias, &activated}};
    if (model.parallel_block) {
        products.insert(products.begin(), project);
    }
    const std::size_t last = products.size() - 1;
    nodes.output = &tape.add<BranchOutputNode>(model.parallel_block ? "branch" : "fc2",
                                               std::move(products),
                                               RandomPurpose::mlp_dropout,
                                               layer);
    nodes.fc2->set_output(*nodes.output, last);
    if (model.parallel_block) {
        projection.set_output(*nodes.output, 0);
    }
    choose_modules(tape, recompute, nodes);
    return tape;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "models/blocks/layer_lowering.h"

#include "models/blocks/expert_nodes.h"
#include "models/blocks/latent_attention.h"
#include "models/blocks/layer_nodes.h"
#include "models/blocks/tiled_mlp.h"

namespace orrery {

std::vector<Parameter*> LayerParameters::present() {
    std::vector<Parameter*> found;
    for (Parameter* p : {&norm1,
                         &query_down,
                         &query_latent_norm,
                         &query_up,
                         &key_value_down,
                         &key_value_latent_norm,
                         &key_value_up,
                         &qkv,
                         &qkv_bias,
                         &query_norm,
                         &key_norm,
                         &projection,
                         &projection_bias,
                         &attention_output_norm,
                         &norm2,
                         &shared_fc1,
                         &shared_fc1_bias,
                         &shared_fc2,
                         &shared_fc2_bias,
                         &router,
                         &router_bias,
                         &expert_fc1,
                         &expert_fc1_bias,
                         &expert_fc2,
                         &expert_fc2_bias,
                         &fc1,
                         &fc1_bias,
                         &fc2,
                         &fc2_bias,
                         &mlp_output_norm}) {
        if (p->elements > 0) {
            found.push_back(p);
        }
    }
    return found;
}

namespace {

// The nodes of a layer among which recomputation chooses.
struct LayerNodes {
    NormNode* norm1 = nullptr;
    Node* attention_reader = nullptr;  // its backward pass is the first to read norm 1's output
    std::vector<Node*> latent_heads;   // nodes that make heads from latent vectors
    BranchOutputNode* attention_output = nullptr;  // not in a parallel block
    NormNode* norm2 = nullptr;                     // not in a parallel block
    // Nodes of a layer with one MLP.
    ColumnInputNode* mlp_input = nullptr;  // in a parallel block, the input of attention
    ColumnProductNode* fc1 = nullptr;
    ActivationNode* activation = nullptr;
    RowProductNode* fc2 = nullptr;
    Node* tiled_mlp = nullptr;  // instead of these four nodes
    ExpertNodes experts;
    BranchOutputNode* output = nullptr;
    ColumnProductNode* qkv = nullptr;
    std::vector<Node*> before_attention{};  // nodes between the product and Q, K and V

    const Node* mlp_reader() const {
        return mlp_input != nullptr ? mlp_input : tiled_mlp != nullptr ? tiled_mlp : experts.reader;
    }
};

void choose_of_experts(Tape& tape, LayerParts parts, const LayerNodes& nodes) {
    const ExpertNodes& experts = nodes.experts;
    if (parts.has(LayerPart::experts)) {
        for (Node* node : experts.all) {
            node->set_saved(Lifetime::slot);
        }
        tape.run_again_before(*nodes.output, experts.all);
    } else if (parts.has(LayerPart::expert_activation)) {
        experts.activation->set_saved(Lifetime::slot);
        tape.run_again_before(*experts.fc2, {experts.activation});
    }
}

// Discards the outputs of these parts of the MLP and returns their nodes.
std::vector<Node*> discard_of_mlp(LayerParts parts, const LayerNodes& nodes) {
    std::vector<Node*> again;
    if (parts.has(LayerPart::fc1 | LayerPart::up)) {
        if (nodes.mlp_input != nodes.attention_reader ||
            !parts.has(LayerPart::qkv | LayerPart::key)) {
            nodes.mlp_input->set_saved(Lifetime::slot);
            again.push_back(nodes.mlp_input);
        }
        again.push_back(nodes.fc1);
    }
    if (parts.has(LayerPart::fc1)) {
        nodes.fc1->set_saved(Lifetime::slot);
    } else if (parts.has(LayerPart::up)) {
        constexpr std::int8_t kUp = 1;
        nodes.fc1->run_part_again(kUp);
    }
    if (parts.has(LayerPart::activation)) {
        nodes.activation->set_saved(Lifetime::slot);
        again.push_back(nodes.activation);
    }
    if (parts.has(LayerPart::fc2) && nodes.norm2 != nullptr) {
        again.push_back(nodes.output);  // in a parallel block the sum also has attention's branch
    }
    return again;
}

// Everything between the products that a module keeps runs again, in the order of the layer.
void choose_between_products(Tape& tape, LayerParts parts, const LayerNodes& nodes) {
    std::vector<Node*> again{nodes.norm1};
    nodes.norm1->discard();
    if (parts.has(LayerPart::qkv | LayerPart::key)) {
        nodes.attention_reader->set_saved(Lifetime::slot);
        again.insert(again.end(), {nodes.attention_reader, nodes.qkv});
    }
    if (parts.has(LayerPart::qkv)) {
        nodes.qkv->set_saved(Lifetime::slot);
    } else if (parts.has(LayerPart::key)) {
        constexpr std::int8_t kKey = 1;
        nodes.qkv->run_part_again(kKey);
    }
    if (parts.has(LayerPart::heads)) {
        for (Node* const node : nodes.before_attention) {
            node->set_saved(Lifetime::slot);
            again.push_back(node);
        }
    }
    if (nodes.norm2 != nullptr) {
        nodes.attention_output->set_saved(Lifetime::slot);
        nodes.norm2->discard();
        again.insert(again.end(), {nodes.attention_output, nodes.norm2});
    }
    const std::vector<Node*> mlp = discard_of_mlp(parts, nodes);
    again.insert(again.end(), mlp.begin(), mlp.end());
    tape.run_again_before(*nodes.output, std::move(again));
}

// Chooses the nodes that run again. Attention chooses its own (add_attention_branch).
void choose_parts(Tape& tape, const LayerRecompute& recompute, const LayerNodes& nodes) {
    const LayerParts parts = recompute.parts;
    if (recompute.of_products) {
        choose_between_products(tape, parts, nodes);
        return;
    }
    const bool dense = nodes.fc1 != nullptr;
    if (parts.has(LayerPart::norms)) {
        NormNode* const mlp_norm = nodes.norm2 != nullptr ? nodes.norm2 : nodes.norm1;
        mlp_norm->discard_output();
        // If the MLP runs again, it is the first reader of its norm's output.
        const bool reads = parts.has(dense ? LayerPart::fc1 : LayerPart::experts);
        tape.run_again_before(reads ? *nodes.output : *nodes.mlp_reader(), {mlp_norm});
        if (mlp_norm != nodes.norm1) {
            nodes.norm1->discard_output();
            tape.run_again_before(*nodes.attention_reader, {nodes.norm1});
        }
    }
    if (!dense) {
        choose_of_experts(tape, parts, nodes);
        return;
    }
    std::vector<Node*> again = discard_of_mlp(parts, nodes);
    const bool products = parts.has(LayerPart::fc1 | LayerPart::fc2);
    const Node& reader = products ? static_cast<const Node&>(*nodes.output) : *nodes.fc2;
    tape.run_again_before(reader, std::move(again));
}

// Adds the nodes up to attention's output in the layout of the projection.
Edge& add_attention_branch(Tape& tape,
                           const Transformer& model,
                           const LayerRecompute& recompute,
                           LayerParameters& p,
                           std::int64_t layer,
                           LayerNodes& nodes) {
    Edge& norm1 = tape.edge();
    if (model.multi_latent_attention) {
        nodes.norm1 = &tape.add<NormNode>("norm 1", p.norm1, norm1);
        LatentHeads heads = add_latent_heads(tape, model, p, norm1);
        nodes.attention_reader = heads.reader;
        if (!recompute.parts.has(LayerPart::latent_heads)) {
            heads.makers.clear();
        }
        for (Node* node : heads.makers) {
            node->set_saved(Lifetime::slot);
        }
        return add_attention(
            tape, recompute, layer, *heads.qkv, nodes.before_attention, std::move(heads.makers));
    }
    Edge& qkv = tape.edge();
    nodes.norm1 = &tape.add<NormNode>("norm 1", p.norm1, norm1);
    auto& input = tape.add<ColumnInputNode>("qkv", p.qkv, norm1);
    nodes.attention_reader = &input;
    nodes.mlp_input = &input;
    // Norms of heads read Q and K in their backward pass, and so do nodes that run again.
    constexpr auto kReadQkv = LayerPart::qkv | LayerPart::key | LayerPart::heads;
    const bool passed_on = !model.qk_layernorm && !recompute.parts.has(kReadQkv);
    nodes.qkv = &tape.add<ColumnProductNode>("qkv", input, p.qkv, p.qkv_bias, qkv, passed_on);
    Edge& heads = model.qk_layernorm ? add_head_norms(tape, p, qkv) : qkv;
    return add_attention(tape, recompute, layer, heads, nodes.before_attention);
}

struct MlpProduct {
    RowProduct product;
    RowProductNode* node = nullptr;
};

// Adds the shared expert, which is an ordinary MLP, and returns its nodes.
std::vector<Node*> add_shared_expert(
    Tape& tape, const ParallelPlan& plan, LayerParameters& p, Edge& x, MlpProduct& out) {
    Edge& fc1 = tape.edge();
    Edge& activated = tape.edge();
    auto& input = tape.add<ColumnInputNode>("shared fc1", p.shared_fc1, x);
    auto& product =
        tape.add<ColumnProductNode>("shared fc1", input, p.shared_fc1, p.shared_fc1_bias, fc1);
    auto& activation = tape.add<ActivationNode>(fc1, activated);
    if (plan.activation_func_fp8_input_store) {
        activation.keep_input_in_fp8(product);
    }
    out.node = &tape.add<RowProductNode>();
    out.product = {"shared fc2", &p.shared_fc2, &p.shared_fc2_bias, &activated};
    return {&input, &product, &activation};
}

// Adds the nodes of a layer with experts after the second norm.
void add_expert_branch(Tape& tape,
                       const Transformer& model,
                       const ParallelPlan& plan,
                       LayerParameters& p,
                       std::int64_t layer,
                       Edge& x,
                       LayerNodes& nodes) {
    MlpProduct shared;
    const ExpertBranch branch = add_experts(tape, plan, model, p, layer, x, [&] {
        return p.shared_fc1.elements > 0 ? add_shared_expert(tape, plan, p, x, shared)
                                         : std::vector<Node*>{};
    });
    nodes.experts = branch.nodes;
    std::vector<RowProduct> products;
    if (shared.node != nullptr) {
        products.push_back(shared.product);
    }
    nodes.output = &tape.add<BranchOutputNode>("experts",
                                               std::move(products),
                                               RandomPurpose::mlp_dropout,
                                               layer,
                                               p.mlp_output_norm,
                                               branch.routed);
    if (shared.node != nullptr) {
        shared.node->set_output(*nodes.output, 0);
    }
}

void add_tiled_mlp(Tape& tape, LayerParameters& p, std::int64_t layer, Edge& x, LayerNodes& nodes) {
    Edge& y = tape.edge();
    nodes.tiled_mlp = &tape.add<TiledMlpNode>(p, x, y);
    nodes.output = &tape.add<BranchOutputNode>(
        "fc2", std::vector<RowProduct>{}, RandomPurpose::mlp_dropout, layer, p.mlp_output_norm, &y);
}

}  // namespace

Tape layer_tape(const Transformer& model,
                const ParallelPlan& plan,
                const LayerRecompute& recompute,
                LayerParameters& p,
                std::int64_t layer) {
    Tape tape{recompute.whole.again ? Lifetime::slot : Lifetime::micro_batch};
    LayerNodes nodes;
    tape.enter(CudaGraphPart::attn);
    Edge& context = add_attention_branch(tape, model, recompute, p, layer, nodes);
    auto& projection = tape.add<RowProductNode>();
    const RowProduct project{"projection", &p.projection, &p.projection_bias, &context};
    Edge* mlp_input = nullptr;
    if (!model.parallel_block) {
        const auto purpose = RandomPurpose::projection_dropout;
        nodes.attention_output = &tape.add<BranchOutputNode>(
            "projection", std::vector{project}, purpose, layer, p.attention_output_norm);
        projection.set_output(*nodes.attention_output, 0);
        mlp_input = &tape.edge();
        tape.enter(model.layer_has_experts(layer) ? CudaGraphPart::moe_router : CudaGraphPart::mlp);
        nodes.norm2 = &tape.add<NormNode>("norm 2", p.norm2, *mlp_input);
    }
    if (model.layer_has_experts(layer)) {
        nodes.mlp_input = nullptr;
        add_expert_branch(tape, model, plan, p, layer, *mlp_input, nodes);
        choose_parts(tape, recompute, nodes);
        return tape;
    }
    tape.enter(CudaGraphPart::mlp);
    if (plan.mlp_tile_tokens > 0) {
        add_tiled_mlp(tape, p, layer, *mlp_input, nodes);
        choose_parts(tape, recompute, nodes);
        return tape;
    }
    if (!model.parallel_block) {
        nodes.mlp_input = &tape.add<ColumnInputNode>("fc1", p.fc1, *mlp_input);
    }
    Edge& fc1 = tape.edge();
    Edge& activated = tape.edge();
    nodes.fc1 = &tape.add<ColumnProductNode>("fc1", *nodes.mlp_input, p.fc1, p.fc1_bias, fc1);
    nodes.activation = &tape.add<ActivationNode>(fc1, activated);
    if (plan.activation_func_fp8_input_store) {
        nodes.activation->keep_input_in_fp8(*nodes.fc1);
    }
    nodes.fc2 = &tape.add<RowProductNode>();
    std::vector<RowProduct> products{{"fc2", &p.fc2, &p.fc2_bias, &activated}};
    if (model.parallel_block) {
        products.insert(products.begin(), project);
    }
    const std::size_t last = products.size() - 1;
    nodes.output = &tape.add<BranchOutputNode>(model.parallel_block ? "branch" : "fc2",
                                               std::move(products),
                                               RandomPurpose::mlp_dropout,
                                               layer,
                                               p.mlp_output_norm);
    nodes.fc2->set_output(*nodes.output, last);
    if (model.parallel_block) {
        projection.set_output(*nodes.output, 0);
    }
    choose_parts(tape, recompute, nodes);
    return tape;
}

}  // namespace orrery

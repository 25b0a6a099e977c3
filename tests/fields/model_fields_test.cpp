// SPDX-License-Identifier: Apache-2.0
// Every field of a model changes the lowered Program or the answer of a simulation.
#include "tests/fields/plan_changes.h"

namespace orrery {
namespace plan_fields_test {

void clamp_activation(Scenario& s) {
    s.model.activation_func_clamp_value = 7;
}
void gate_apart(Scenario& s) {
    s.model.activation = Activation::swiglu;
    s.plan.fused_activation = false;
}

void group_queries(Scenario& s) {
    s.model.num_query_groups = 4;
}
void choose_one_of_two_groups(Scenario& s) {
    s.model.moe_router_num_groups = 2;
    s.model.moe_router_group_topk = 1;
}
void give_window(Scenario& s) {
    s.model.sliding_window = 256;
}
void attend_in_full(Scenario& s) {
    s.model.full_attention_every = 2;
}
void leave_biases(Scenario& s) {
    s.model.add_bias_linear = false;
}

TEST(PlanFields, OfTheModelChangeTheProgramOrTheAnswer) {
    const Row rows[] = {
        {"name", [](Scenario& s) { s.model.name += "!"; }},
        {"num_layers", [](Scenario& s) { s.model.num_layers = 8; }},
        {"hidden_size", [](Scenario& s) { s.model.hidden_size *= 2; }},
        {"ffn_hidden_size", [](Scenario& s) { s.model.ffn_hidden_size *= 2; }},
        {"num_attention_heads",
         [](Scenario& s) { s.model.num_attention_heads *= 2; },
         group_queries},
        {"num_query_groups", group_queries},
        {"kv_channels", [](Scenario& s) { s.model.kv_channels *= 2; }},
        {"seq_length", [](Scenario& s) { s.model.seq_length *= 2; }},
        {"vocab_size", [](Scenario& s) { s.model.vocab_size *= 2; }},
        {"normalization", [](Scenario& s) { s.model.normalization = Normalization::rmsnorm; }},
        {"position_embedding",
         [](Scenario& s) { s.model.position_embedding = PositionEmbedding::rope; }},
        {"activation", [](Scenario& s) { s.model.activation = Activation::swiglu; }},
        {"activation_func_clamp_value", clamp_activation, gate_apart},
        {"add_bias_linear", [](Scenario& s) { s.model.add_bias_linear = false; }},
        {"add_qkv_bias", [](Scenario& s) { s.model.add_qkv_bias = true; }, leave_biases},
        {"tied_embeddings", [](Scenario& s) { s.model.tied_embeddings = false; }},
        {"sandwich_norm", [](Scenario& s) { s.model.sandwich_norm = true; }, leave_biases},
        {"parallel_block", [](Scenario& s) { s.model.parallel_block = true; }},
        {"dropout", [](Scenario& s) { s.model.dropout = 0.5; }},
        {"sliding_window", give_window},
        {"sliding_window_every",
         [](Scenario& s) { s.model.sliding_window_every = 2; },
         give_window},
        {"full_attention_every", attend_in_full, give_window},
        {"linear_attention_every", [](Scenario& s) { s.model.linear_attention_every = 2; }},
        {"num_experts", [](Scenario& s) { s.model.num_experts = 4; }},
        {"moe_router_topk", [](Scenario& s) { s.model.moe_router_topk = 1; }, give_experts},
        {"moe_ffn_hidden_size",
         [](Scenario& s) { s.model.moe_ffn_hidden_size = 128; },
         give_experts},
        {"moe_shared_expert_intermediate_size",
         [](Scenario& s) { s.model.moe_shared_expert_intermediate_size = 256; },
         give_experts},
        {"first_k_dense_replace",
         [](Scenario& s) { s.model.first_k_dense_replace = 1; },
         give_experts},
        {"moe_layer_freq", [](Scenario& s) { s.model.moe_layer_freq = 2; }, give_experts},
        {"moe_router_num_groups",
         choose_one_of_two_groups,
         [](Scenario& s) {
             spread_experts(s);
             s.plan.moe_router_load = RouterLoad::uniform;
         }},
        {"moe_router_group_topk",
         [](Scenario& s) { s.model.moe_router_group_topk = 1; },
         group_experts},
        {"moe_router_score_function", score_by_sigmoid, fuse_experts},
        {"moe_aux_loss_coeff", balance_by_loss, fuse_experts},
        {"moe_router_bias_update_rate", balance_by_bias, fuse_experts},
        {"mtp_num_layers",
         [](Scenario& s) { s.model.mtp_num_layers = 1; },
         [](Scenario& s) { s.model.tied_embeddings = false; }},
        {"multi_latent_attention", [](Scenario& s) { s.model.multi_latent_attention = true; }},
        {"q_lora_rank", [](Scenario& s) { s.model.q_lora_rank = 32; }, give_latent_attention},
        {"kv_lora_rank", [](Scenario& s) { s.model.kv_lora_rank = 32; }, give_latent_attention},
        {"qk_head_dim", [](Scenario& s) { s.model.qk_head_dim = 64; }, give_latent_attention},
        {"qk_pos_emb_head_dim",
         [](Scenario& s) { s.model.qk_pos_emb_head_dim = 64; },
         give_latent_attention},
        {"v_head_dim", [](Scenario& s) { s.model.v_head_dim = 64; }, give_latent_attention},
        {"embed_layernorm", [](Scenario& s) { s.model.embed_layernorm = true; }},
        {"qk_layernorm", [](Scenario& s) { s.model.qk_layernorm = true; }},
    };
    expect_effects<Transformer>(rows, base(), kAnswers);
}

}  // namespace plan_fields_test
}  // namespace orrery

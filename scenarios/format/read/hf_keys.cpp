// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/hf_keys.h"

#include "scenarios/format/document/map_reader.h"

namespace orrery {
namespace {

constexpr std::string_view kToken = "the id of a token";
constexpr std::string_view kConstant = "a constant inside a kernel";
constexpr std::string_view kStart = "initial values";
constexpr std::string_view kNames = "names and versions";
constexpr std::string_view kGenerating = "of generating text";
constexpr std::string_view kClassifier = "of classifiers built on the model";
constexpr std::string_view kOutputs = "what the Python module returns";
constexpr std::string_view kTrainedIn = "plan.precision says how to train";
constexpr std::string_view kPositions = "positions of another length cost the same";
constexpr std::string_view kChoice =
    "which experts, not how many; plan.moe_router_load says the load";
constexpr std::string_view kLoss = "a term of the loss on few numbers";
constexpr std::string_view kInBlocks = "how the Python module splits its work";

struct Irrelevant {
    std::string_view key;
    std::string_view why;
};
constexpr Irrelevant kIrrelevant[] = {
    {"bos_token_id", kToken},
    {"eos_token_id", kToken},
    {"pad_token_id", kToken},
    {"sep_token_id", kToken},
    {"unk_token_id", kToken},
    {"cls_token_id", kToken},
    {"mask_token_id", kToken},
    {"decoder_start_token_id", kToken},
    {"forced_bos_token_id", kToken},
    {"forced_eos_token_id", kToken},
    {"rms_norm_eps", kConstant},
    {"layer_norm_epsilon", kConstant},
    {"layer_norm_eps", kConstant},
    {"query_pre_attn_scalar", kConstant},
    {"rope_theta", kConstant},
    {"rotary_emb_base", kConstant},
    {"scale_attn_weights", kConstant},
    {"rope_scaling", kPositions},
    {"rope_parameters", kPositions},
    {"original_max_position_embeddings", kPositions},
    {"n_ctx", kPositions},
    {"initializer_range", kStart},
    {"architectures", kNames},
    {"auto_map", kNames},
    {"_name_or_path", kNames},
    {"name_or_path", kNames},
    {"transformers_version", kNames},
    {"tokenizer_class", kNames},
    {"_commit_hash", kNames},
    {"torch_dtype", kTrainedIn},
    {"dtype", kTrainedIn},
    {"use_cache", kGenerating},
    {"use_bfloat16", kTrainedIn},
    {"task_specific_params", kGenerating},
    {"max_length", kGenerating},
    {"min_length", kGenerating},
    {"do_sample", kGenerating},
    {"early_stopping", kGenerating},
    {"num_beams", kGenerating},
    {"num_beam_groups", kGenerating},
    {"diversity_penalty", kGenerating},
    {"temperature", kGenerating},
    {"top_k", kGenerating},
    {"top_p", kGenerating},
    {"typical_p", kGenerating},
    {"repetition_penalty", kGenerating},
    {"length_penalty", kGenerating},
    {"no_repeat_ngram_size", kGenerating},
    {"encoder_no_repeat_ngram_size", kGenerating},
    {"bad_words_ids", kGenerating},
    {"num_return_sequences", kGenerating},
    {"begin_suppress_tokens", kGenerating},
    {"suppress_tokens", kGenerating},
    {"exponential_decay_length_penalty", kGenerating},
    {"remove_invalid_values", kGenerating},
    {"prefix", kGenerating},
    {"id2label", kClassifier},
    {"label2id", kClassifier},
    {"num_labels", kClassifier},
    {"problem_type", kClassifier},
    {"finetuning_task", kClassifier},
    {"summary_activation", kClassifier},
    {"summary_first_dropout", kClassifier},
    {"summary_proj_to_labels", kClassifier},
    {"summary_type", kClassifier},
    {"summary_use_proj", kClassifier},
    {"classifier_dropout", kClassifier},
    {"output_attentions", kOutputs},
    {"output_hidden_states", kOutputs},
    {"output_scores", kOutputs},
    {"return_dict", kOutputs},
    {"return_dict_in_generate", kOutputs},
    {"torchscript", kOutputs},
    {"is_decoder", kOutputs},
    {"chunk_size_feed_forward", kInBlocks},
    {"pretraining_tp", kInBlocks},
    {"attn_implementation", "plan.attention_kernel says it"},
    {"_attn_implementation", "plan.attention_kernel says it"},
    {"_attn_implementation_autoset", "plan.attention_kernel says it"},
    {"gradient_checkpointing", "plan.recompute_granularity says it"},
    {"norm_topk_prob", kConstant},
    {"routed_scaling_factor", kConstant},
    {"scoring_func", kConstant},
    {"attn_scale", kConstant},
    {"floor_scale", kConstant},
    {"attn_temperature_tuning", kConstant},
    {"attention_multiplier", kConstant},
    {"n_group", kChoice},
    {"topk_group", kChoice},
    {"topk_method", kChoice},
    {"aux_loss_alpha", kLoss},
    {"seq_aux", kLoss},
    {"router_aux_loss_coef", kLoss},
    {"router_jitter_noise", kLoss},
    {"output_router_logits", kOutputs},
    {"ep_size", "plan.expert_model_parallel_size says it"},
    {"initial_context_length", kPositions},
    {"offset_alibi", kPositions},
    {"bias_dropout_fusion", kInBlocks},
    {"masked_softmax_fusion", kInBlocks},
    {"attention_softmax_in_fp32", kInBlocks},
    {"skip_bias_add", kInBlocks},
    {"skip_bias_add_qkv", kInBlocks},
    {"slow_but_exact", kInBlocks},
    {"quantization_config", "of the released weights; plan.precision says how to train"},
};

// A key that is neutral at one value, and the loss at all others.
struct Switched {
    std::string_view key;
    double neutral;  // of false: 0, of true: 1
    std::string_view lost;
};
constexpr Switched kSwitched[] = {
    {"attention_bias", 0, "biases of the attention's products"},
    {"qkv_bias", 0, "biases of the attention's products"},
    {"mlp_bias", 0, "biases of the MLP's products"},
    {"attention_dropout", 0, "dropout of the attention's weights"},
    {"attn_pdrop", 0, "dropout of the attention's weights"},
    {"embd_pdrop", 0, "dropout of the embedding's output"},
    {"attn_logit_softcapping", 0, "a tanh on every score of the attention"},
    {"final_logit_softcapping", 0, "a tanh on every logit"},
    {"num_nextn_predict_layers", 0, "layers that predict further tokens"},
    {"partial_rotary_factor", 1, "a rotation of a part of each head only"},
    {"rotary_pct", 1, "a rotation of a part of each head only"},
    {"qk_layernorm", 0, "norms of query and key"},
    {"use_qk_norm", 0, "norms of query and key"},
    {"scale_attn_by_inverse_layer_idx", 0, "a scale of each layer's own"},
    {"reorder_and_upcast_attn", 0, "attention in fp32"},
    {"add_cross_attention", 0, "a second attention in each layer"},
    {"cross_attention_hidden_size", 0, "a second attention in each layer"},
    {"is_encoder_decoder", 0, "the encoder"},
    {"tie_encoder_decoder", 0, "the encoder"},
};

double switch_value(const DocumentNode& value) {
    return value.text == "true"    ? 1
           : value.text == "false" ? 0
                                   : MapReader::number(value).value_or(-1);
}

}  // namespace

HfKey left_out_hf_key(std::string_view key, const DocumentNode& value) {
    if (value.kind == DocumentNode::Kind::null) {
        return {HfKeyEffect::none, "null"};
    }
    for (const auto& [known, why] : kIrrelevant) {
        if (known == key) {
            return {HfKeyEffect::none, why};
        }
    }
    for (const auto& [known, neutral, lost] : kSwitched) {
        if (known == key) {
            return switch_value(value) == neutral ? HfKey{HfKeyEffect::none, "off"}
                                                  : HfKey{HfKeyEffect::answer, lost};
        }
    }
    const bool empty = !value.is_scalar() && value.items.empty();  // "pruned_heads": {}
    return empty ? HfKey{HfKeyEffect::none, "empty"} : HfKey{};
}

}  // namespace orrery

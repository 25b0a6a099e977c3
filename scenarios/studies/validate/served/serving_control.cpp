// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/serving_control.h"

#include <algorithm>
#include <cmath>

namespace orrery {

namespace {

constexpr double kMemoryShare = 0.75;    // of the memory bandwidth
constexpr double kComputeShare = 0.55;   // of the precision's peak
constexpr double kAttentionShare = 0.4;  // of the 16-bit peak
constexpr double kStep_s = 0.3e-3;
constexpr double kLayer_s = 8e-6;
constexpr double kCollective_s = 12e-6;
constexpr double kCacheShare = 0.9;  // of the memory beside weights

double bytes_of_word(const std::string& precision) {
    if (precision == "fp4" || precision == "int4") {
        return 0.5;
    }
    return precision == "fp8" || precision == "int8" ? 1 : 2;
}

class ClosedForm {
public:
    ClosedForm(const ServingCase& row,
               const Transformer& model,
               const DeviceSpec& device,
               bool nvlink)
        : row_(row), model_(model), device_(device) {
        gpus_ =
            static_cast<double>(row.tensor_parallel * row.pipeline_parallel * row.data_parallel);
        bandwidth_ = static_cast<double>(device.memory_bandwidth.bits_per_second()) / 8;
        link_ = (device.generation == "ampere" ? 150e9 : 250e9) / (nvlink ? 1 : 4);
        layers_ = static_cast<double>(model.num_layers);
        const double cache_bytes = bytes_of_word(row.key_value_precision);
        const double width =
            model.multi_latent_attention
                ? static_cast<double>(model.kv_lora_rank + model.qk_pos_emb_head_dim)
                : static_cast<double>(model.kv_size() + model.value_size());
        token_bytes_ = width * cache_bytes * layers_;
    }

    ServedFigures figures() const {
        return row_.load == "static" || row_.load == "single" ? of_batch() : of_flow();
    }

private:
    double mean_input() const { return row_.input_tokens; }
    double mean_output() const { return std::max(row_.output_tokens, 1.0); }
    double mean_context() const { return mean_input() + mean_output() / 2; }

    double weight_bytes(double tokens) const {
        const double all = static_cast<double>(num_parameters(model_));
        if (model_.num_experts == 0) {
            return all * bytes_of_word(row_.weight_precision);
        }
        double expert_layers = 0;
        for (std::int64_t layer = 0; layer < model_.num_layers; ++layer) {
            expert_layers += model_.layer_has_experts(layer) ? 1 : 0;
        }
        const double expert = static_cast<double>((model_.gated_mlp() ? 3 : 2) *
                                                  model_.hidden_size * model_.expert_ffn_size());
        const double idle = static_cast<double>(model_.num_experts) -
                            experts_reached(model_.num_experts, model_.moe_router_topk, tokens);
        return (all - expert_layers * idle * expert) * bytes_of_word(row_.weight_precision);
    }

    // Time of a step with `generating` sequences and `prompt` tokens, each of which sees `seen`
    // tokens.
    double step(double generating, double prompt, double seen) const {
        const double tokens = generating + prompt;
        const double memory = (weight_bytes(tokens) + generating * mean_context() * token_bytes_) /
                              (gpus_ * kMemoryShare * bandwidth_);
        const Dtype products =
            bytes_of_word(row_.weight_precision) <= 1 && !row_.weight_precision.starts_with("int")
                ? Dtype::fp8
                : Dtype::bf16;
        const double compute = 2 * static_cast<double>(active_parameters(model_)) * tokens /
                                   (gpus_ * kComputeShare * device_.peak(products).per_second()) +
                               4 * static_cast<double>(model_.context_size()) * layers_ * prompt *
                                   seen /
                                   (gpus_ * kAttentionShare * device_.peak_fp16.per_second());
        const double collectives =
            row_.tensor_parallel > 1
                ? 2 * layers_ *
                      (kCollective_s +
                       1.75 * tokens * static_cast<double>(model_.hidden_size) * 2 / link_)
                : 0;
        return std::max(memory, compute) + collectives + kStep_s + kLayer_s * layers_;
    }

    double most_sequences() const {
        const double left =
            gpus_ * static_cast<double>(device_.memory.count()) -
            static_cast<double>(num_parameters(model_)) * bytes_of_word(row_.weight_precision);
        const double most = kCacheShare * left / (token_bytes_ * (mean_input() + mean_output()));
        return std::max(1.0, std::floor(most));
    }

    ServedFigures of_batch() const {
        const double batch =
            row_.load == "single"
                ? 1
                : std::max<double>(1, static_cast<double>(row_.concurrency / row_.replicas));
        const double wave = std::min(batch, most_sequences());
        const double waves = std::ceil(batch / wave);
        ServedFigures figures;
        figures.ttft_s = step(0, wave * mean_input(), mean_input() / 2);
        figures.tpot_s = step(wave, 0, 0);
        figures.e2e_s = waves * (figures.ttft_s + (mean_output() - 1) * figures.tpot_s);
        figures.output_tokens_per_s =
            static_cast<double>(row_.replicas) * batch * mean_output() / figures.e2e_s;
        return figures;
    }

    // In steady state a step that generates for `batch` sequences also computes their successors'
    // prompts.
    double flowing_step(double batch) const {
        return step(batch, batch * mean_input() / mean_output(), mean_input() / 2);
    }

    double batch_of_flow() const {
        const double replicas = static_cast<double>(row_.replicas);
        double most = most_sequences();
        if (row_.max_num_seqs > 0) {
            most = std::min(most, static_cast<double>(row_.max_num_seqs));
        }
        if (row_.load == "closed") {
            return std::min(most, std::max(1.0, static_cast<double>(row_.concurrency) / replicas));
        }
        if (row_.load == "offline" || row_.request_rate <= 0) {
            return most;
        }
        // Little's law: the number of running sequences equals the arrivals during one.
        double batch = 1;
        for (int i = 0; i < 100; ++i) {
            batch = std::clamp(
                row_.request_rate / replicas * mean_output() * flowing_step(batch), 1.0, most);
        }
        return batch;
    }

    ServedFigures of_flow() const {
        const double batch = batch_of_flow();
        ServedFigures figures;
        figures.tpot_s = flowing_step(batch);
        figures.ttft_s = step(batch, mean_input(), mean_input() / 2);
        figures.e2e_s = figures.ttft_s + (mean_output() - 1) * figures.tpot_s;
        const double all = static_cast<double>(row_.replicas) * batch / figures.tpot_s;
        figures.output_tokens_per_s =
            row_.request_rate > 0 ? std::min(all, row_.request_rate * mean_output()) : all;
        return figures;
    }

    const ServingCase& row_;
    const Transformer& model_;
    const DeviceSpec& device_;
    double gpus_ = 1;
    double bandwidth_ = 0;
    double link_ = 0;
    double layers_ = 0;
    double token_bytes_ = 0;  // bytes of a token in the cache
};

}  // namespace

double experts_reached(std::int64_t experts, std::int64_t topk, double tokens) {
    const double all = static_cast<double>(experts);
    return all * (1 - std::pow(1 - static_cast<double>(topk) / all, tokens));
}

ServedFigures closed_form(const ServingCase& row,
                          const Transformer& model,
                          const DeviceSpec& device,
                          bool nvlink) {
    return ClosedForm(row, model, device, nvlink).figures();
}

}  // namespace orrery

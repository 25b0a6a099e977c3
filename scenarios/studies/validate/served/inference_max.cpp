// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/inference_max.h"

#include <cmath>
#include <string_view>

#include "scenarios/studies/validate/served/engine_release.h"

namespace orrery {

namespace {

constexpr std::int64_t kLlamaTokens = 16'384;  // max_num_tokens of 70b_fp8_h200_trt_slurm.sh

bool is_llama_by_tensorrt(const ServingCase& row) {
    return row.engine.starts_with("trtllm") && row.model.starts_with("llama") && row.gpu == "h200";
}

// Mean prompt length. The load draws lengths uniformly between length_spread times the stated
// number and that number.
double mean_tokens(const ServingCase& row) {
    constexpr double kMean = 0.9;  // RANDOM_RANGE_RATIO is 0.8
    return kMean * row.input_tokens;
}

bool is_deepseek_on(const ServingCase& row, std::string_view engine, std::string_view gpu) {
    return row.engine.starts_with(engine) && row.model == "deepseek-r1" && row.gpu == gpu;
}

// What the scripts pass to a server beside the limits of a step. Those of vLLM without
// --kv-cache-dtype, and of SGLang without it, keep a cache of 16 bits.
struct Script {
    std::string_view engine;
    std::string_view model;
    std::string_view gpu;
    const char* cache;
    double memory_share;
};
constexpr Script kScripts[] = {
    {"vllm", "gpt-oss-120b", "h100-80g", "bf16", 0.9},  // gptoss_fp4_h100
    {"vllm", "minimax-m2.5", "h100-80g", "bf16", 0.9},  // minimaxm2.5_fp8_h100
    {"vllm", "minimax-m2.5", "h200", "bf16", 0.95},     // minimaxm2.5_fp8_h200
    {"sglang", "deepseek-r1", "h200", "bf16", 0.82},    // dsr1_fp8_h200
    {"trtllm", "deepseek-r1", "h200", "fp8", 0.75},     // dsr1_fp8_h200_trt
};

// "...; 2026-03-27; ..." -> "2026-03-27"; empty without a day. Days compare as texts.
std::string day_in(const std::string& notes) {
    constexpr std::size_t kLength = 10;
    const std::size_t at = notes.find("; 20");
    return at == std::string::npos ? "" : notes.substr(at + 2, kLength);
}

// dsr1_fp8_h200_trt*.sh: experts are on all ranks. Up to 2025 the script chooses attention data
// parallelism by the number of users, and its results do not name it. The run of 14 January 2026
// has dsr1_fp8_h200_trt_mtp*.sh (pull request 392): three proposals, one with data parallelism.
void apply_deepseek_by_tensorrt(const std::string& day, ServingCase& row) {
    constexpr double kLong = 8192;
    const std::int64_t most_users = row.input_tokens >= kLong ? 32 : 64;
    if (day < "2026" && row.concurrency > most_users && row.data_parallel == 1) {
        std::swap(row.data_parallel, row.tensor_parallel);
    }
    row.expert_parallel = row.data_parallel * row.tensor_parallel;
    if (day == "2026-01-14") {
        row.draft_tokens = row.data_parallel > 1 ? 1 : 3;
    }
}

// Results of December 2025 say one rank for experts of SGLang's pools, and attention data
// parallelism for most. These values "do nothing because they are hardcoded" by the file of the
// configurations (.github/configs/nvidia-master.yaml). With attention data parallelism experts are
// on all ranks of a pool ("DEP8"). The scripts for low latency, which alone have several decode
// instances, have tensor parallelism throughout (ai-dynamo/dynamo, examples/backends/sglang/
// slurm_jobs/scripts/gb200-fp4/disagg/1k1k-low-latency.sh; NVIDIA/srt-slurm, recipes/gb200-fp*/*/
// low-latency.yaml: data-parallel-size and expert-parallel-size are 1).
void use_pools_of_sglang(ServingCase& row) {
    if (!row.engine.starts_with("sglang")) {
        return;
    }
    const bool low_latency = row.gpu == "gb200" && row.decode.workers > 1;
    for (ServingCase::Workers* pool : {&row.prefill, &row.decode}) {
        const std::int64_t ranks = pool->data_parallel * pool->tensor_parallel;
        if (low_latency) {
            *pool = {.workers = pool->workers, .tensor_parallel = ranks};
        } else if (pool->data_parallel > 1) {
            pool->expert_parallel = ranks;
        }
    }
}

// A prompt of 7,140 tokens has 35,921 for the server (pull request 937).
constexpr double kTokensOfServer = 35'921.0 / 7'140;

// SGLang needs transformers 5 from 0.5.10 on, which splits text for DeepSeek's tokenizer by the
// wrong rules. The server mends its own tokenizer, and the client makes its prompts with the other
// one. The client's remedy reads a local checkpoint, which B300's script has from pull request 1539
// on.
bool splits_prompts_anew(const ServingCase& row, const std::string& day) {
    return is_deepseek_on(row, "sglang-0.5.10", "b300") && day < "2026-05-28";
}

}  // namespace

bool is_inference_max(const ServingCase& row) {
    return row.source.find("InferenceMAX") != std::string::npos;
}

void apply_inference_max_script(const std::string& notes, ServingCase& row) {
    if (!is_inference_max(row)) {
        return;
    }
    if (row.mode == "disaggregated") {
        use_pools_of_sglang(row);
        return;
    }
    for (const Script& script : kScripts) {
        if (row.engine.starts_with(script.engine) && row.model == script.model &&
            row.gpu == script.gpu) {
            row.key_value_precision = script.cache;
            row.memory_share = script.memory_share;
        }
    }
    const std::string day = day_in(notes);
    // From pull request 480 on the client warms the server up with twice the users' requests.
    // TensorRT-LLM has DeepGEMM's kernels on Hopper alone (deep_gemm/compiler.cuh).
    row.cold_start =
        !day.empty() && day < "2026-01-21" && (row.gpu == "h100-80g" || row.gpu == "h200");
    if (is_deepseek_on(row, "trtllm", "h200")) {
        apply_deepseek_by_tensorrt(day, row);
    }
    if (splits_prompts_anew(row, day)) {
        row.input_tokens *= kTokensOfServer;
        row.tokens_of_text = kTokensOfServer;
    }
    if (is_deepseek_on(row, "sglang", "b300")) {
        row.memory_share = row.tensor_parallel == 4 ? 0.95 : 0.82;
    }
    // From March 2026 on minimaxm2.5_fp8_h200.sh has --enable-expert-parallel for each EP_SIZE.
    if (row.model == "minimax-m2.5" && row.gpu == "h200" && day >= "2026-03-02") {
        row.expert_parallel = row.tensor_parallel;
    }
}

std::uint32_t inference_max_steps_to_queue(const ServingCase& row) {
    constexpr std::int64_t kManyUsers = 16;
    // The recipes for low latency (NVIDIA/srt-slurm, recipes/gb200-fp*/*/low-latency.yaml), which
    // have no attention data parallelism.
    constexpr std::uint32_t kLowLatency = 10;
    if (is_inference_max(row) && is_deepseek_on(row, "sglang", "gb200") &&
        row.mode == "disaggregated") {
        return row.decode.data_parallel == 1 ? kLowLatency : 1;
    }
    if (!is_inference_max(row) || !is_deepseek_on(row, "sglang", "b300")) {
        return 1;
    }
    return row.tensor_parallel == 8 && row.concurrency >= kManyUsers ? 30 : 10;
}

bool inference_max_schedules_ahead(const ServingCase& row) {
    return is_inference_max(row) && row.engine.starts_with("vllm") &&
           (row.model == "llama-3.1-70b" || row.model == "gpt-oss-120b");
}

std::string_view inference_max_engine(const ServingCase& row) {
    // vLLM's default for FP8 with scales of blocks on Hopper: FlashInfer's CUTLASS kernels from
    // 0.15.0 on (pull request 33490). A log of 10 February 2026 has them, too (issue 34249), and is
    // taken for 0.16.0. That pull request gives tensor parallelism alone back to Triton; the rows
    // of 0.18.0 have expert parallelism.
    if (is_inference_max(row) && row.model == "minimax-m2.5" &&
        is_from(row.engine, "vllm-", {.major = 0, .minor = 15}) &&
        !is_from(row.engine, "vllm-", {.major = 0, .minor = 20})) {
        return "vllm-flashinfer";
    }
    const bool runs = is_deepseek_on(row, "sglang", "b300") ||
                      (is_deepseek_on(row, "sglang", "gb200") && row.decode.data_parallel == 1);
    return is_inference_max(row) && runs && row.weight_precision == "fp8" ? "sglang-flashinfer"
                                                                          : "";
}

bool inference_max_has_deep_gemm(const ServingCase& row) {
    return is_inference_max(row) && row.mode == "disaggregated" &&
           row.engine.starts_with("sglang") && row.prefill.data_parallel > 1;
}

std::optional<EngineLimits> inference_max_limits(const ServingCase& row) {
    if (!is_inference_max(row) || row.mode == "disaggregated") {
        return std::nullopt;
    }
    const auto input = static_cast<std::int64_t>(std::llround(row.input_tokens));
    if (row.engine.starts_with("vllm")) {
        // MiniMax's scripts leave the number to vLLM (H200), or set it (H100).
        const std::int64_t most = row.model != "minimax-m2.5" ? row.concurrency
                                  : row.gpu == "h200"         ? 1024
                                                              : 256;
        return EngineLimits{.max_num_seqs = most, .max_num_batched_tokens = 8192};
    }
    if (is_deepseek_on(row, "sglang", "b300")) {
        return row.tensor_parallel == 4
                   ? EngineLimits{.max_num_seqs = 32, .max_num_batched_tokens = 8192}
                   : EngineLimits{.max_num_seqs = 128, .max_num_batched_tokens = 32'768};
    }
    const bool deepseek = row.model.starts_with("deepseek-r1") && row.gpu == "h200";
    if (row.engine.starts_with("sglang") && deepseek) {
        const bool even = input == 1024 && std::llround(row.output_tokens) == 1024;
        return EngineLimits{.max_num_seqs = even ? 512 : 256, .max_num_batched_tokens = 32'768};
    }
    if (is_llama_by_tensorrt(row)) {
        return EngineLimits{.max_num_seqs = 2048, .max_num_batched_tokens = kLlamaTokens};
    }
    // Each rank has room for a token of every user and one prompt. With proposals the users are
    // those of a rank.
    if (row.engine.starts_with("trtllm") && deepseek) {
        const std::int64_t users =
            row.draft_tokens > 0 ? row.concurrency / row.data_parallel : row.concurrency;
        const std::int64_t tokens = (users * (1 + row.draft_tokens) + input + 127) / 64 * 64;
        return EngineLimits{
            .max_num_seqs = (row.draft_tokens > 0 ? users : 2048) * row.data_parallel,
            .max_num_batched_tokens = tokens * row.data_parallel};
    }
    return std::nullopt;
}

// TensorRT-LLM's batch_wait_timeout_iters and batch_wait_max_tokens_ratio: prompts wait until they
// fill 0.9 of a step, for at most twenty steps.
std::optional<PromptWait> inference_max_prompt_wait(const ServingCase& row) {
    constexpr std::int64_t kEven = 1024;
    constexpr double kFull = 0.9;
    constexpr std::uint16_t kSteps = 20;
    if (!is_inference_max(row) || !is_llama_by_tensorrt(row) || row.tensor_parallel >= 8 ||
        std::llround(row.input_tokens) != kEven || std::llround(row.output_tokens) != kEven) {
        return std::nullopt;
    }
    return PromptWait{.prompts = static_cast<std::uint16_t>(
                          std::ceil(kFull * static_cast<double>(kLlamaTokens) / mean_tokens(row))),
                      .steps = kSteps};
}

}  // namespace orrery

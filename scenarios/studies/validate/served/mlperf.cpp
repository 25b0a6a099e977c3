// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/served/mlperf.h"

#include <algorithm>
#include <cmath>

#include "kernels/csv_rows.h"

namespace orrery {

namespace {

constexpr std::string_view kDeepSeek = "deepseek-r1";

bool by_tensorrt(const ServingCase& row) {
    return row.engine.starts_with("trtllm");
}

// Whether trtllm-serve ran the row. Its configurations set cuda_graph_padding_enabled and
// workers_per_core, and 12,000 tokens per step (v5.1,
// closed/NVIDIA/configs/B200-SXM-180GBx8/*/llama3_1-8b.py, and copies of other submitters). The
// other configurations set 1,536 to 8,192 tokens.
bool by_endpoint(const ServingCase& row) {
    return row.model == "llama-3.1-8b" && row.max_num_batched_tokens == 12000;
}

// AMD's harness uses a vLLM of version 0.
bool by_amd(const ServingCase& row) {
    return row.engine.starts_with("vllm") && row.gpu.starts_with("mi");
}

bool of_amd_2024(const ServingCase& row) {
    return row.engine.ends_with("v4.1");
}

// MLPerf inference v4.1, closed/AMD/code/llama2-70b-99.9: defaults of mainVllmFp8_SyncServer.py and
// mainVllmFp8_Offline.py, and test_VllmFp8/*_perf.sh. VLLM_SCHED_PREFILL_KVC_FREEPCT of the offline
// runs is not modelled.
void set_amd_of_2024(const ServingCase& row, ServingEngine& engine) {
    const bool offline = row.load == "offline";
    engine.max_num_seqs = offline ? 2048 : 1024;
    engine.max_num_batched_tokens = offline ? 65536 : 49152;
    engine.memory_share = offline ? 0.99 : 0.97;
}

// v5.1, closed/AMD/code/*/harness_llm/models: server_, interactive_ and offline_mi300x.yaml.
// Llama 2 70B's server has AMD's own rule for prompts (VLLM_LLAMA2_MLPERF_SCHED): fewer than
// VLLM_LLAMA2_MLPERF_MIN_REQUIRE_PREFILL_QUERY prompts wait once, for the sequences that generate
// (closed/Dell_MangoBoost/code/llama2-70b-99.9/amd/setup/vllm/vllm/core/scheduler.py:
// _schedule_default). Its multiples of 16 sequences a step are not modelled.
void set_amd_of_2025(const ServingCase& row, ServingEngine& engine) {
    constexpr double kInteractive_s = 1;
    const bool mixtral = row.model.starts_with("mixtral");
    const bool interactive = row.ttft_objective_s > 0 && row.ttft_objective_s < kInteractive_s;
    const bool offline = row.load == "offline";
    engine.num_scheduler_steps = mixtral || interactive ? 8 : offline ? 11 : 9;
    engine.max_num_batched_tokens = mixtral ? 32000 : 40960;
    engine.memory_share = offline ? 0.98 : 0.99;
    const bool waits = !mixtral && !interactive && !offline;
    engine.prompts_together = waits ? 8 : 1;
    engine.prompt_wait_steps = waits ? 1 : 0;
}

// v5.1, closed/RedHat/code/llama3.1-8b/README.md: vLLM 0.10.0. The server on L40S states no limits:
// vLLM's defaults for GPUs below 70 GB apply.
void set_red_hat(const ServingCase& row, ServingEngine& engine) {
    engine.captures_generation = false;  // of 0.11 and later (engines/vllm-v1.yaml)
    const bool offline = row.load == "offline";
    if (row.gpu == "l40s") {
        engine.max_num_seqs = offline ? 512 : 256;
        engine.max_num_batched_tokens = offline ? 16384 : 2048;
        engine.memory_share = offline ? 0.95 : 0.96;
    } else {
        engine.max_num_seqs = offline ? 1024 : 512;
        engine.max_num_batched_tokens = offline ? 4096 : 1024;
        engine.memory_share = offline ? 0.9 : 0.91;
        if (!offline) {
            engine.piecewise_capture_tokens = 4232;  // --cuda-graph-sizes
        }
    }
}

// Sequences of a graph with cuda_graph_padding_enabled: cuda_graph_batch_sizes of the
// configurations for DeepSeek-R1 (closed/NVIDIA/configs of v5.1) are 128, 256, 384 and 512. Without
// that setting they are powers of two up to max_batch_size, 2,048 or 6,000 for Llama 3.1 8B
// (code/llmlib/config.py: default_capture_sizes).
std::int64_t captured_multiple(const ServingCase& row) {
    return row.model == kDeepSeek ? 128 : 4096;
}

double mean_of(const LengthTable& table) {
    double mean = 0;
    for (std::size_t i = 1; i < table.shares.size(); ++i) {
        mean += (table.shares[i] - table.shares[i - 1]) *
                (table.output_tokens[i] + table.output_tokens[i - 1]) / 2;
    }
    return mean;
}

}  // namespace

bool is_mlperf(const ServingCase& row) {
    return row.engine.find("mlperf") != std::string::npos;
}

// NVIDIA serves DeepSeek-R1 with trtllm-serve and its PyTorch backend, Llama 3.1 8B likewise if the
// configuration is that of trtllm-serve, and the other models with the C++ executor
// (closed/NVIDIA/code/*/tensorrt/__init__.py, DEFAULT_CORE_TYPE;
// code/llama3_1-8b/tensorrt/README.md, --core_type=trtllm_endpoint). Red Hat uses vLLM 0.10.0
// (closed/RedHat/code/llama3.1-8b).
std::string_view mlperf_engine(const ServingCase& row) {
    if (!is_mlperf(row)) {
        return {};
    }
    if (by_tensorrt(row)) {
        return row.model == kDeepSeek || by_endpoint(row) ? "tensorrt-llm-1" : "tensorrt-llm";
    }
    return by_amd(row) ? "vllm-v0" : "vllm-v1";
}

void set_mlperf_options(const ServingCase& row, ServingEngine& engine) {
    engine.host_per_prompt_token = {};  // its data sets are tokens
    if (by_tensorrt(row)) {
        // batch_scheduler_policy is max_util in all of NVIDIA's configurations.
        engine.scheduler = "tensorrt_llm_max_utilization";
        // adp_balancing_timeout_iters of NVIDIA's configurations for DeepSeek-R1.
        engine.prompt_wait_steps = row.load == "offline" ? 50 : 9;
        if (engine.captures_generation) {
            engine.captured_batch_multiple = captured_multiple(row);
        }
    } else if (by_amd(row)) {
        const auto set = of_amd_2024(row) ? set_amd_of_2024 : set_amd_of_2025;
        set(row, engine);
    } else {
        set_red_hat(row, engine);
    }
}

std::optional<Collecting> mlperf_collecting(const ServingCase& row) {
    if (!by_amd(row) || !of_amd_2024(row) || row.load != "poisson") {
        return std::nullopt;
    }
    // mainVllmFp8_SyncServer.py: --batcher-threshold, --gpu-batch-size. sync_sut.py gives the
    // batches to the GPUs in turn.
    return Collecting{.longest = Time::seconds(0.3), .most = 96, .servers = row.replicas};
}

// closed/RedHat/code/llama3.1-8b/README.md: --long-prefill-token-threshold.
std::int64_t mlperf_prompt_chunk(const ServingCase& row) {
    if (!is_mlperf(row) || by_tensorrt(row) || by_amd(row)) {
        return 0;
    }
    return (row.gpu == "l40s") == (row.load == "offline") ? 256 : 0;
}

std::int64_t mlperf_requests(const ServingCase& row) {
    constexpr double kLeast_s = 600;
    constexpr std::int64_t kLeast = 4000;  // for repeatable percentiles
    // DeepSeek-R1's longest outputs take longer than ten minutes. The configurations of both
    // scenarios ask for 5 to 10 passes over the data set per replica ("min_query_count").
    constexpr std::int64_t kPasses = 5 * 4388;
    const std::int64_t least = row.model == kDeepSeek ? kPasses : kLeast;
    if (row.load == "offline") {
        return row.model == kDeepSeek ? least : std::max(least, 2 * row.max_num_seqs);
    }
    const double rate = row.request_rate / static_cast<double>(row.replicas);
    return std::max<std::int64_t>(least, std::llround(kLeast_s * rate));
}

// adp_balancing_batching_wait_iters of NVIDIA's configurations for DeepSeek-R1.
std::uint32_t mlperf_prompt_batching(const ServingCase& row) {
    const bool balances = is_mlperf(row) && by_tensorrt(row) && row.model == kDeepSeek;
    return !balances ? 0 : row.load == "offline" ? 10 : 3;
}

double mlperf_token_rate(const ServingResult& result) {
    std::int64_t tokens = 0;
    Time end;
    for (const RequestRecord& record : result.records) {
        if (record.finished()) {
            tokens += record.output_tokens;
            end = record.last_token;
        }
    }
    return tokens == 0
               ? 0
               : static_cast<double>(tokens) / (end - result.records.front().arrival).seconds();
}

bool runs_whole_data_set(const ServingCase& row) {
    return row.model == kDeepSeek;
}

double mlperf_arrival_variation(const ServingCase& row) {
    return 1 / std::sqrt(static_cast<double>(row.replicas));
}

Result<LengthTable> mlperf_lengths(const ServingCase& row, const std::filesystem::path& table) {
    const auto rows = read_csv(table.string(), {"model", "share", "output_tokens"}, true);
    if (!rows) {
        return tl::unexpected(rows.error().front());
    }
    LengthTable lengths;
    for (const CsvRow& line : *rows) {
        if (line.fields[0] == row.model) {
            lengths.shares.push_back(parse_number(line.fields[1]).value_or(0));
            lengths.input_tokens.push_back(row.input_tokens);
            lengths.output_tokens.push_back(parse_number(line.fields[2]).value_or(1));
        }
    }
    const double factor = lengths.shares.empty() ? 1 : row.output_tokens / mean_of(lengths);
    for (double& tokens : lengths.output_tokens) {
        tokens *= factor;
    }
    return lengths;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/training_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>

#include "engine/base/statistics.h"
#include "scenarios/format/document/trimmed.h"
#include "scenarios/format/import/gpu_words.h"

namespace orrery {
namespace {

// The first steps open connections and warm up caches.
constexpr std::size_t kWarmUpSteps = 3;

constexpr std::string_view kLogColumns =
    "case,family,stack,source,gpu,num_gpus,gpus_per_node,nic_gbps_per_gpu,fabric,model,"
    "num_layers,hidden_size,ffn_hidden_size,num_attention_heads,num_query_groups,"
    "kv_channels,seq_length,vocab_size,gated_mlp,num_experts,tensor_model_parallel_size,"
    "pipeline_model_parallel_size,virtual_pipeline_model_parallel_size,"
    "context_parallel_size,data_parallel_size,data_parallel_sharding_strategy,"
    "sequence_parallel,micro_batch_size,global_batch_size,precision,"
    "recompute_granularity,flash_attention,overlap_grad_reduce,overlap_param_gather,"
    "tp_comm_overlap,features,measured_iteration_s,assumed,notes,compile";

using Words = std::map<std::string, std::string>;

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        lines.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return lines;
}

// The number after a label, with or without commas between thousands.
std::optional<double> number_behind(std::string_view line, std::string_view label) {
    const std::size_t at = line.find(label);
    if (at == std::string_view::npos) {
        return std::nullopt;
    }
    std::string digits;
    for (const char c : trimmed(line.substr(at + label.size()))) {
        if (c == ',') {
            continue;
        }
        if ((c < '0' || c > '9') && c != '.' && c != 'e' && c != 'E' && c != '+' && c != '-') {
            break;
        }
        digits += c;
    }
    char* end = nullptr;
    const double value = std::strtod(digits.c_str(), &end);
    return end == digits.c_str() ? std::nullopt : std::optional{value};
}

double median_step(std::vector<double> seconds, std::int64_t& steps) {
    if (seconds.size() > 2 * kWarmUpSteps) {
        seconds.erase(seconds.begin(), seconds.begin() + kWarmUpSteps);
    }
    steps = static_cast<std::int64_t>(seconds.size());
    std::ranges::sort(seconds);
    return quantile(seconds, 0.5);
}

class LogRow {
public:
    LogRow(std::string source, const TrainingLogImport& options)
        : source_(std::move(source)), options_(options) {}

    void set(const std::string& column, std::string value) { log_.row[column] = std::move(value); }
    void set(const std::string& column, std::int64_t value) { set(column, std::to_string(value)); }
    void set_flag(const std::string& column, bool value) { set(column, value ? "true" : "false"); }
    void assume(const std::string& column, std::string value) {
        set(column, std::move(value));
        log_.assumed.push_back(column);
    }
    void missing(std::string what, std::string hint) {
        errors_.push_back({source_, std::move(what), std::move(hint)});
    }
    void take_times(std::vector<double> seconds, const char* line) {
        if (seconds.empty()) {
            missing("has no finished step", fmt::format("a line with \"{}\"", line));
            return;
        }
        set("measured_iteration_s", fmt::format("{:.6g}", median_step(seconds, log_.steps)));
    }
    void set_cluster(std::int64_t gpus, std::string gpu);
    ResultOrErrors<ImportedLog> finish(const char* software);

private:
    std::string source_;
    const TrainingLogImport& options_;
    ImportedLog log_;
    Errors errors_;
};

void LogRow::set_cluster(std::int64_t gpus, std::string gpu) {
    set("num_gpus", gpus);
    set("gpus_per_node", options_.gpus_per_node);
    set("gpu", options_.gpu.empty() ? std::move(gpu) : options_.gpu);
    if (log_.row["gpu"].empty()) {
        missing("does not say which GPUs ran it", "--gpu h100-80g");
    }
    if (gpus <= options_.gpus_per_node) {
        set("fabric", "nvlink");
        return;
    }
    if (options_.fabric.empty()) {
        assume("fabric", "ib-ndr400-rail");
    } else {
        set("fabric", options_.fabric);
    }
    if (options_.nic_gbps <= 0) {
        assume("nic_gbps_per_gpu", "400");
    } else {
        set("nic_gbps_per_gpu", fmt::format("{:g}", options_.nic_gbps));
    }
}

ResultOrErrors<ImportedLog> LogRow::finish(const char* software) {
    if (!errors_.empty()) {
        return unexpected<Errors>(std::move(errors_));
    }
    const std::string stem = std::filesystem::path{source_}.stem().string();
    std::string name;
    std::ranges::copy_if(
        stem, std::back_inserter(name), [](char c) { return c != ',' && c != ';' && c != '"'; });
    set("case", name);
    set("family", name);
    set("stack", options_.software.empty() ? software : options_.software);
    set("source", std::filesystem::path{source_}.filename().string());
    set("notes", fmt::format("median of {} steps", log_.steps));
    set("assumed", fmt::format("{}", fmt::join(log_.assumed, ";")));
    return std::move(log_);
}

// Megatron-LM's arguments by name: "name ..... value", after any prefix of a launcher.
Words megatron_arguments(const std::vector<std::string_view>& lines) {
    Words arguments;
    bool inside = false;
    for (const std::string_view line : lines) {
        if (line.find("- end of arguments -") != std::string_view::npos) {
            break;
        }
        inside = inside || line.find("- arguments -") != std::string_view::npos;
        const std::size_t dots = line.find(" ..");
        if (!inside || dots == std::string_view::npos) {
            continue;
        }
        const std::string_view before = trimmed(line.substr(0, dots));
        const std::size_t value = line.find_first_not_of('.', dots + 1);
        const std::size_t space = before.rfind(' ');
        const std::string_view name =
            space == std::string_view::npos ? before : before.substr(space + 1);
        if (value != std::string_view::npos) {
            arguments.emplace(name, trimmed(line.substr(value)));
        }
    }
    return arguments;
}

class MegatronLog {
public:
    MegatronLog(const std::vector<std::string_view>& lines,
                const std::string& source,
                const TrainingLogImport& options)
        : lines_(lines), arguments_(megatron_arguments(lines)), row_(source, options) {}

    ResultOrErrors<ImportedLog> read();

private:
    std::string word(const std::string& name) const {
        const auto found = arguments_.find(name);
        return found == arguments_.end() || found->second == "None" ? "" : found->second;
    }
    bool flag(const std::string& name) const { return word(name) == "True"; }
    void copy(const std::string& column,
              const std::string& name,
              const std::string& otherwise = {});
    void read_model();
    void read_plan();

    const std::vector<std::string_view>& lines_;
    Words arguments_;
    LogRow row_;
};

void MegatronLog::copy(const std::string& column,
                       const std::string& name,
                       const std::string& otherwise) {
    const std::string value = word(name);
    if (value.empty() && otherwise.empty()) {
        row_.missing(fmt::format("its arguments have no {}", name),
                     "the whole log, from the printed arguments on");
        return;
    }
    row_.set(column, value.empty() ? otherwise : value);
}

void MegatronLog::read_model() {
    for (const char* name : {"num_layers",
                             "hidden_size",
                             "num_attention_heads",
                             "seq_length",
                             "ffn_hidden_size",
                             "kv_channels"}) {
        copy(name, name);
    }
    const bool grouped = flag("group_query_attention");
    copy("num_query_groups", grouped ? "num_query_groups" : "num_attention_heads");
    copy("vocab_size", word("padded_vocab_size").empty() ? "vocab_size" : "padded_vocab_size");
    row_.set_flag("gated_mlp", flag("swiglu"));
    row_.set("model", "log");
    if (!word("num_experts").empty()) {
        row_.missing("trains a model with experts", "logs of dense models can be imported");
    }
}

void MegatronLog::read_plan() {
    copy("tensor_model_parallel_size", "tensor_model_parallel_size", "1");
    copy("pipeline_model_parallel_size", "pipeline_model_parallel_size", "1");
    copy("virtual_pipeline_model_parallel_size", "virtual_pipeline_model_parallel_size", "1");
    copy("context_parallel_size", "context_parallel_size", "1");
    copy("data_parallel_size", "data_parallel_size", "1");
    copy("micro_batch_size", "micro_batch_size");
    copy("global_batch_size", "global_batch_size");
    row_.set("data_parallel_sharding_strategy",
             flag("use_distributed_optimizer") ? "optim" : "no_shard");
    for (const char* name :
         {"sequence_parallel", "overlap_grad_reduce", "overlap_param_gather", "tp_comm_overlap"}) {
        row_.set_flag(name, flag(name));
    }
    row_.set_flag("overlap_p2p", flag("overlap_p2p_comm"));
    const bool fp8 = !word("fp8").empty();
    row_.set("precision", fp8 ? "fp8" : flag("bf16") ? "bf16" : flag("fp16") ? "fp16" : "fp32");
    const std::string recompute = word("recompute_granularity");
    row_.set("recompute_granularity", recompute.empty() ? "none" : recompute);
    row_.set_flag("flash_attention",
                  flag("use_flash_attn") || word("transformer_impl") == "transformer_engine");
    std::string features =
        flag("untie_embeddings_and_output_weights") ? "untied_embeddings" : "tied_embeddings";
    const std::string dropout = word("hidden_dropout");
    features += dropout.empty() ? "" : ";dropout=" + dropout;
    row_.set("features", features);
}

ResultOrErrors<ImportedLog> MegatronLog::read() {
    read_model();
    read_plan();
    std::vector<double> seconds;
    for (const std::string_view line : lines_) {
        if (const auto ms = number_behind(line, "elapsed time per iteration (ms):")) {
            seconds.push_back(*ms * 1e-3);
        }
        const auto batch = number_behind(line, "global batch size:");
        if (batch && *batch >= 1) {
            row_.set("global_batch_size", std::llround(*batch));  // of a ramp the last one
        }
    }
    row_.take_times(std::move(seconds), "elapsed time per iteration (ms): 1234.5");
    const std::string ranks = word("world_size");
    if (ranks.empty()) {
        row_.missing("its arguments have no world_size", "the whole log");
    }
    row_.set_cluster(std::atoll(ranks.c_str()), {});
    return row_.finish("megatron-core");
}

class TorchtitanLog {
public:
    TorchtitanLog(const std::vector<std::string_view>& lines,
                  const std::string& source,
                  const TrainingLogImport& options)
        : lines_(lines), row_(source, options) {}

    ResultOrErrors<ImportedLog> read();

private:
    void read_line(std::string_view line);
    void set_model();
    std::int64_t model(const char* key, std::int64_t otherwise = 0) const {
        return std::llround(number_behind(model_, fmt::format("{}=", key))
                                .value_or(static_cast<double>(otherwise)));
    }

    const std::vector<std::string_view>& lines_;
    LogRow row_;
    std::string model_{};  // "(dim=4096, n_layers=32, ...)"
    std::string mesh_{};   // "['dp_shard', 'tp'], [4, 2]"
    std::string gpu_{};
    double batch_ = 0;
    double local_ = 0;
    double length_ = 0;
    std::vector<double> tokens_per_s_{};  // per GPU
    bool compiled_ = false;
    bool float8_ = false;
    std::string recompute_ = "none";
};

void TorchtitanLog::read_line(std::string_view line) {
    const auto has = [&](std::string_view words) {
        return line.find(words) != std::string_view::npos;
    };
    if (const std::size_t at = line.find("ModelArgs("); at != std::string_view::npos) {
        model_ = line.substr(at + 9);
        std::ranges::replace(model_, '(', ' ');
    }
    if (const std::size_t at = line.find("device mesh with "); at != std::string_view::npos) {
        mesh_ = line.substr(at + 17);
    }
    if (has("GPU capacity:")) {
        gpu_ = gpu_named(line, number_behind(line, " with ").value_or(0));
    }
    if (has("Training starts at step")) {
        local_ = number_behind(line, "local batch size").value_or(local_);
        batch_ = number_behind(line, "global batch size").value_or(batch_);
        length_ = number_behind(line, "sequence length").value_or(length_);
    }
    if (has("step:")) {
        for (const std::string_view label : {"tps:", "wps:"}) {
            if (const auto tps = number_behind(line, label); tps && *tps > 0) {
                tokens_per_s_.push_back(*tps);
            }
        }
    }
    compiled_ = compiled_ || has("torch.compile");
    float8_ = float8_ || has("Float8") || has("float8");
    if (has("activation checkpointing to the model")) {
        recompute_ = has("Applied full")        ? "full"
                     : has("Applied selective") ? "selective"
                                                : recompute_;
    }
}

void TorchtitanLog::set_model() {
    const std::int64_t dim = model("dim");
    const std::int64_t heads = model("n_heads");
    if (dim <= 0 || heads <= 0 || model("n_layers") <= 0 || model("vocab_size") <= 0) {
        row_.missing("does not say the model's sizes",
                     "a line \"Building llama3 8B with TransformerModelArgs(dim=4096, ...)\"");
        return;
    }
    // torchtitan/models/llama3: two thirds of 4 dim, times a factor, rounded up.
    auto wide = static_cast<std::int64_t>(8.0 * static_cast<double>(dim) / 3);
    const double factor = number_behind(model_, "ffn_dim_multiplier=").value_or(1);
    wide = static_cast<std::int64_t>(factor * static_cast<double>(wide));
    const std::int64_t multiple = std::max<std::int64_t>(1, model("multiple_of", 256));
    row_.set("ffn_hidden_size", (wide + multiple - 1) / multiple * multiple);
    row_.set("num_layers", model("n_layers"));
    row_.set("hidden_size", dim);
    row_.set("num_attention_heads", heads);
    row_.set("num_query_groups", model("n_kv_heads", heads));
    row_.set("kv_channels", dim / heads);
    row_.set("vocab_size", model("vocab_size"));
    row_.set("model", "log");
    row_.set("gated_mlp", "true");
}

// The size of a mesh dimension. Names and sizes are in two lists.
std::int64_t mesh_size(const std::string& mesh, std::string_view dimension) {
    const std::size_t split = mesh.find("],");
    if (split == std::string::npos) {
        return 1;
    }
    const std::string names = mesh.substr(0, split);
    const std::size_t at = names.find(fmt::format("'{}'", dimension));
    if (at == std::string::npos) {
        return 1;
    }
    std::string_view sizes = std::string_view{mesh}.substr(split);
    std::int64_t size = number_behind(sizes, "[").value_or(1) > 0 ? 1 : 0;
    std::size_t from = sizes.find('[');
    for (auto before = std::ranges::count(names.substr(0, at), ',') + 1; before > 0; --before) {
        const std::size_t begin = sizes.find_first_of("0123456789", from);
        if (begin == std::string_view::npos) {
            return 1;
        }
        size = std::atoll(std::string{sizes.substr(begin, 9)}.c_str());
        from = sizes.find_first_not_of("0123456789", begin);
    }
    return size;
}

ResultOrErrors<ImportedLog> TorchtitanLog::read() {
    for (const std::string_view line : lines_) {
        read_line(line);
    }
    set_model();
    if (mesh_.empty()) {
        row_.missing("does not say how ranks are meshed",
                     "a line \"Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]\"");
    }
    const std::int64_t replicas = mesh_size(mesh_, "dp_replicate");
    const std::int64_t shards = mesh_size(mesh_, "dp_shard") * mesh_size(mesh_, "dp");
    const std::int64_t tensor = mesh_size(mesh_, "tp");
    const std::int64_t context = mesh_size(mesh_, "cp");
    const std::int64_t stages = mesh_size(mesh_, "pp");
    const std::int64_t data = replicas * shards;
    const std::int64_t gpus = data * tensor * context * stages;
    batch_ = batch_ > 0 ? batch_ : local_ * static_cast<double>(data);
    if (batch_ <= 0 || length_ <= 0) {
        row_.missing("does not say its batch",
                     "a line \"Training starts at step 1, with local batch size 1, global batch "
                     "size 8, sequence length 8192\"");
    }
    std::vector<double> seconds;
    for (const double tps : tokens_per_s_) {
        seconds.push_back(batch_ * length_ / (tps * static_cast<double>(gpus)));
    }
    row_.take_times(std::move(seconds), "step: 10 ... tps: 5,762");
    row_.set_cluster(gpus, gpu_);
    row_.set("tensor_model_parallel_size", tensor);
    row_.set("pipeline_model_parallel_size", stages);
    row_.set("virtual_pipeline_model_parallel_size", 1);
    row_.set("context_parallel_size", context);
    row_.set("data_parallel_size", data);
    row_.set("data_parallel_sharding_strategy", "optim_grads_params");
    row_.set_flag("sequence_parallel", tensor > 1);
    row_.set("micro_batch_size",
             std::llround(local_ > 0 ? local_ : batch_ / static_cast<double>(data)));
    row_.set("global_batch_size", std::llround(batch_));
    row_.set("seq_length", std::llround(length_));
    row_.assume("precision", float8_ ? "fp8" : "bf16");
    row_.set("recompute_granularity", recompute_);
    row_.set("flash_attention", "true");
    row_.set("overlap_grad_reduce", "true");
    row_.set("overlap_param_gather", "true");
    row_.set("tp_comm_overlap", "false");
    row_.set("overlap_p2p", "false");
    row_.set("features",
             "untied_embeddings" +
                 (replicas > 1 ? fmt::format(";hsdp_shard={}", shards) : std::string{}));
    row_.set_flag("compile", compiled_);
    return row_.finish("torchtitan");
}

}  // namespace

ResultOrErrors<ImportedLog> import_training_log(const std::string& text,
                                                const std::string& source,
                                                const TrainingLogImport& options) {
    const std::vector<std::string_view> lines = lines_of(text);
    const auto any = [&](std::string_view words) {
        return std::ranges::any_of(lines, [&](std::string_view line) {
            return line.find(words) != std::string_view::npos;
        });
    };
    if (any("elapsed time per iteration (ms):") || any("- end of arguments -")) {
        return MegatronLog{lines, source, options}.read();
    }
    if (any("device mesh with ") || any("tps: ") || any("wps: ")) {
        return TorchtitanLog{lines, source, options}.read();
    }
    return unexpected<Errors>(
        Errors{{source,
                "is no log of Megatron-LM or torchtitan",
                "lines like \"elapsed time per iteration (ms): 1234.5\", or \"step: 10 ... tps: "
                "5,762\""}});
}

std::string case_table(const std::vector<ImportedLog>& logs) {
    std::string text = fmt::format("{}\n", kLogColumns);
    for (const ImportedLog& log : logs) {
        std::string_view columns = kLogColumns;
        while (!columns.empty()) {
            const std::size_t end = std::min(columns.find(','), columns.size());
            const auto found = log.row.find(std::string{columns.substr(0, end)});
            columns.remove_prefix(std::min(end + 1, columns.size()));
            text += (found == log.row.end() ? "" : found->second) + (columns.empty() ? "\n" : ",");
        }
    }
    return text;
}

}  // namespace orrery

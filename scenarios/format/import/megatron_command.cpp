// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/megatron_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "scenarios/format/document/megatron_flags.h"
#include "scenarios/format/document/read_field.h"
#include "scenarios/format/document/yaml_document.h"
#include "scenarios/format/import/command_flags.h"
#include "scenarios/format/specs/plan_key.h"

namespace orrery {
namespace {

std::int64_t rounded_up(std::int64_t value, std::int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

using Plan = ParallelPlan;

class Translation {
public:
    Translation(std::vector<CommandFlag> flags, const MegatronImport& options)
        : flags_(std::move(flags)), options_(options) {}

    ResultOrErrors<ImportedScenario> scenario() {
        for (const CommandFlag& flag : flags_) {
            translate(flag);
        }
        activation();
        experts();
        precision();
        vocabulary();
        virtual_stages();
        rank_order();
        sharding();
        recomputation();
        attention();
        sequence_parallel();
        software();
        for (const std::string& key : {std::string{"model.num_layers"},
                                       std::string{"model.hidden_size"},
                                       std::string{"model.num_attention_heads"},
                                       std::string{"model.seq_length"},
                                       plan_key<&Plan::micro_batch_size>(),
                                       plan_key<&Plan::global_batch_size>()}) {
            require(key);
        }
        const std::int64_t nodes = errors_.empty() ? number_of_nodes() : 0;
        if (!errors_.empty()) {
            return unexpected<Errors>(std::move(errors_));
        }
        if (guessed_nodes_) {
            result_.assumed.push_back(fmt::format("cluster.nodes: {}", nodes));
        }
        write(nodes);
        return std::move(result_);
    }

private:
    void complain(std::string where, std::string what, std::string hint = {}) {
        errors_.push_back({std::move(where), std::move(what), std::move(hint)});
    }
    const CommandFlag* find(std::string_view name) const { return find_flag(flags_, name); }
    std::optional<CommandWord> value_of(const CommandFlag& flag) {
        return value_of_flag(flag, errors_);
    }
    std::int64_t number_of(const CommandFlag& flag) { return number_of_flag(flag, errors_); }

    void translate(const CommandFlag& flag) {
        const MegatronFlag* copied = copied_flag(flag.name);
        if (copied != nullptr) {
            copy(flag, *copied);
        } else if (const auto why = refused_flag(flag.name); !why.empty()) {
            complain(flag.where, fmt::format("{}: {}", flag.name, why));
        } else if (is_special(flag.name)) {
            // Handled below.
        } else if (has_no_effect(flag.name)) {
            result_.without_effect.push_back(flag.name);
        } else {
            std::string words = flag.name;
            for (const CommandWord& value : flag.values) {
                words += " " + value.text;
            }
            result_.unknown.push_back(std::move(words));
        }
    }

    void copy(const CommandFlag& flag, const MegatronFlag& copied) {
        const std::string key{copied.key};
        if (copied.kind == FlagKind::turn_on || copied.kind == FlagKind::turn_off) {
            set(key, copied.kind == FlagKind::turn_on ? "true" : "false", flag);
        } else if (copied.kind == FlagKind::whole_number) {
            set(key, fmt::format("{}", number_of(flag)), flag);
        } else if (const auto value = value_of(flag)) {
            set(key, value->text, flag);
        }
    }

    static bool is_special(std::string_view name) {
        static constexpr std::array<std::string_view, 4> kOthers{
            "--nnodes", "--nproc-per-node", "--deepspeed", "--use-legacy-models"};
        return is_translated_flag(name) || std::ranges::find(kOthers, name) != kOthers.end();
    }

    // Sets a key at the place of the flag's value, or of the flag if it has none.
    void set(const std::string& key, std::string value, const CommandFlag& flag) {
        const std::string& where = flag.values.empty() ? flag.where : flag.values[0].where;
        keys_[key] = scalar_node(std::move(value), "", where);
    }
    void set(const std::string& key, std::string value, std::string_view flag) {
        set(key, std::move(value), *find(flag));
    }
    // Sets a field of the plan in a scenario's spelling.
    template <auto kMember, class T, class Flag>
    void set_field(const T& value, const Flag& flag) {
        set(plan_key<kMember>(), field_text(plan_field<kMember>, value), flag);
    }
    // Sets a value that no flag gives: Megatron-LM's default, or this program's for the cluster.
    void assume(const std::string& key, const std::string& value) {
        keys_[key] = scalar_node(value, "", "not in the command line");
        result_.assumed.push_back(key + ": " + value);
    }
    template <auto kMember, class T>
    void assume_field(const T& value) {
        assume(plan_key<kMember>(), field_text(plan_field<kMember>, value));
    }

    void activation() {
        if (find("--swiglu") != nullptr) {
            set("model.activation", "swiglu", "--swiglu");
        } else if (find("--squared-relu") != nullptr) {
            set("model.activation", "squared_relu", "--squared-relu");
        }
    }

    // Every n-th layer has experts, or a list leaves out leading layers, and all others have them.
    void experts() {
        const bool forced = find("--moe-router-force-load-balancing") != nullptr;
        if (find("--num-experts") != nullptr && !forced) {
            assume_field<&Plan::moe_router_load>(RouterLoad::balanced);
        }
        const CommandFlag* flag = find("--moe-layer-freq");
        const auto value = flag == nullptr ? std::nullopt : value_of(*flag);
        int leading = 0;  // "([0]*3+[1]*58)"
        if (value && std::sscanf(value->text.c_str(), "([0]*%d+[1]*", &leading) == 1) {
            set("model.first_k_dense_replace", fmt::format("{}", leading), *flag);
        } else if (value) {
            set("model.moe_layer_freq", fmt::format("{}", number_of(*flag)), *flag);
        }
    }

    void precision() {
        bool said = false;
        for (const auto& [flag, type] : {std::pair{"--fp16", Dtype::fp16},
                                         {"--bf16", Dtype::bf16},
                                         {"--fp8-hybrid", Dtype::fp8},
                                         {"--fp8-format", Dtype::fp8}}) {
            if (find(flag) != nullptr) {
                set_field<&Plan::precision>(type, flag);
                said = true;
            }
        }
        if (!said) {
            assume_field<&Plan::precision>(Dtype::fp32);
        }
        if (find("--grad-reduce-in-bf16") != nullptr) {
            set_field<&Plan::gradient_dtype>(Dtype::bf16, "--grad-reduce-in-bf16");
        }
        // For precisions other than fp16, Megatron's gradients are fp32 by default.
        if (find("--fp16") != nullptr && find("--accumulate-allreduce-grads-in-fp32") == nullptr) {
            set_field<&Plan::gradient_dtype>(Dtype::fp16, "--fp16");
        }
    }

    // The vocabulary is padded to a multiple of (128 by default) times the tensor-parallel size.
    void vocabulary() {
        std::int64_t size = 0;
        bool vocabulary_assumed = false;
        const CommandFlag* tokenizer = find("--tokenizer-type");
        const CommandFlag* given = find("--vocab-size");
        const std::string tokenizer_name = value_of("--tokenizer-type");
        if (given != nullptr) {
            // NullTokenizer adds the end of a document.
            size = number_of(*given) + (tokenizer_name == "NullTokenizer" ? 1 : 0);
        } else if (tokenizer == nullptr || tokenizer_name == "GPT2BPETokenizer") {
            size = 50257;  // GPT-2's
            vocabulary_assumed = true;
        } else {
            complain(tokenizer->where,
                     "the size of this tokenizer's vocabulary is not in the command line",
                     "add --vocab-size N");
            return;
        }
        const CommandFlag* divisible = find("--make-vocab-size-divisible-by");
        const std::int64_t multiple = std::max<std::int64_t>(
            1, (divisible == nullptr ? 128 : number_of(*divisible)) * tensor_parallel());
        const std::string padded = fmt::format("{}", rounded_up(size, multiple));
        if (vocabulary_assumed) {
            assume("model.vocab_size", padded);
        } else {
            set("model.vocab_size", padded, *given);
        }
    }

    std::int64_t number_at(const std::string& key, std::int64_t otherwise) const {
        const auto found = keys_.find(key);
        return found == keys_.end() ? otherwise : std::stoll(found->second.text);
    }
    std::int64_t tensor_parallel() const {
        return std::max<std::int64_t>(1,
                                      number_at(plan_key<&Plan::tensor_model_parallel_size>(), 1));
    }

    void virtual_stages() {
        const std::int64_t stages = std::max<std::int64_t>(
            1, number_at(plan_key<&Plan::pipeline_model_parallel_size>(), 1));
        const std::int64_t layers = number_at("model.num_layers", 0);
        std::int64_t chunks = 1;
        const CommandFlag* said = nullptr;
        if (const CommandFlag* flag = find("--num-layers-per-virtual-pipeline-stage")) {
            const std::int64_t each = number_of(*flag);
            if (each < 1 || layers % (stages * each) != 0) {
                complain(flag->where,
                         fmt::format("{} layers on {} stages can't have {} layers a virtual stage",
                                     layers,
                                     stages,
                                     each));
                return;
            }
            chunks = layers / stages / each;
            said = flag;
        }
        for (const char* name :
             {"--num-virtual-stages-per-pipeline-rank", "--virtual-pipeline-model-parallel-size"}) {
            if (const CommandFlag* flag = find(name)) {
                chunks = number_of(*flag);
                said = flag;
            }
        }
        if (chunks > 1) {
            set_field<&Plan::virtual_pipeline_model_parallel_size>(chunks, *said);
            if (find("--no-overlap-p2p-communication") == nullptr) {
                assume_field<&Plan::overlap_p2p>(true);
            }
        }
        if (find("--account-for-embedding-in-pipeline-split") != nullptr &&
            find("--account-for-loss-in-pipeline-split") != nullptr) {
            set_field<&Plan::embedding_and_loss_as_layers>(
                true, "--account-for-embedding-in-pipeline-split");
        }
    }

    void rank_order() {
        if (find("--use-tp-pp-dp-mapping") != nullptr) {
            set_field<&Plan::rank_order>(RankOrder::tp_cp_pp_dp, "--use-tp-pp-dp-mapping");
        }
    }

    void sharding() {
        if (keys_.contains(plan_key<&Plan::data_parallel_sharding_strategy>())) {
            return;
        }
        using enum ShardingStrategy;
        for (const auto& [flag, strategy] : {std::pair{"--use-distributed-optimizer", optim},
                                             {"--use-torch-fsdp2", optim_grads_params},
                                             {"--use-megatron-fsdp", optim_grads_params}}) {
            if (find(flag) != nullptr) {
                set_field<&Plan::data_parallel_sharding_strategy>(strategy, flag);
            }
        }
    }

    void recomputation() {
        if (find("--recompute-activations") != nullptr) {
            set_field<&Plan::recompute_granularity>(Recompute::selective,
                                                    "--recompute-activations");
        }
        const CommandFlag* modules = find("--recompute-modules");
        if (modules == nullptr) {
            return;
        }
        std::vector<std::string> names;
        for (const CommandWord& module : modules->values) {
            const auto is = [&](const auto& m) { return m.of_megatron && m.word == module.text; };
            if (std::ranges::none_of(kModuleRows, is)) {
                return complain(module.where, "--recompute-modules: no module " + module.text);
            }
            names.push_back(module.text);
        }
        keys_[plan_key<&Plan::recompute_modules>()] = list_node(names);
    }

    std::string value_of(const char* flag) {
        const CommandFlag* const found = find(flag);
        return found != nullptr && !found->values.empty() ? found->values[0].text : "";
    }

    void attention() {
        const std::string backend = value_of("--attention-backend");
        if (backend == "unfused" || backend == "local") {
            set_field<&Plan::attention_kernel>(AttentionKernel::unfused, "--attention-backend");
        } else if (backend == "fused") {
            set_field<&Plan::attention_kernel>(AttentionKernel::cudnn, "--attention-backend");
        }
        for (const auto& [word, comm] : kContextParallelComms) {
            if (value_of("--cp-comm-type") == word) {
                set_field<&Plan::context_parallel_comm>(comm, "--cp-comm-type");
            }
        }
        const std::string graphs = value_of("--cuda-graph-impl");
        if (!graphs.empty() && graphs != "none") {
            set_field<&Plan::cuda_graphs>(true, "--cuda-graph-impl");
        }
    }

    // Megatron-LM's validate_args: "Disabling sequence parallelism because tensor model parallelism
    // is disabled". Sequence parallelism itself has its own asynchronous communication, with or
    // without the other flag (core/tensor_parallel/layers.py).
    void sequence_parallel() {
        const CommandFlag* flag = find("--sequence-parallel");
        if (flag == nullptr) {
            return;
        }
        if (tensor_parallel() == 1) {
            switch_off<&Plan::sequence_parallel>(*flag, "tensor parallelism 1");
        } else if (const CommandFlag* blocking =
                       find("--no-async-tensor-model-parallel-allreduce")) {
            switch_off<&Plan::async_tensor_model_parallel_allreduce>(*blocking,
                                                                     "--sequence-parallel");
        }
    }
    template <auto kMember>
    void switch_off(const CommandFlag& flag, std::string_view beside) {
        keys_.erase(plan_key<kMember>());
        result_.changed.push_back(
            fmt::format("{}: {} has no effect with {}", flag.where, flag.name, beside));
    }

    void require(const std::string& key) {
        if (!keys_.contains(key)) {
            std::string flag = "--" + key.substr(key.find('.') + 1);
            std::ranges::replace(flag, '_', '-');
            complain(flags_.front().where, "the command line has no " + flag, "add it");
        }
    }

    std::int64_t number_of_nodes() {
        if (options_.nodes > 0) {
            return options_.nodes;
        }
        const std::string nodes = value_of("--nnodes");
        if (!nodes.empty() && nodes.find_first_not_of("0123456789") == std::string::npos) {
            const auto servers = std::max<std::int64_t>(1, number_of(*find("--nnodes")));
            const bool whole = servers % options_.trays == 0;
            gpus_ = whole ? 0 : servers * (options_.gpus_per_node / options_.trays);
            return rounded_up(servers, options_.trays) / options_.trays;
        }
        const std::int64_t ranks = tensor_parallel() *
                                   number_at(plan_key<&Plan::pipeline_model_parallel_size>(), 1) *
                                   number_at(plan_key<&Plan::context_parallel_size>(), 1);
        guessed_nodes_ = true;
        return std::max<std::int64_t>(
            1, rounded_up(ranks, options_.gpus_per_node) / options_.gpus_per_node);
    }

    // Since core 0.8 the model is Megatron Core's, unless a flag requests the older one.
    void software() {
        keys_["software"] = scalar_node("megatron-core", "", flags_.front().where);
        for (const auto& [flag, word] : {std::pair{"--use-legacy-models", "megatron-lm"},
                                         {"--deepspeed", "megatron-deepspeed"}}) {
            if (find(flag) != nullptr) {
                set("software", word, flag);
            }
        }
        if (!options_.software.empty()) {
            keys_["software"] = scalar_node(options_.software, "", "--software");
        }
    }

    void write(std::int64_t nodes) {
        std::vector<std::string> heading{"Made of a Megatron-LM command line."};
        const auto list = [&](const char* what, const std::vector<std::string>& lines) {
            for (const std::string& line : lines) {
                heading.push_back(fmt::format("{}: {}", what, line));
            }
        };
        list("switched off, as Megatron-LM does", result_.changed);
        list("not known, and left out", result_.unknown);
        list("left out, as the step does not depend on it", result_.without_effect);
        list("not in the command line", result_.assumed);
        DocumentNode& document = result_.document;
        put(document, "kind", scalar_node("scenario"));
        put(document, "name", scalar_node(options_.name));
        put(document, "software", keys_.at("software"));
        put(document,
            "cluster.nodes",
            scalar_node(
                fmt::format("{}", nodes),
                guessed_nodes_ ? "the command line does not say: as few as the plan needs" : "",
                "--nodes"));
        if (gpus_ > 0) {
            put(document, "cluster.gpus", scalar_node(fmt::format("{}", gpus_), "", "--nnodes"));
        }
        put(document, "cluster.node", scalar_node(options_.node, "", "--node"));
        if (nodes > 1) {
            put(document, "cluster.fabric", scalar_node(options_.fabric, "", "--fabric"));
        }
        for (const std::string section : {"model", "plan", "job"}) {
            for (const auto& [key, value] : keys_) {
                if (key.starts_with(section + ".")) {
                    put(document, key, value);
                }
            }
        }
        result_.yaml = to_yaml(document, heading);
    }

    std::vector<CommandFlag> flags_;
    const MegatronImport& options_;
    std::map<std::string, DocumentNode> keys_;
    ImportedScenario result_;
    Errors errors_;
    bool guessed_nodes_ = false;
    std::int64_t gpus_ = 0;  // GPUs of the job if it fills its last node only partly
};

}  // namespace

ResultOrErrors<ImportedScenario> import_megatron(const std::vector<CommandWord>& words,
                                                 const MegatronImport& options) {
    std::vector<CommandFlag> flags = flags_of(words);
    if (flags.empty()) {
        return unexpected<Errors>({{words.empty() ? "command line" : words.front().where,
                                    "there are no flags",
                                    "paste the command line of pretrain_gpt.py"}});
    }
    return Translation{std::move(flags), options}.scenario();
}

}  // namespace orrery

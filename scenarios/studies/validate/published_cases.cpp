// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/published_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "kernels/csv_rows.h"
#include "models/plan_fields.h"
#include "scenarios/format/document/nearest.h"

namespace orrery {
namespace {

// Of the plan, what every table says; the rest follows from the stack and its features.
template <auto... kMembers>
struct PlanColumns {
    template <class Visit>
    static void visit(const Visit& visit) {
        (visit(plan_field<kMembers>), ...);
    }
};
using Plan = ParallelPlan;
using CasePlan = PlanColumns<&Plan::tensor_model_parallel_size,
                             &Plan::pipeline_model_parallel_size,
                             &Plan::virtual_pipeline_model_parallel_size,
                             &Plan::context_parallel_size,
                             &Plan::data_parallel_sharding_strategy,
                             &Plan::sequence_parallel,
                             &Plan::micro_batch_size,
                             &Plan::global_batch_size,
                             &Plan::precision,
                             &Plan::recompute_granularity,
                             &Plan::overlap_grad_reduce,
                             &Plan::overlap_param_gather,
                             &Plan::tp_comm_overlap,
                             &Plan::overlap_p2p>;

constexpr std::string_view kExpertColumns[] = {"moe_router_topk",
                                               "expert_model_parallel_size",
                                               "expert_tensor_parallel_size",
                                               "num_dense_layers",
                                               "dense_ffn_hidden_size",
                                               "moe_layer_freq",
                                               "shared_expert_ffn_hidden_size",
                                               "q_lora_rank",
                                               "kv_lora_rank",
                                               "qk_head_dim",
                                               "qk_pos_emb_head_dim",
                                               "v_head_dim",
                                               "mtp_num_layers",
                                               "router_balance",
                                               "token_dispatcher",
                                               "overlap_moe_expert_parallel_comm",
                                               "recompute_modules",
                                               "offload",
                                               "quantized_communication"};

const std::vector<std::string>& case_columns() {
    static const std::vector<std::string> columns = [] {
        std::vector<std::string> all{"case",
                                     "family",
                                     "stack",
                                     "gpu",
                                     "num_gpus",
                                     "gpus_per_node",
                                     "nic_gbps_per_gpu",
                                     "fabric",
                                     "model",
                                     "num_layers",
                                     "hidden_size",
                                     "ffn_hidden_size",
                                     "num_attention_heads",
                                     "num_query_groups",
                                     "kv_channels",
                                     "seq_length",
                                     "vocab_size",
                                     "gated_mlp",
                                     "num_experts",
                                     "flash_attention",
                                     "features",
                                     "measured_iteration_s"};
        CasePlan::visit([&](const auto& field) { all.emplace_back(field.name); });
        for (const std::string_view column : kExpertColumns) {
            all.push_back(std::string{column} + "=");  // tables of dense models have none
        }
        return all;
    }();
    return columns;
}

// The position of the column with this name.
std::size_t column_position(std::string_view name) {
    const auto found = std::ranges::find_if(case_columns(), [&](std::string_view column) {
        return column.substr(0, column.find('=')) == name;
    });
    return static_cast<std::size_t>(found - case_columns().begin());
}

// Reads the fields of one row by name and collects what is wrong with them.
class FieldReader {
public:
    FieldReader(const CsvRow& row, Errors& errors) : row_(row), errors_(errors) {}

    const std::string& text(std::string_view column) const {
        return row_.fields[column_position(column)];
    }
    std::int64_t integer(std::string_view column, std::int64_t otherwise) {
        const std::string& field = text(column);
        if (field.empty()) {
            return otherwise;
        }
        const std::optional<std::int64_t> value = parse_integer(field);
        if (!value || *value < 0) {
            complain(column, "must be a whole number");
            return otherwise;
        }
        return *value;
    }
    double number(std::string_view column) {
        const std::string& field = text(column);
        const std::optional<double> value = parse_number(field);
        if (!field.empty() && (!value || *value < 0)) {
            complain(column, "must be a number");
        }
        return value.value_or(0);
    }
    bool flag(std::string_view column) {
        const std::string& field = text(column);
        if (field != "true" && field != "false" && !field.empty()) {
            complain(column, "must be true or false");
        }
        return field == "true";
    }
    template <class T>
    T choice(std::string_view column, T otherwise, std::type_identity_t<Choices<T>> choices) {
        const std::string& field = text(column);
        for (const auto& [word, value] : choices) {
            if (field == word) {
                return value;
            }
        }
        complain(column, "is not a known word");
        return otherwise;
    }
    // A field of the plan; an empty one of a number or a switch is as the plan has it.
    template <class Row>
    void field(const Row& row, ParallelPlan& plan) {
        auto& value = plan.*row.member;
        if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
            value = choice(row.name, value, row.values);
        } else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, bool>) {
            value = flag(row.name);
        } else {
            value = integer(row.name, value);
        }
    }
    void complain(std::string_view column, std::string_view what) {
        errors_.push_back({row_.where, fmt::format("{} '{}' {}", column, text(column), what), {}});
    }

private:
    const CsvRow& row_;
    Errors& errors_;
};

// The table's ffn_hidden_size is that of an expert.
void read_experts(FieldReader& read, Transformer& model) {
    model.num_experts = read.integer("num_experts", 0);
    if (model.num_experts > 0) {
        model.moe_router_topk = read.integer("moe_router_topk", 1);
        model.moe_ffn_hidden_size = model.ffn_hidden_size;
        model.first_k_dense_replace = read.integer("num_dense_layers", 0);
        model.ffn_hidden_size = read.integer("dense_ffn_hidden_size", model.ffn_hidden_size);
        model.moe_layer_freq = std::max<std::int64_t>(read.integer("moe_layer_freq", 1), 1);
        model.moe_shared_expert_intermediate_size =
            read.integer("shared_expert_ffn_hidden_size", 0);
    }
    if (!read.text("kv_lora_rank").empty()) {
        model.multi_latent_attention = true;
        model.q_lora_rank = read.integer("q_lora_rank", 0);
        model.kv_lora_rank = read.integer("kv_lora_rank", 0);
        model.qk_head_dim = read.integer("qk_head_dim", 0);
        model.qk_pos_emb_head_dim = read.integer("qk_pos_emb_head_dim", 0);
        model.v_head_dim = read.integer("v_head_dim", 0);
    }
}

void read_model(FieldReader& read, PublishedCase& row) {
    Transformer& model = row.model;
    model.name = read.text("model");
    model.num_layers = read.integer("num_layers", 0);
    model.hidden_size = read.integer("hidden_size", 0);
    model.ffn_hidden_size = read.integer("ffn_hidden_size", 4 * model.hidden_size);
    model.num_attention_heads = read.integer("num_attention_heads", 0);
    model.num_query_groups = read.integer("num_query_groups", model.num_attention_heads);
    const std::int64_t heads = std::max<std::int64_t>(1, model.num_attention_heads);
    model.kv_channels = read.integer("kv_channels", model.hidden_size / heads);
    model.seq_length = read.integer("seq_length", 0);
    model.vocab_size = read.integer("vocab_size", 0);
    model.activation = read.flag("gated_mlp") ? Activation::swiglu : Activation::gelu;
    read_experts(read, model);
}

void read_plan(FieldReader& read, PublishedCase& row) {
    ParallelPlan& plan = row.plan;
    CasePlan::visit([&](const auto& field) { read.field(field, plan); });
    plan.schedule = plan.virtual_pipeline_model_parallel_size > 1 ? ScheduleKind::interleaved_1f1b
                                                                  : ScheduleKind::one_f_one_b;
    row.flash_attention = read.flag("flash_attention");
    plan.expert_model_parallel_size = read.integer("expert_model_parallel_size", 1);
    plan.expert_tensor_parallel_size = read.integer("expert_tensor_parallel_size", 0);
    row.token_dispatcher = read.text("token_dispatcher");
    row.router_balance = read.text("router_balance");
    row.recompute_modules = read.text("recompute_modules");
    row.offload = read.text("offload");
    row.quantized_communication = read.text("quantized_communication");
    row.mtp_num_layers = read.integer("mtp_num_layers", 0);
    row.overlap_moe_expert_parallel_comm = read.flag("overlap_moe_expert_parallel_comm");
}

PublishedCase read_row(const CsvRow& csv, bool timed, Errors& errors) {
    FieldReader read{csv, errors};
    PublishedCase row;
    row.where = csv.where;
    row.name = read.text("case");
    row.family = read.text("family");
    row.stack = read.text("stack");
    row.gpu = read.text("gpu");
    row.fabric = read.text("fabric");
    row.features = read.text("features");
    row.num_gpus = read.integer("num_gpus", 0);
    row.gpus_per_node = read.integer("gpus_per_node", 8);
    row.nic_gbps_per_gpu = read.number("nic_gbps_per_gpu");
    row.measured_s = read.number("measured_iteration_s");
    read_model(read, row);
    read_plan(read, row);
    if (timed && row.measured_s <= 0) {
        read.complain("measured_iteration_s", "must be greater than 0");
    }
    if (row.num_gpus < 1 || row.num_gpus > 4'000'000) {
        read.complain("num_gpus", "must be from 1 to 4000000");
    }
    if (row.gpus_per_node < 1 || row.gpus_per_node > 1024) {
        read.complain("gpus_per_node", "must be from 1 to 1024");
    }
    return row;
}

std::vector<std::string> words_of(std::string_view text) {
    std::vector<std::string> words;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(';'), text.size());
        if (end > 0) {
            words.emplace_back(text.substr(0, end));
        }
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return words;
}

// Of each row, empty where the table has no such column.
std::vector<std::string> optional_column(const std::filesystem::path& file,
                                         const std::string& name,
                                         std::size_t rows) {
    std::vector<std::string> column(rows);
    const auto table = read_csv(file.string(), {name}, true);
    for (std::size_t i = 0; table && i < rows; ++i) {
        column[i] = (*table)[i].fields[0];
    }
    return column;
}

// A user's own table has nothing to assume.
std::vector<std::vector<std::string>> assumed_columns(const std::filesystem::path& file,
                                                      std::size_t rows) {
    std::vector<std::vector<std::string>> assumed;
    for (const std::string& text : optional_column(file, "assumed", rows)) {
        assumed.push_back(words_of(text));
    }
    return assumed;
}

void read_details(const std::filesystem::path& file,
                  std::vector<PublishedCase>& rows,
                  Errors& errors) {
    const auto fill = [&](const char* name, std::string PublishedCase::*member) {
        const std::vector<std::string> column = optional_column(file, name, rows.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            rows[i].*member = column[i];
        }
    };
    fill("attention_kernel", &PublishedCase::attention_kernel);
    fill("optimizer", &PublishedCase::optimizer);
    fill("recompute_detail", &PublishedCase::recompute_detail);
    fill("compile", &PublishedCase::compile);
    const std::vector<std::string> watts = optional_column(file, "power_cap_w", rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
        const std::optional<std::int64_t> value = parse_integer(watts[i]);
        if (!watts[i].empty() && (!value || *value < 1)) {
            errors.push_back({rows[i].where,
                              fmt::format("power_cap_w '{}' must be a whole number", watts[i]),
                              "watts a GPU"});
        }
        rows[i].power_cap_w = value.value_or(0);
    }
}

// Puts the value into each row that assumes the column.
std::optional<Error> assume(const std::filesystem::path& file,
                            const AssumedValue& instead,
                            const std::vector<std::vector<std::string>>& assumed,
                            std::vector<CsvRow>& table) {
    const std::size_t column = column_position(instead.column);
    if (column == case_columns().size()) {
        return Error{"--assume",
                     "a table has no column '" + instead.column + "'",
                     nearest_hint(instead.column, case_columns())};
    }
    bool any = false;
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (std::ranges::find(assumed[i], instead.column) != assumed[i].end()) {
            table[i].fields[column] = instead.value;
            any = true;
        }
    }
    return any ? std::nullopt
               : std::optional{
                     Error{file.string(),
                           "every row states its '" + instead.column + "': there is none to assume",
                           "the column `assumed` lists what a row's source does not state"}};
}

}  // namespace

bool is_case_column(std::string_view name) {
    return column_position(name) < case_columns().size();
}

Result<AssumedValue> read_assumed_value(const std::string& text) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
        return fail("--assume", "'" + text + "' is no COLUMN=VALUE", "gpu=a800-80g");
    }
    return AssumedValue{text.substr(0, equals), text.substr(equals + 1)};
}

ResultOrErrors<std::vector<PublishedCase>> read_published_cases(
    const std::filesystem::path& file, const std::vector<AssumedValue>& instead) {
    std::error_code ignored;
    if (std::filesystem::is_directory(file, ignored)) {
        return unexpected<Errors>(Errors{{file.string(), "is a directory, not a file", {}}});
    }
    auto table = read_csv(file.string(), case_columns(), true);
    if (!table) {
        return unexpected<Errors>(table.error());
    }
    const auto assumed = assumed_columns(file, table->size());
    const auto outcomes = optional_column(file, "outcome", table->size());
    Errors errors;
    for (const AssumedValue& value : instead) {
        if (const std::optional<Error> error = assume(file, value, assumed, *table)) {
            errors.push_back(*error);
        }
    }
    std::vector<PublishedCase> rows;
    for (std::size_t i = 0; i < table->size(); ++i) {
        // A configuration with what became of its memory has no time.
        rows.push_back(read_row((*table)[i], outcomes[i].empty(), errors));
        rows.back().assumed = assumed[i];
    }
    read_details(file, rows, errors);
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    if (rows.empty()) {
        return unexpected<Errors>(Errors{{file.string(), "the table has no rows", {}}});
    }
    return rows;
}

}  // namespace orrery

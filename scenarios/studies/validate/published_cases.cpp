// SPDX-License-Identifier: Apache-2.0
#include "scenarios/studies/validate/published_cases.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "models/plan/plan_fields.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/studies/validate/case_fields.h"

namespace orrery {
namespace {

// Columns of the plan that every table has. Stack and features give the rest.
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

// From this column on, an empty field means the stack's default.
constexpr std::string_view kFirstDetail = "attention_kernel";

const CaseColumns& case_columns() {
    static const CaseColumns columns = [] {
        CaseColumns all{
            "case,family,stack,gpu,num_gpus,gpus_per_node,nic_gbps_per_gpu,fabric,model,num_layers,"
            "hidden_size,ffn_hidden_size,num_attention_heads,num_query_groups,kv_channels,"
            "seq_length,vocab_size,gated_mlp,num_experts,flash_attention,features,"
            "measured_iteration_s"};
        CasePlan::visit([&](const auto& field) { all.add(field.name); });
        // Optional: tables of dense models lack these.
        all.add(
            "moe_router_topk=,expert_model_parallel_size=,expert_tensor_parallel_size=,"
            "num_dense_layers=,dense_ffn_hidden_size=,moe_layer_freq=,"
            "shared_expert_ffn_hidden_size=,q_lora_rank=,kv_lora_rank=,qk_head_dim=,"
            "qk_pos_emb_head_dim=,v_head_dim=,mtp_num_layers=,router_balance=,token_dispatcher=,"
            "overlap_moe_expert_parallel_comm=,recompute_modules=,offload=,"
            "quantized_communication=");
        // Optional: tables of users lack these.
        all.add(
            "attention_kernel=,optimizer=,recompute_detail=,compile=,power_cap_w=,assumed=,"
            "outcome=");
        return all;
    }();
    return columns;
}

// Reads a field of the plan. An empty number keeps the plan's value.
template <class Field>
void read_field(CaseFields& read, const Field& field, ParallelPlan& plan) {
    auto& value = plan.*field.member;
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>) {
        value = read.choice(field.name, value, field.values);
    } else if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, bool>) {
        value = read.flag(field.name);
    } else {
        value = read.integer(field.name, value);
    }
}

// In tables with experts ffn_hidden_size is the width of an expert.
void read_experts(CaseFields& read, Transformer& model) {
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

void read_model(CaseFields& read, PublishedCase& row) {
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

void read_plan(CaseFields& read, PublishedCase& row) {
    ParallelPlan& plan = row.plan;
    CasePlan::visit([&](const auto& field) { read_field(read, field, plan); });
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

PublishedCase read_row(CaseFields& read) {
    PublishedCase row;
    row.where = read.where();
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
    row.assumed = words_between(read.text("assumed"), ';');
    row.attention_kernel = read.text("attention_kernel");
    row.optimizer = read.text("optimizer");
    row.recompute_detail = read.text("recompute_detail");
    row.compile = read.text("compile");
    row.power_cap_w = read.count_or("power_cap_w", 0);
    // A table of memory outcomes has no times.
    const std::string& measured = read.text("measured_iteration_s");
    const bool zero = measured.empty() || parse_number(measured) == 0.0;
    if (read.text("outcome").empty() && zero) {
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

// Puts the value into each row that assumes the column. An error if there is no such column or row.
std::optional<Error> assume(const std::filesystem::path& file,
                            const AssumedValue& instead,
                            std::vector<CsvRow>& table) {
    const std::size_t column = case_columns().position(instead.column);
    if (column == case_columns().names().size()) {
        return Error{"--assume",
                     "a table has no column '" + instead.column + "'",
                     nearest_hint(instead.column, case_columns().names())};
    }
    bool any = false;
    for (CsvRow& row : table) {
        const std::string& assumed = row.fields[case_columns().position("assumed")];
        if (says(words_between(assumed, ';'), instead.column)) {
            row.fields[column] = instead.value;
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
    return case_columns().position(name) < case_columns().position(kFirstDetail);
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
    auto table = read_csv(file.string(), case_columns().names(), true);
    if (!table) {
        return unexpected<Errors>(table.error());
    }
    Errors errors;
    for (const AssumedValue& value : instead) {
        if (const std::optional<Error> error = assume(file, value, *table)) {
            errors.push_back(*error);
        }
    }
    std::vector<PublishedCase> rows;
    for (const CsvRow& row : *table) {
        CaseFields fields{row, case_columns(), errors};
        rows.push_back(read_row(fields));
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    if (rows.empty()) {
        return unexpected<Errors>(
            Errors{{file.string(), "the table has no rows", "a line for each case"}});
    }
    return rows;
}

}  // namespace orrery

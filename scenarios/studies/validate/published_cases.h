// SPDX-License-Identifier: Apache-2.0
// Tables of measured training configurations (CSV, one a row, columns named like the scenario keys;
// lines that begin with # are comments), and what each row means as a scenario. The mapping holds
// facts about software stacks and networks, never a constant that fits a row.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct PublishedCase {
    std::string name;
    std::string family;
    std::string stack;  // software that ran
    std::string gpu;
    std::string fabric;           // words: "ib-ndr400-rail"
    std::string features;         // words: "parallel_block;sliding_window=768"
    double nic_gbps_per_gpu = 0;  // 0: not stated
    std::int64_t num_gpus = 0;
    std::int64_t gpus_per_node = 0;
    Transformer model;
    ParallelPlan plan;
    bool flash_attention = false;
    double measured_s = 0;
    std::vector<std::string> assumed;  // columns that the source does not state, if the table says
    std::string where;                 // "training.csv:12"
    // Of models with experts, and of other techniques that tables of them have.
    std::string token_dispatcher;
    std::string router_balance;
    std::string recompute_modules;  // words: "mla_up_proj;mlp"
    std::string offload;
    std::string quantized_communication;
    std::int64_t mtp_num_layers = 0;
    bool overlap_moe_expert_parallel_comm = false;
    // Optional columns, empty where the table has none or the row does not say.
    std::string attention_kernel{};  // "te_fused"
    std::string optimizer{};         // "adamw_fused"
    std::string recompute_detail{};  // "op_every_second_matmul"
    std::string compile{};           // "true", "false"
    std::int64_t power_cap_w = 0;    // of a GPU; 0: not stated
};

// What a column says in every row whose source does not state it (that lists it as `assumed`).
struct AssumedValue {
    std::string column;
    std::string value;
};

// "gpu=a800-80g".
Result<AssumedValue> read_assumed_value(const std::string& text);

// All errors of the table at once; also where no row assumes a column that `instead` names.
ResultOrErrors<std::vector<PublishedCase>> read_published_cases(
    const std::filesystem::path& file, const std::vector<AssumedValue>& instead = {});

// Whether a table of cases may have this column.
bool is_case_column(std::string_view name);

// The row's words about its features: "parallel_block;sliding_window=768" are two.
std::vector<std::string> words_between(std::string_view text, char separator);
bool says(const std::vector<std::string>& words, std::string_view word);
// A number of up to nine digits; 0 if the text is none.
std::int64_t digits_of(std::string_view text);
// What follows "key=" in one of the words, or nothing.
std::string value_of_word(const std::vector<std::string>& words, std::string_view key);

// Fills the plan from the row's software (the catalogue's stacks), columns and features, and the
// limit of the device's power. The error says what can't be expressed.
Result<void> set_case_plan(const PublishedCase& row,
                           const Catalogue& catalogue,
                           DeviceSpec& device,
                           ParallelPlan& plan);

// The error says why the row is not expressible.
Result<Scenario> scenario_of(const PublishedCase& row, const Catalogue& catalogue);

// "ib-ndr400-rail" at 400 Gb/s per GPU. Empty words and "nvlink" are one server without a network.
Result<FabricSpec> fabric_of(const PublishedCase& row, const Catalogue& catalogue);

}  // namespace orrery

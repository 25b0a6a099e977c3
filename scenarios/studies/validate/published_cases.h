// SPDX-License-Identifier: Apache-2.0
// Tables of measured training configurations (CSV, one per row, columns named like the scenario
// keys, lines with # are comments), and the scenario of each row. The mapping holds facts about
// software stacks and networks; no constant is fitted to a row.
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
    std::string stack;  // software, with its version
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
    std::vector<std::string> assumed;  // columns that the source does not state
    std::string where;                 // "training.csv:12"
    // Columns of models with experts and of further techniques.
    std::string token_dispatcher;
    std::string router_balance;
    std::string recompute_modules;  // words: "mla_up_proj;mlp"
    std::string offload;
    std::string quantized_communication;
    std::int64_t mtp_num_layers = 0;
    bool overlap_moe_expert_parallel_comm = false;
    // Optional columns; empty if the table lacks them or the row does not say.
    std::string attention_kernel{};  // "te_fused"
    std::string optimizer{};         // "adamw_fused"
    std::string recompute_detail{};  // "op_every_second_matmul"
    std::string compile{};           // "true", "false"
    std::int64_t power_cap_w = 0;    // per GPU; 0: not stated
};

// A value for all rows that list the column as `assumed`.
struct AssumedValue {
    std::string column;
    std::string value;
};

// Reads "gpu=a800-80g".
Result<AssumedValue> read_assumed_value(const std::string& text);

// Errors of the whole table at once, and of each column of `instead` that no row assumes.
ResultOrErrors<std::vector<PublishedCase>> read_published_cases(
    const std::filesystem::path& file, const std::vector<AssumedValue>& instead = {});

// Whether a table of cases may have this column.
bool is_case_column(std::string_view name);

// Splits at the separator: "parallel_block;sliding_window=768" has two words.
std::vector<std::string> words_between(std::string_view text, char separator);
bool says(const std::vector<std::string>& words, std::string_view word);
// A number of up to nine digits; 0 if the text is no such number.
std::int64_t digits_of(std::string_view text);
// The text after "key=" in the first word with this key; empty if there is none.
std::string value_of_word(const std::vector<std::string>& words, std::string_view key);

// Sets the plan from the row's software (the catalogue's stacks), columns and features, and the
// device's power limit. The error names the inexpressible part.
Result<void> set_case_plan(const PublishedCase& row,
                           const Catalogue& catalogue,
                           DeviceSpec& device,
                           ParallelPlan& plan);

// The error says why the row is not expressible.
Result<Scenario> scenario_of(const PublishedCase& row, const Catalogue& catalogue);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/length_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "engine/base/check.h"
#include "kernels/csv_rows.h"
#include "scenarios/format/document/csv_header.h"

namespace orrery {

namespace {

constexpr double kLongestLength = 1e9;

}  // namespace

double length_at(const LengthTable& table, const std::vector<double>& lengths, double share) {
    ORRERY_CHECK(table.shares.size() > 1 && lengths.size() == table.shares.size());
    const auto above = std::upper_bound(table.shares.begin(), table.shares.end(), share);
    const auto last = static_cast<std::ptrdiff_t>(table.shares.size()) - 1;
    const auto i =
        static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(above - table.shares.begin(), 1, last));
    const double width = table.shares[i] - table.shares[i - 1];
    const double part = width > 0 ? (share - table.shares[i - 1]) / width : 1;
    return lengths[i - 1] + (lengths[i] - lengths[i - 1]) * std::clamp(part, 0.0, 1.0);
}

ResultOrErrors<LengthTable> read_length_table(const std::filesystem::path& file) {
    const auto rows = read_csv(file.string(), {"share", "input_tokens", "output_tokens"}, true);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    LengthTable table;
    Errors errors;
    for (const CsvRow& row : *rows) {
        const auto share = parse_number(row.fields[0]);
        const auto input = parse_number(row.fields[1]);
        const auto output = parse_number(row.fields[2]);
        const auto length = [&](const auto& value, const std::vector<double>& before) {
            return value && *value >= 1 && *value <= kLongestLength &&
                   (before.empty() || *value >= before.back());
        };
        const bool ascends = table.shares.empty() || (share && *share > table.shares.back());
        if (!share || !ascends || *share < 0 || *share > 1 || !length(input, table.input_tokens) ||
            !length(output, table.output_tokens)) {
            errors.push_back({row.where,
                              "shares must ascend from 0 to 1, and lengths above zero with them",
                              "0.5,1020,129"});
            continue;
        }
        table.shares.push_back(*share);
        table.input_tokens.push_back(*input);
        table.output_tokens.push_back(*output);
    }
    if (errors.empty() &&
        (table.shares.size() < 2 || table.shares.front() != 0 || table.shares.back() != 1)) {
        errors.push_back({file.string(), "the table must reach from share 0 to share 1", "0,2,7"});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return table;
}

bool is_stage_table(const std::filesystem::path& file) {
    return csv_header(file).find("calls") != std::string::npos;
}

namespace {

constexpr std::int64_t kMostCalls = 1000;
constexpr std::uint32_t kMostStages = 255;

// The columns of a table of stages, with the positions of the optional ones.
struct StageColumns {
    std::vector<std::string> names{"calls", "input_tokens", "output_tokens"};
    std::size_t templates = 0;  // 0: the table has no such column
    std::size_t stage = 0;

    explicit StageColumns(const std::string& header) {
        const auto optional = [&](const char* name) -> std::size_t {
            if (header.find(name) == std::string::npos) {
                return 0;
            }
            names.emplace_back(name);
            return names.size() - 1;
        };
        templates = optional("template_tokens");
        stage = optional("stage");
    }
};

// Nothing if a field is out of its range. `before` is the stage of the previous row, counted from
// 1.
std::optional<WorkflowStage> stage_of(const CsvRow& row,
                                      const StageColumns& columns,
                                      std::int64_t before) {
    const auto calls = parse_integer(row.fields[0]);
    const auto input = parse_number(row.fields[1]);
    const auto output = parse_number(row.fields[2]);
    const auto good = [](const std::optional<double>& length) {
        return length && *length >= 1 && *length <= kLongestLength;
    };
    if (!calls || *calls < 1 || *calls > kMostCalls || !good(input) || !good(output)) {
        return std::nullopt;
    }
    WorkflowStage stage{.calls = *calls,
                        .input_tokens = *input,
                        .output_tokens = *output,
                        .stage = static_cast<std::uint32_t>(before)};
    if (columns.templates > 0) {
        const auto tokens = parse_integer(row.fields[columns.templates]);
        if (!tokens || *tokens < 0 || static_cast<double>(*tokens) > *input) {
            return std::nullopt;
        }
        stage.template_tokens = *tokens;
    }
    if (columns.stage > 0) {
        const auto number = parse_integer(row.fields[columns.stage]);
        if (!number || *number < std::max<std::int64_t>(before, 1) || *number > before + 1) {
            return std::nullopt;
        }
        stage.stage = static_cast<std::uint32_t>(*number - 1);
    }
    return stage;
}

}  // namespace

ResultOrErrors<std::vector<WorkflowStage>> read_stage_table(const std::filesystem::path& file) {
    const StageColumns columns(csv_header(file));
    const auto rows = read_csv(file.string(), columns.names, true);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::vector<WorkflowStage> stages;
    Errors errors;
    for (const CsvRow& row : *rows) {
        const auto stage = stage_of(row, columns, stages.empty() ? 0 : stages.back().stage + 1);
        if (stage) {
            stages.push_back(*stage);
            continue;
        }
        errors.push_back({row.where,
                          fmt::format("a row has 1 to {} calls, lengths of 1 to {:.0e} tokens, at "
                                      "most as many of a template as of the prompt, and the stage "
                                      "of the row before or the next one",
                                      kMostCalls,
                                      kLongestLength),
                          "3,308,5"});
    }
    if (errors.empty() && (stages.empty() || stages.back().stage >= kMostStages)) {
        errors.push_back({file.string(),
                          fmt::format("a workflow has 1 to {} stages, not {}",
                                      kMostStages,
                                      stages.empty() ? 0 : stages.back().stage + 1),
                          "3,308,5"});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return stages;
}

}  // namespace orrery

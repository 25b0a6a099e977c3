// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/read_request_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <sstream>

#include "engine/base/counter_random.h"
#include "kernels/csv_rows.h"
#include "scenarios/format/document/csv_header.h"
#include "scenarios/format/document/json_document.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

namespace {

constexpr std::uint32_t kSubBlocks = 0x426c6f63;  // a separate stream of numbers
constexpr std::string_view kRequestHint = "0.25,1024,128";

// A row's data of a request. A missing or invalid member is empty.
struct TracedRow {
    std::string where;
    std::optional<double> arrival_s;
    std::optional<std::int64_t> input;
    std::optional<std::int64_t> output;
    std::optional<std::vector<std::int64_t>> numbers = std::vector<std::int64_t>{};
};

// "0-3 9"
std::optional<std::vector<std::int64_t>> block_numbers(std::string_view text) {
    constexpr std::int64_t kMostBlocks = 1'000'000;  // per prompt
    std::vector<std::int64_t> numbers;
    std::istringstream words{std::string{text}};
    for (std::string word; words >> word;) {
        const std::size_t dash = word.find('-');
        const auto first = parse_integer(std::string_view{word}.substr(0, dash));
        const auto last = dash == std::string::npos
                              ? first
                              : parse_integer(std::string_view{word}.substr(dash + 1));
        if (!first || !last || *first < 0 || *last < *first ||
            *last - *first > kMostBlocks - std::ssize(numbers)) {
            return std::nullopt;
        }
        for (std::int64_t i = 0; i <= *last - *first; ++i) {
            numbers.push_back(*first + i);
        }
    }
    return numbers;
}

// "2023-11-16 18:15:46.6805900", as seconds since 1970.
std::optional<double> seconds_of_date(std::string_view text) {
    const auto part = [&](std::size_t at, std::size_t length) -> std::optional<std::int64_t> {
        return text.size() < at + length ? std::nullopt : parse_integer(text.substr(at, length));
    };
    const auto year = part(0, 4);
    const auto month = part(5, 2);
    const auto day = part(8, 2);
    const auto hour = part(11, 2);
    const auto minute = part(14, 2);
    const auto second = parse_number(text.size() > 17 ? text.substr(17) : std::string_view{});
    if (!year || !month || !day || !hour || !minute || !second) {
        return std::nullopt;
    }
    const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(*year)),
                                           std::chrono::month(static_cast<unsigned>(*month)),
                                           std::chrono::day(static_cast<unsigned>(*day))};
    if (!date.ok()) {
        return std::nullopt;
    }
    const auto days = std::chrono::sys_days{date}.time_since_epoch().count();
    return static_cast<double>(days) * 86'400 + static_cast<double>(*hour * 3600 + *minute * 60) +
           *second;
}

ResultOrErrors<std::vector<TracedRow>> rows_of_azure(const std::filesystem::path& file) {
    const auto rows =
        read_csv(file.string(), {"TIMESTAMP", "ContextTokens", "GeneratedTokens"}, true);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::vector<TracedRow> traced;
    double first = 0;
    for (const CsvRow& row : *rows) {
        TracedRow one{.where = row.where,
                      .arrival_s = seconds_of_date(row.fields[0]),
                      .input = parse_integer(row.fields[1]),
                      .output = parse_integer(row.fields[2])};
        if (one.arrival_s) {
            first = traced.empty() ? *one.arrival_s : first;
            *one.arrival_s -= first;
        }
        traced.push_back(std::move(one));
    }
    return traced;
}

ResultOrErrors<std::vector<TracedRow>> rows_of_csv(const std::filesystem::path& file) {
    const std::string head = csv_header(file);
    if (head.find("ContextTokens") != std::string::npos) {
        return rows_of_azure(file);
    }
    const bool milliseconds = head.find("arrival_ms") != std::string::npos;
    const std::string arrival = milliseconds ? "arrival_ms" : "arrival_s";
    const auto rows =
        read_csv(file.string(), {arrival, "input_tokens", "output_tokens", "blocks="}, true);
    if (!rows) {
        return unexpected<Errors>(rows.error());
    }
    std::vector<TracedRow> traced;
    for (const CsvRow& row : *rows) {
        TracedRow one{.where = row.where,
                      .arrival_s = parse_number(row.fields[0]),
                      .input = parse_integer(row.fields[1]),
                      .output = parse_integer(row.fields[2]),
                      .numbers = block_numbers(row.fields[3])};
        if (one.arrival_s && milliseconds) {
            *one.arrival_s *= 1e-3;
        }
        traced.push_back(std::move(one));
    }
    return traced;
}

TracedRow row_of_line(const DocumentNode& line) {
    const auto number = [&](const char* key) -> std::optional<double> {
        const DocumentNode* node = line.find(key);
        return node != nullptr && node->is_scalar() ? parse_number(node->text) : std::nullopt;
    };
    const auto integer = [](const DocumentNode* node) -> std::optional<std::int64_t> {
        return node != nullptr && node->is_scalar() ? parse_integer(node->text) : std::nullopt;
    };
    TracedRow row{.where = line.where(),
                  .arrival_s = number("timestamp"),
                  .input = integer(line.find("input_length")),
                  .output = integer(line.find("output_length"))};
    if (row.arrival_s) {
        *row.arrival_s *= 1e-3;
    }
    const DocumentNode* ids = line.find("hash_ids");
    for (std::size_t i = 0; ids != nullptr && i < ids->items.size() && row.numbers; ++i) {
        if (const auto id = integer(&ids->items[i]); id && *id >= 0) {
            row.numbers->push_back(*id);
        } else {
            row.numbers = std::nullopt;
        }
    }
    return row;
}

ResultOrErrors<std::vector<TracedRow>> rows_of_lines(const std::filesystem::path& file) {
    std::ifstream in(file);
    if (!in) {
        return unexpected<Errors>(Errors{{file.string(), "the file cannot be read", {}}});
    }
    std::vector<TracedRow> traced;
    std::uint32_t number = 0;
    for (std::string line; std::getline(in, line);) {
        ++number;
        if (line.empty()) {
            continue;
        }
        const auto node = parse_json(line, file.string(), number);
        if (!node) {
            return unexpected<Errors>(node.error());
        }
        traced.push_back(node->is_map() ? row_of_line(*node) : TracedRow{.where = node->where()});
    }
    return traced;
}

bool good_length(const std::optional<std::int64_t>& tokens) {
    return tokens && *tokens >= 1 && *tokens <= kMostTokens;
}

}  // namespace

std::vector<std::uint64_t> prefix_hashes_of(std::span<const std::int64_t> numbers,
                                            std::int64_t prompt_tokens,
                                            const TraceBlocks& blocks) {
    std::vector<std::uint64_t> hashes;
    if (blocks.of_cache == 0) {
        return hashes;
    }
    const std::int64_t full =
        std::min(prompt_tokens, std::ssize(numbers) * blocks.of_trace) / blocks.of_cache;
    for (std::int64_t i = 0; i < full; ++i) {
        // The trace's last block with a token of this block, and the part of it.
        const std::int64_t last = ((i + 1) * blocks.of_cache - 1) / blocks.of_trace;
        const std::int64_t part = i * blocks.of_cache % std::max(blocks.of_trace, blocks.of_cache);
        CounterRandom hash(static_cast<std::uint64_t>(numbers[static_cast<std::size_t>(last)]),
                           static_cast<std::uint64_t>(part),
                           kSubBlocks);
        hashes.push_back(hash.next());
    }
    return hashes;
}

ResultOrErrors<std::vector<Request>> read_request_trace(const std::filesystem::path& file,
                                                        const TraceBlocks& blocks) {
    const std::int64_t larger = std::max(blocks.of_trace, blocks.of_cache);
    const std::int64_t smaller = std::min(blocks.of_trace, blocks.of_cache);
    auto rows = file.extension() == ".jsonl" ? rows_of_lines(file) : rows_of_csv(file);
    if (!rows) {
        return unexpected<Errors>(std::move(rows.error()));
    }
    std::vector<Request> requests;
    Errors errors;
    for (const TracedRow& row : *rows) {
        if (!row.arrival_s || *row.arrival_s < 0 || *row.arrival_s > kLongestLoad_s ||
            !good_length(row.input) || !good_length(row.output) || !row.numbers) {
            errors.push_back({row.where,
                              "a request needs an arrival in seconds and tokens above zero",
                              std::string{kRequestHint}});
            continue;
        }
        const Time at = Time::seconds(*row.arrival_s);
        if (!requests.empty() && at < requests.back().arrival) {
            errors.push_back({row.where,
                              "this request comes before the one above it",
                              "sort the trace by arrival_s"});
            continue;
        }
        if (!row.numbers->empty() && smaller > 0 && larger % smaller != 0) {
            errors.push_back(
                {row.where,
                 fmt::format("blocks of {} tokens of a trace are no blocks of {} tokens of a cache",
                             blocks.of_trace,
                             blocks.of_cache),
                 "serving.pools.block_size: 16"});
            break;
        }
        requests.push_back({.arrival = at,
                            .prompt_tokens = *row.input,
                            .output_tokens = *row.output,
                            .prefix_hashes = prefix_hashes_of(*row.numbers, *row.input, blocks)});
    }
    if (errors.empty() && requests.empty()) {
        errors.push_back({file.string(), "the trace has no request", {}});
    }
    if (!errors.empty()) {
        return unexpected<Errors>(std::move(errors));
    }
    return requests;
}

}  // namespace orrery

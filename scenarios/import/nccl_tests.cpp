// SPDX-License-Identifier: Apache-2.0
#include "scenarios/import/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "scenarios/read/device_names.h"
#include "scenarios/read/json_document.h"

namespace orrery {
namespace {

std::optional<Dtype> dtype_of(std::string_view word) {
    constexpr std::array<std::pair<std::string_view, Dtype>, 6> kWords{{{"float", Dtype::fp32},
                                                                        {"half", Dtype::fp16},
                                                                        {"bfloat16", Dtype::bf16},
                                                                        {"f32", Dtype::fp32},
                                                                        {"f16", Dtype::fp16},
                                                                        {"bf16", Dtype::bf16}}};
    const auto* found =
        std::ranges::find(kWords, word, [](const auto& pair) { return pair.first; });
    return found == kWords.end() ? std::nullopt : std::optional{found->second};
}

template <class T>
std::optional<T> number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole = error == std::errc{} && end == text.data() + text.size() && value > 0;
    return whole ? std::optional{value} : std::nullopt;
}

class Reader {
public:
    Reader(std::string source, const NcclTestsImport& options)
        : source_(std::move(source)),
          device_(options.device),
          collective_(options.collective),
          options_(options) {}

    ResultOrErrors<ImportedTransfers> text(const std::string& text) {
        std::istringstream lines{text};
        for (std::string line; std::getline(lines, line);) {
            ++line_;
            if (line.find_first_not_of(" \t\r") == line.npos) {
                continue;
            }
            const bool comment = line[line.find_first_not_of(" \t")] == '#';
            comment ? this->comment(line) : row(line);
        }
        return finish();
    }

    ResultOrErrors<ImportedTransfers> json(const DocumentNode& root) {
        const DocumentNode* results = root.find("results");
        if (results == nullptr || !results->is_sequence()) {
            errors_.push_back(
                {root.where(), "has no list 'results'", "the output of nccl-tests -J"});
            return finish();
        }
        if (const DocumentNode* devices = root.find("devices");
            devices != nullptr && devices->is_sequence()) {
            for (const DocumentNode& device : devices->items) {
                ++ranks_seen_;
                const DocumentNode* name = device.is_map() ? device.find("device_name") : nullptr;
                note_device(name != nullptr ? name->text : device.text);
            }
        }
        for (const DocumentNode& result : results->items) {
            const DocumentNode* out = result.is_map() ? result.find("out_of_place") : nullptr;
            const auto text_of = [&](const DocumentNode* map, const char* key) {
                const DocumentNode* value =
                    map != nullptr && map->is_map() ? map->find(key) : nullptr;
                return value != nullptr ? value->text : std::string{};
            };
            add(result.where(),
                text_of(&result, "size"),
                text_of(&result, "type"),
                text_of(out, "time"));
        }
        return finish();
    }

private:
    void comment(const std::string& line) {
        if (line.find("Rank") != line.npos && line.find("device") != line.npos) {
            ++ranks_seen_;
            note_device(line);
        }
        for (std::size_t kind = 0; kind < kNumTransferKinds; ++kind) {
            const auto transfer = static_cast<TransferKind>(kind);
            const std::string test = std::string{name(transfer)} + "_perf";
            if (!collective_ && line.find(test) != line.npos) {
                collective_ = transfer;
            }
        }
    }

    void note_device(const std::string& name) {
        if (device_.empty()) {
            device_ = device_of_gpu(name, 0);
        }
    }

    // size count type redop root | time algbw busbw #wrong | in-place; some tests lack redop, root.
    void row(const std::string& line) {
        std::istringstream in{line};
        std::vector<std::string> words;
        for (std::string word; in >> word;) {
            words.push_back(word);
        }
        const std::size_t type = 2;
        // Behind the type: redop (a word) and root (a whole number, -1 for none), where they are.
        std::size_t time = type + 1;
        while (time < words.size() && words[time].find('.') == std::string::npos &&
               time < type + 3) {
            ++time;
        }
        if (words.size() < time + 3) {
            complain("a row needs size, count, type and time");
            return;
        }
        add(fmt::format("{}:{}", source_, line_), words[0], words[type], words[time]);
    }

    void complain(std::string what) {
        errors_.push_back({fmt::format("{}:{}", source_, line_),
                           std::move(what),
                           "this is no line of nccl-tests' table"});
    }

    void add(const std::string& where,
             const std::string& size,
             const std::string& type,
             const std::string& time) {
        if (size == "0") {
            return;  // it measures nothing
        }
        const auto bytes = number<std::int64_t>(size);
        const auto us = number<double>(time);
        const auto dtype = dtype_of(type);
        if (!bytes) {
            errors_.push_back({where, fmt::format("size: '{}' is no number of bytes", size), ""});
        }
        if (!us || *us > 1e12) {
            errors_.push_back({where, fmt::format("time: '{}' is no time in us", time), ""});
        }
        if (bytes && us && !dtype) {
            ++other_types_[type];
        } else if (bytes && us && *us <= 1e12) {
            rows_.push_back(
                {.wire = *dtype, .bytes = Bytes{*bytes}, .median = Time::seconds(*us * 1e-6)});
        }
    }

    ResultOrErrors<ImportedTransfers> finish() {
        const std::uint32_t ranks = options_.ranks > 0 ? options_.ranks : ranks_seen_;
        const auto need = [&](bool there, const char* what, const char* hint) {
            if (!there) {
                errors_.push_back({source_, fmt::format("does not say {}", what), hint});
            }
        };
        if (errors_.empty()) {
            need(!rows_.empty(), "any time of fp32, fp16 or bf16", "the output of nccl-tests");
            need(collective_.has_value(), "which collective it is", "--collective all_reduce");
            need(!device_.empty(), "which device it ran on", "--device h100-80g");
            need(ranks >= 2, "how many ranks there were", "--ranks 8");
        }
        if (!errors_.empty()) {
            return unexpected<Errors>(std::move(errors_));
        }
        ImportedTransfers imported;
        for (MeasuredTransfer row : rows_) {
            row.kind = *collective_;
            row.ranks = ranks;
            imported.profile.transfers.push_back({.device = device_, .time = row});
        }
        for (const auto& [type, rows] : other_types_) {
            imported.left_out.push_back(fmt::format("{}: {} rows", type, rows));
        }
        return imported;
    }

    std::string source_;
    std::string device_;
    std::optional<TransferKind> collective_;
    std::uint32_t ranks_seen_ = 0;
    const NcclTestsImport& options_;
    std::vector<MeasuredTransfer> rows_;
    std::map<std::string, int> other_types_;
    Errors errors_;
    std::size_t line_ = 0;
};

}  // namespace

ResultOrErrors<ImportedTransfers> import_nccl_tests(const std::string& text,
                                                    const std::string& source,
                                                    const NcclTestsImport& options) {
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == text.npos || text[first] != '{') {
        return Reader{source, options}.text(text);
    }
    const auto root = parse_json(text, source);
    return root ? Reader{source, options}.json(*root)
                : ResultOrErrors<ImportedTransfers>{unexpected<Errors>(root.error())};
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/import/nccl_tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <map>
#include <sstream>
#include <string_view>
#include <utility>

#include "scenarios/format/document/json_document.h"
#include "scenarios/format/document/trimmed.h"
#include "scenarios/format/read/device_names.h"

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
            const std::string_view own = without_tag(line);
            if (!own.empty() && own.front() == '#') {
                comment(own);
            } else if (!row(own)) {
                note_collective(own);
            }
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
    // The line without blanks at both ends and without a launcher's tag: "[1,0]<stdout>:" of mpirun
    // --tag-output, "0: " of srun -l.
    static std::string_view without_tag(std::string_view line) {
        line = trimmed(line);
        const std::size_t tag = line.find(">:");
        if (line.starts_with('[') && tag != line.npos &&
            line.substr(0, tag).find('<') != line.npos) {
            return trimmed(line.substr(tag + 2));
        }
        const std::size_t digits = line.find_first_not_of("0123456789");
        const bool numbered = digits != line.npos && digits > 0 && line[digits] == ':';
        return numbered ? trimmed(line.substr(digits + 1)) : line;
    }

    // "#  Rank  3 Group  0 Pid  37 on  node device  3 [0x0a] NVIDIA H100 80GB HBM3"
    void comment(std::string_view line) {
        const std::size_t rank = line.find("Rank");
        const std::size_t bus = line.rfind("] ");
        if (rank != line.npos && line.find("device") != line.npos && bus != line.npos) {
            std::istringstream words{std::string{line.substr(rank + 4)}};
            std::uint32_t number = 0;
            if (words >> number && number < 1'000'000) {
                ranks_seen_ = std::max(ranks_seen_, number + 1);
            }
            note_device(line.substr(bus + 2));
        }
        note_collective(line);
    }

    // The name of a test, from the header of newer versions or from a printed command.
    void note_collective(std::string_view line) {
        constexpr std::array<std::pair<std::string_view, std::optional<TransferKind>>, 12> kTests{
            {{"all_reduce_perf", TransferKind::all_reduce},
             {"all_gather_perf", TransferKind::all_gather},
             {"reduce_scatter_perf", TransferKind::reduce_scatter},
             {"alltoall_perf", TransferKind::all_to_all},
             {"all_to_all_perf", TransferKind::all_to_all},
             {"broadcast_perf", TransferKind::broadcast},
             {"sendrecv_perf", TransferKind::send_recv},
             {"send_recv_perf", TransferKind::send_recv},
             {"reduce_perf", std::nullopt},
             {"gather_perf", std::nullopt},
             {"scatter_perf", std::nullopt},
             {"hypercube_perf", std::nullopt}}};
        for (const auto& [test, kind] : kTests) {
            const std::size_t at = line.find(test);
            const bool whole =
                at == 0 || (at != line.npos && line[at - 1] != '_' &&
                            std::isalpha(static_cast<unsigned char>(line[at - 1])) == 0);
            if (whole && !options_.collective) {
                collective_ = kind;
                other_test_ = kind ? "" : test;
                return;
            }
        }
    }

    void note_device(std::string_view name) {
        if (device_.empty()) {
            device_ = device_of_gpu(name, 0);
        }
    }

    // size count type redop root | time algbw busbw #wrong | in-place. Some tests lack redop and
    // root. False for other lines, because a log also has lines of mpirun and NCCL.
    bool row(std::string_view line) {
        std::istringstream in{std::string{line}};
        std::vector<std::string> words;
        for (std::string word; words.size() < 16 && in >> word;) {
            words.push_back(word);
        }
        const auto is_count = [](const std::string& word) {
            return word.find_first_not_of("0123456789") == std::string::npos;
        };
        const std::size_t type = 2;
        if (words.size() < type + 2 || !is_count(words[0]) || !is_count(words[1]) ||
            std::isalpha(static_cast<unsigned char>(words[type][0])) == 0) {
            return false;
        }
        // After the type follow redop (a word) and root (a whole number, -1 for none), if present.
        std::size_t time = type + 1;
        while (time < words.size() && words[time].find('.') == std::string::npos &&
               time < type + 3) {
            ++time;
        }
        const std::string where = fmt::format("{}:{}", source_, line_);
        add(where, words[0], words[type], time < words.size() ? words[time] : "");
        return true;
    }

    void add(const std::string& where,
             const std::string& size,
             const std::string& type,
             const std::string& time) {
        if (size == "0") {
            return;  // a row without a measurement
        }
        const auto bytes = number<std::int64_t>(size);
        const auto us = number<double>(time);
        const auto dtype = dtype_of(type);
        if (!dtype || !collective_known()) {
            ++other_types_[dtype ? other_test_ : type];
        } else if (!bytes) {
            errors_.push_back({where, fmt::format("size: '{}' is no number of bytes", size), ""});
        } else if (!us || *us > 1e12) {
            errors_.push_back({where, fmt::format("time: '{}' is no time in us", time), ""});
        } else {
            unnamed_ += collective_ ? 0 : 1;
            rows_.push_back({.kind = collective_.value_or(TransferKind::all_reduce),
                             .wire = *dtype,
                             .bytes = Bytes{*bytes},
                             .median = Time::seconds(*us * 1e-6)});
        }
    }

    // False below the header of a test that is no collective of a step.
    bool collective_known() const { return other_test_.empty(); }

    ResultOrErrors<ImportedTransfers> finish() {
        const std::uint32_t ranks = options_.ranks > 0 ? options_.ranks : ranks_seen_;
        const auto need = [&](bool there, const char* what, const char* hint) {
            if (!there) {
                errors_.push_back({source_, fmt::format("does not say {}", what), hint});
            }
        };
        if (errors_.empty() && rows_.empty()) {
            need(false, "any time of fp32, fp16 or bf16", "the output of nccl-tests");
        } else if (errors_.empty()) {
            need(collective_.has_value(), "which collective it is", "--collective all_reduce");
            need(!device_.empty(), "which device it ran on", "--device h100-80g");
            need(ranks >= 2, "how many ranks there were", "--ranks 8");
        }
        if (!errors_.empty()) {
            return unexpected<Errors>(std::move(errors_));
        }
        for (std::size_t i = 0; i < unnamed_; ++i) {
            rows_[i].kind = *collective_;
        }
        ImportedTransfers imported;
        for (MeasuredTransfer row : rows_) {
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
    std::string other_test_;  // "reduce_perf": its rows are skipped
    std::uint32_t ranks_seen_ = 0;
    const NcclTestsImport& options_;
    std::vector<MeasuredTransfer> rows_;
    std::size_t unnamed_ = 0;  // number of rows before a line named the test
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

// SPDX-License-Identifier: Apache-2.0
#include "runtime/supervisor/member_messages.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace orrery {
namespace {

template <class Kind>
struct KindWord {
    Kind kind;
    std::string_view word;
};
constexpr std::array<KindWord<OrderKind>, kNumOrderKinds> kOrders{{{OrderKind::go, "go"},
                                                                   {OrderKind::leave, "leave"},
                                                                   {OrderKind::quit, "quit"},
                                                                   {OrderKind::check, "check"}}};
constexpr std::array<KindWord<ReportKind>, kNumReportKinds> kReports{
    {{ReportKind::ready, "ready"},
     {ReportKind::beat, "beat"},
     {ReportKind::training, "training"},
     {ReportKind::fault, "fault"},
     {ReportKind::step, "step"},
     {ReportKind::saved, "saved"},
     {ReportKind::unsaved, "unsaved"},
     {ReportKind::left, "left"},
     {ReportKind::failed, "failed"},
     {ReportKind::done, "done"},
     {ReportKind::checked, "checked"}}};
// Checks that row i has kind i, so that the kind is an index.
template <class Table>
constexpr bool rows_in_order(const Table& table) {
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (static_cast<std::size_t>(table[i].kind) != i) {
            return false;
        }
    }
    return true;
}
static_assert(rows_in_order(kOrders) && rows_in_order(kReports));
constexpr std::size_t kTextMost = 1000;  // a line must fit into one atomic write to a pipe

std::string clean(std::string_view text) {
    std::string words{text.substr(0, kTextMost)};
    for (char& c : words) {
        c = c == '\t' || c == '\n' || c == '\r' ? ' ' : c;
    }
    return words;
}

std::vector<std::string_view> fields_of(std::string_view line) {
    std::vector<std::string_view> fields;
    for (;;) {
        const std::size_t end = line.find('\t');
        fields.push_back(line.substr(0, end));
        if (end == std::string_view::npos) {
            return fields;
        }
        line.remove_prefix(end + 1);
    }
}

template <class T>
bool number(std::string_view text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size();
}

template <class Kind, std::size_t N>
bool kind_of(std::string_view word, const std::array<KindWord<Kind>, N>& table, Kind& kind) {
    for (const KindWord<Kind>& row : table) {
        if (row.word == word) {
            kind = row.kind;
            return true;
        }
    }
    return false;
}

bool numbers(std::string_view text, std::vector<std::uint32_t>& values) {
    while (!text.empty()) {
        const std::size_t end = std::min(text.find(','), text.size());
        std::uint32_t value = 0;
        if (!number(text.substr(0, end), value)) {
            return false;
        }
        values.push_back(value);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return true;
}

}  // namespace

std::string rank_ranges(std::vector<std::uint32_t> ranks) {
    constexpr std::size_t kLongest = 400;  // next to the other words of a report
    std::ranges::sort(ranks);
    std::string text;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t end = i + 1;
        while (end < ranks.size() && ranks[end] <= ranks[end - 1] + 1) {
            ++end;
        }
        if (text.size() > kLongest) {
            return text + ",...";
        }
        text += (text.empty() ? "" : ",") + std::to_string(ranks[i]);
        if (ranks[end - 1] != ranks[i]) {
            text += "-" + std::to_string(ranks[end - 1]);
        }
        i = end;
    }
    return text.empty() ? "-" : text;
}

std::string to_line(const Order& order) {
    return fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}",
                       kOrders[static_cast<std::size_t>(order.kind)].word,
                       order.generation,
                       order.rank,
                       order.num_ranks,
                       clean(order.store),
                       clean(order.checkpoint),
                       fmt::join(order.struck, ","),
                       fmt::join(order.lasting, ","));
}

std::string to_line(const MemberReport& report) {
    return fmt::format("{}\t{}\t{}\t{}\t{}",
                       kReports[static_cast<std::size_t>(report.kind)].word,
                       report.generation,
                       report.step,
                       report.number,
                       clean(report.text));
}

std::optional<Order> parse_order(std::string_view line) {
    const std::vector<std::string_view> fields = fields_of(line);
    Order order;
    const bool good = fields.size() == 8 && kind_of(fields[0], kOrders, order.kind) &&
                      number(fields[1], order.generation) && number(fields[2], order.rank) &&
                      number(fields[3], order.num_ranks) && numbers(fields[6], order.struck) &&
                      numbers(fields[7], order.lasting);
    if (!good) {
        return std::nullopt;
    }
    order.store = fields[4];
    order.checkpoint = fields[5];
    return order;
}

std::optional<MemberReport> parse_report(std::string_view line) {
    const std::vector<std::string_view> fields = fields_of(line);
    MemberReport report;
    const bool good = fields.size() == 5 && kind_of(fields[0], kReports, report.kind) &&
                      number(fields[1], report.generation) && number(fields[2], report.step) &&
                      number(fields[3], report.number);
    if (!good) {
        return std::nullopt;
    }
    report.text = fields[4];
    return report;
}

}  // namespace orrery

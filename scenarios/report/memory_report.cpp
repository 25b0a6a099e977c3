// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/memory_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/utf8.h"
#include "scenarios/report/json_text.h"

namespace orrery {
namespace {

double gib(double bytes) {
    return bytes / static_cast<double>(std::int64_t{1} << 30);
}

}  // namespace

std::string tier_line(std::string_view name, Bytes used, Bytes has, const BufferUse& largest) {
    if (has == Bytes{}) {
        return fmt::format("  {:<24}{:>11}  of a server\n", name, to_short_text(used));
    }
    const std::string text = fmt::format("  {:<24}{:>11}  of {} of a server: ",
                                         name,
                                         to_short_text(used),
                                         to_short_text(has));
    return used <= has ? text + "fits\n"
                       : text + fmt::format("DOES NOT FIT by {}\n  {:<37}largest: {}, {}\n",
                                            to_short_text(used - has),
                                            "",
                                            cut(largest.name, 40),
                                            to_short_text(largest.bytes));
}

std::string does_not_fit_line(const MemoryUse& m) {
    const auto server = [](std::string_view what, Bytes used, Bytes has, const BufferUse& largest) {
        return fmt::format("DOES NOT FIT: {} of a server {} too small for {} (largest: {}, {})",
                           what,
                           to_short_text(used - has),
                           to_short_text(used),
                           cut(largest.name, 40),
                           to_short_text(largest.bytes));
    };
    if (m.needed() <= m.device && m.host > m.host_memory) {
        return server("memory", m.host, m.host_memory, m.host_largest);
    }
    if (m.needed() <= m.device && m.drives_size > Bytes{} && m.drives > m.drives_size) {
        return server("drives", m.drives, m.drives_size, m.drives_largest);
    }
    return fmt::format("DOES NOT FIT: the fullest GPU needs {} and has {} (rank {}, {})",
                       to_short_text(m.needed()),
                       to_short_text(m.device),
                       index(m.rank),
                       m.role);
}

std::string memory_report(const MemoryValidation& validation) {
    std::string text = fmt::format("{:<34}{:>9}{:>12}{:>12}{:>9}{:>9}\n\n",
                                   "case",
                                   "outcome",
                                   "peak GiB",
                                   "predicted",
                                   "error",
                                   "beside");
    for (const ValidatedMemory& row : validation.rows) {
        text += fmt::format("{:<34}{:>9}", cut(row.name, 33), row.ran ? "ran" : "oom");
        text += row.measured_peak_b > 0
                    ? fmt::format("{:>12.1f}{:>12.1f}{:>+8.1f}%",
                                  gib(row.measured_peak_b),
                                  gib(row.predicted_peak_b),
                                  row.error() * 100)
                    : fmt::format("{:>12}{:>12.1f}{:>9}", "", gib(row.predicted_peak_b), "");
        text += fmt::format("{:>9.1f}", gib(row.beside_plan_b));
        text += row.ran == row.fits ? "\n" : row.fits ? "  would fit\n" : "  would not fit\n";
    }
    for (const SkippedMemory& skip : validation.skipped) {
        text += fmt::format("{:<34}{}\n", cut(skip.name, 33), skip.reason);
    }
    text += fmt::format(
        "\n{} of {} configurations that ran fit; {} of {} that ran out of memory "
        "do not.\n",
        validation.ran_and_fit,
        validation.ran,
        validation.out_and_too_large,
        validation.out_of_memory);
    text += "beside: GiB of the driver, CUDA, NCCL and the allocator's fragments; they count.\n";
    if (validation.peaks > 0) {
        text += fmt::format("The {} published peaks are off by {:.1f} % in the median.\n",
                            validation.peaks,
                            validation.median_error * 100);
    }
    return text;
}

std::string json_report(const MemoryValidation& validation) {
    using Json = nlohmann::ordered_json;
    Json rows = Json::array();
    for (const ValidatedMemory& row : validation.rows) {
        rows.push_back(
            {{"case", row.name},
             {"family", row.family},
             {"ran", row.ran},
             {"fits", row.fits},
             {"measured_peak_bytes", row.measured_peak_b > 0 ? Json(row.measured_peak_b) : Json()},
             {"predicted_peak_bytes", row.predicted_peak_b},
             {"beside_plan_bytes", row.beside_plan_b}});
    }
    Json skipped = Json::array();
    for (const SkippedMemory& skip : validation.skipped) {
        skipped.push_back({{"case", skip.name}, {"reason", skip.reason}});
    }
    return json_text(Json{{"rows", rows},
                          {"skipped", skipped},
                          {"families", Json::object()},
                          {"overall",
                           {{"ran", validation.ran},
                            {"ran_and_fit", validation.ran_and_fit},
                            {"out_of_memory", validation.out_of_memory},
                            {"out_and_too_large", validation.out_and_too_large},
                            {"peaks", validation.peaks},
                            {"median_peak_error", validation.median_error}}}});
}

}  // namespace orrery

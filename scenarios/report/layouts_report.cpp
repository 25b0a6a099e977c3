// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/layouts_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "scenarios/format/document/quantity.h"
#include "scenarios/report/render/json_text.h"
#include "scenarios/report/render/text_table.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLayoutsWidth = 110;

std::string transfer_text(const LayoutTransfer& t) {
    return fmt::format("-> {}: {} over {}, {} in {} a step, {}",
                       t.name,
                       t.kind,
                       t.over,
                       to_short_text(t.bytes),
                       t.times,
                       name(t.wire));
}

std::string stage_text(const StageLayouts& stage) {
    std::string text = fmt::format("One rank of {}   (mesh: {})\n", stage.role, stage.mesh);
    std::vector<TextRow> rows{{"phase", "kind", "placement", "tier", "codec", "lifetime", "size"}};
    for (const LayoutRow& row : stage.rows) {
        const std::string steps = row.step_placement.empty() ? "" : ", steps " + row.step_placement;
        rows.push_back({row.phase,
                        std::string{name(row.kind)},
                        row.placement + steps,
                        row.tier,
                        std::string{name(row.codec)},
                        std::string{name(row.lifetime)},
                        to_short_text(row.bytes)});
    }
    const std::string table = text_table(rows, 6);
    std::size_t line = table.find('\n') + 1;
    text += table.substr(0, line);
    for (const LayoutRow& row : stage.rows) {
        const std::size_t end = table.find('\n', line) + 1;
        text += table.substr(line, end - line);
        line = end;
        text += wrapped(fmt::format("{}", fmt::join(row.tensors, ", ")), kLayoutsWidth, 6);
        for (const LayoutTransfer& transfer : row.transfers) {
            text += wrapped(transfer_text(transfer), kLayoutsWidth, 6);
        }
    }
    return text;
}

}  // namespace

std::string layouts_report(const std::vector<StageLayouts>& stages) {
    std::string text;
    for (const StageLayouts& stage : stages) {
        text += (text.empty() ? "" : "\n") + stage_text(stage);
    }
    return text;
}

Report layouts_sections(const std::vector<StageLayouts>& stages) {
    Report report{.title = "How the tensors of a step lie"};
    for (const StageLayouts& stage : stages) {
        ReportSection section{.title = "One rank of " + stage.role,
                              .note = fmt::format("Mesh: {}.", stage.mesh)};
        section.table.columns = {{"phase"},
                                 {"kind"},
                                 {"placement"},
                                 {"tier"},
                                 {"codec"},
                                 {"lifetime"},
                                 {"size", Unit::bytes},
                                 {"tensors"},
                                 {"transfers"}};
        for (const LayoutRow& row : stage.rows) {
            std::vector<std::string> transfers;
            for (const LayoutTransfer& transfer : row.transfers) {
                transfers.push_back(transfer_text(transfer));
            }
            section.table.rows.push_back({row.phase,
                                          name(row.kind),
                                          row.placement,
                                          row.tier,
                                          name(row.codec),
                                          name(row.lifetime),
                                          row.bytes,
                                          fmt::format("{}", fmt::join(row.tensors, ", ")),
                                          fmt::format("{}", fmt::join(transfers, "; "))});
        }
        report.sections.push_back(std::move(section));
    }
    return report;
}

std::string layouts_json(const std::vector<StageLayouts>& stages) {
    Json all = json_list<Json>(stages, [&](const StageLayouts& stage) -> Json {
        Json rows = json_list<Json>(stage.rows, [&](const LayoutRow& row) -> Json {
            Json transfers = json_list<Json>(row.transfers, [&](const LayoutTransfer& t) -> Json {
                return {{"name", t.name},
                        {"kind", t.kind},
                        {"over", t.over},
                        {"wire", name(t.wire)},
                        {"bytes", t.bytes.count()},
                        {"times", t.times}};
            });
            return {
                {"phase", row.phase},
                {"kind", name(row.kind)},
                {"tensors", row.tensors},
                {"placement", row.placement},
                {"step_placement", row.step_placement.empty() ? row.placement : row.step_placement},
                {"tier", row.tier},
                {"codec", name(row.codec)},
                {"lifetime", name(row.lifetime)},
                {"bytes", row.bytes.count()},
                {"transfers", transfers}};
        });
        return {{"role", stage.role}, {"mesh", stage.mesh}, {"layouts", rows}};
    });
    return json_text(Json{{"stages", all}});
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "scenarios/report/render/json_report.h"
#include "scenarios/report/render/json_text.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json ranks_json(const std::vector<RankId>& ranks) {
    return json_list<Json>(ranks, [](const RankId rank) { return index(rank); });
}

}  // namespace

std::string hang_json(const StepHang& hang) {
    Json groups = json_list<Json>(hang.groups, [](const StuckGroup& group) -> Json {
        return {{"operation", group.operation},
                {"group", group.group},
                {"since_s", group.since.seconds()},
                {"waiting", ranks_json(group.waiting)},
                {"missing", ranks_json(group.missing)}};
    });
    const Json json{
        {"lost", ranks_json(hang.lost)}, {"timeout_s", hang.timeout.seconds()}, {"groups", groups}};
    return json_line(json);
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/hang_json.h"

#include <nlohmann/json.hpp>

#include "scenarios/report/json_text.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json ranks_json(const std::vector<RankId>& ranks) {
    Json list = Json::array();
    for (const RankId rank : ranks) {
        list.push_back(index(rank));
    }
    return list;
}

}  // namespace

std::string hang_json(const StepHang& hang) {
    Json groups = Json::array();
    for (const StuckGroup& group : hang.groups) {
        groups.push_back({{"operation", group.operation},
                          {"group", group.group},
                          {"since_s", group.since.seconds()},
                          {"waiting", ranks_json(group.waiting)},
                          {"missing", ranks_json(group.missing)}});
    }
    const Json json{
        {"lost", ranks_json(hang.lost)}, {"timeout_s", hang.timeout.seconds()}, {"groups", groups}};
    return json_line(json);
}

}  // namespace orrery

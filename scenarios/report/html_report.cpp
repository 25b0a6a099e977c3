// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/html_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "scenarios/report/console_report.h"
#include "scenarios/report/explain_report.h"
#include "scenarios/report/json_report.h"
#include "scenarios/report/json_text.h"

namespace orrery {
namespace {

using Json = nlohmann::ordered_json;

Json timeline_json(const TimelineBars& timeline) {
    Json kinds = Json::array();
    for (std::size_t kind = 0; kind < kNumBarKinds; ++kind) {
        kinds.push_back(name(static_cast<BarKind>(kind)));
    }
    Json lanes = Json::array();
    for (const Lane& lane : timeline.lanes) {
        Json bars = Json::array();
        for (const Bar& bar : lane.bars) {
            bars.push_back({static_cast<int>(bar.kind),
                            bar.begin_ns,
                            bar.length_ns,
                            bar.name,
                            bar.micro_batch});
        }
        lanes.push_back({{"rank", lane.role + " #" + std::to_string(index(lane.rank))},
                         {"stream", lane.stream},
                         {"first", lane.first},
                         {"bars", std::move(bars)}});
    }
    return {{"kinds", kinds}, {"names", timeline.names}, {"lanes", lanes}};
}

Json memory_json(const MemoryOverTime& memory) {
    Json kinds = Json::array();
    for (std::size_t kind = 0; kind < kNumTensorKinds; ++kind) {
        kinds.push_back(name(static_cast<TensorKind>(kind)));
    }
    Json xs = Json::array();
    Json values = Json::array();
    for (const MemoryOverTime::Moment& moment : memory.moments) {
        xs.push_back(static_cast<double>(moment.at_ns) * 1e-9);
        Json of = Json::array();
        for (const Bytes bytes : moment.of.of) {
            of.push_back(bytes.count());
        }
        values.push_back(std::move(of));
    }
    return {{"role", memory.role}, {"kinds", kinds}, {"xs", xs}, {"values", values}};
}

Json heat_json(const std::vector<LinkHeat>& heat) {
    Json rows = Json::array();
    for (const LinkHeat& one : heat) {
        Json values = Json::array();
        for (const double use : one.utilisation) {
            values.push_back(std::round(use * 1e3) / 1e3);
        }
        rows.push_back({{"name", one.link_class}, {"values", std::move(values)}});
    }
    return {{"rows", rows}};
}

// Inside a <script> element only the sequence "</" and "<!--" end or change what is read.
std::string escaped(const std::string& text, const char* less, const char* ampersand) {
    std::string result;
    result.reserve(text.size());
    for (const char c : text) {
        if (c == '<') {
            result += less;
        } else if (c == '&' && ampersand != nullptr) {
            result += ampersand;
        } else {
            result += c;
        }
    }
    return result;
}

// The template with its marks replaced, in one pass: what is put in is not looked at again.
std::string filled(std::string_view page,
                   const std::map<std::string_view, std::string_view>& values) {
    std::string result;
    for (std::size_t at = 0; at < page.size();) {
        const std::size_t mark = std::min(page.find('@', at), page.size());
        result += page.substr(at, mark - at);
        const std::size_t end = page.find('@', mark + 1);
        const auto value = end == std::string_view::npos
                               ? values.end()
                               : values.find(page.substr(mark + 1, end - mark - 1));
        if (value != values.end()) {
            result += value->second;
            at = end + 1;
        } else {
            result += page.substr(mark, 1);
            at = mark + 1;
        }
    }
    return result;
}

}  // namespace

std::string html_text(const std::string& text) {
    return escaped(text, "&lt;", "&amp;");
}

std::string filled_page(const std::string& title,
                        const std::string& data,
                        std::string_view script) {
    const PageAssets assets = page_assets();
    const std::string heading = html_text(title);
    const std::string object = escaped(data, "\\u003c", nullptr);
    std::string scripts;
    for (const std::string_view part : {assets.charts, assets.shared, script}) {
        scripts += std::string{part} + "\n";
    }
    return filled(assets.html,
                  {{"TITLE", heading}, {"CSS", assets.css}, {"DATA", object}, {"SCRIPT", scripts}});
}

std::string html_report(const Answer& answer, const TimelineBars& timeline) {
    Json data = Json::parse(json_report(answer));
    for (std::size_t c = 0; c < kNumCauses; ++c) {
        const auto cause = static_cast<Cause>(c);
        data["cause_words"][std::string{name(cause)}] = words_for(cause);
    }
    data["cause_meanings"] = Json::object();
    for (const Limit& limit : limits(answer)) {
        data["cause_meanings"][std::string{name(limit.cause)}] = limit.words;
    }
    data["timeline"] = timeline_json(timeline);
    data["heat"] = heat_json(answer.heat);
    data["memory_over_time"] = memory_json(timeline.memory);
    return filled_page(data["scenario"].get<std::string>(), json_line(data), page_assets().step);
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// An answer as one HTML page that needs no network: result, waterfall, ranks over time, memory,
// links and collectives. The page's style and script are scenarios/report/page, put in at build
// time; its data is the object of --json with the timeline added.
#pragma once

#include <string>
#include <string_view>

#include "scenarios/report/timeline_bars.h"
#include "scenarios/studies/simulate/answer.h"

namespace orrery {

std::string html_report(const Answer& answer, const TimelineBars& timeline);

// The page's parts as they are in scenarios/report/page.
struct PageAssets {
    std::string_view html;
    std::string_view css;
    std::string_view charts;  // uPlot, with its licence
    std::string_view shared;
    std::string_view step;   // of html_report
    std::string_view study;  // of study_page.h
};
PageAssets page_assets();

// Text as it stands between two tags.
std::string html_text(const std::string& text);

// The page of this title, data (a JSON object) and script.
std::string filled_page(const std::string& title, const std::string& data, std::string_view script);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// One HTML page that needs no network. Its parts are the files of scenarios/report/page, put in at
// build time; what it shows is the object of to_html (report/report.h).
#pragma once

#include <string>
#include <string_view>

namespace orrery {

struct PageAssets {
    std::string_view html;
    std::string_view css;
    std::string_view charts;  // uPlot, with its licence
    std::string_view shared;  // what draws
    std::string_view page;    // what is drawn
};
PageAssets page_assets();

// Text as it stands between two tags.
std::string html_text(const std::string& text);

// The page of this title and data (a JSON object).
std::string filled_page(const std::string& title, const std::string& data);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// One HTML page that needs no network. Its parts are the files of scenarios/report/page, which are
// built into the program. Its data is the object of to_html (report/render/report.h).
#pragma once

#include <string>
#include <string_view>

namespace orrery {

struct PageAssets {
    std::string_view html;
    std::string_view css;
    std::string_view charts;  // uPlot, with its licence
    std::string_view shared;  // drawing functions
    std::string_view page;    // content of the page
};
PageAssets page_assets();

// Text escaped for a place between two tags.
std::string html_text(const std::string& text);

// The page with this title and this data (a JSON object).
std::string filled_page(const std::string& title, const std::string& data);

}  // namespace orrery

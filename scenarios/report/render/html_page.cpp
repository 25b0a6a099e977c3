// SPDX-License-Identifier: Apache-2.0
#include "scenarios/report/render/html_page.h"

#include <algorithm>
#include <map>

namespace orrery {
namespace {

// Inside a <script> element only "</" and "<!--" have a meaning.
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

// Replaces the marks of the template in one pass. Inserted text is not searched for marks.
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

std::string filled_page(const std::string& title, const std::string& data) {
    const PageAssets assets = page_assets();
    const std::string heading = html_text(title);
    const std::string object = escaped(data, "\\u003c", nullptr);
    std::string scripts;
    for (const std::string_view part : {assets.charts, assets.shared, assets.page}) {
        scripts += std::string{part} + "\n";
    }
    return filled(assets.html,
                  {{"TITLE", heading}, {"CSS", assets.css}, {"DATA", object}, {"SCRIPT", scripts}});
}

}  // namespace orrery

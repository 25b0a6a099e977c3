// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/catalogue/catalogue_entry.h"

#include <algorithm>
#include <sstream>

#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/trimmed.h"
#include "scenarios/format/document/yaml_document.h"

namespace orrery {
namespace {

void append(std::string& text, const std::string& more) {
    text += (text.empty() || more.empty() ? "" : " ") + more;
}

// Position of the '#' that begins a comment: a space precedes it, and no quote is open.
std::size_t comment_of(std::string_view line) {
    char quote = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (quote != 0) {
            quote = line[i] == quote ? '\0' : quote;
        } else if (line[i] == '"' || line[i] == '\'') {
            quote = line[i];
        } else if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) {
            return i;
        }
    }
    return line.size();
}

}  // namespace

std::string CatalogueEntry::value_of(std::string_view key) const {
    const auto found = std::ranges::find(figures, key, &CatalogueFigure::key);
    return found == figures.end() ? "" : found->value;
}

CatalogueEntry parse_catalogue_entry(std::string_view section,
                                     std::string_view name,
                                     const std::string& text) {
    CatalogueEntry entry{.section = std::string{section}, .name = std::string{name}};
    std::istringstream lines{text};
    std::string above;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t end = comment_of(line);
        const std::string_view whole = line;
        const std::string comment{end < whole.size() ? trimmed(whole.substr(end + 1)) : ""};
        const std::string content{trimmed(whole.substr(0, end))};
        const bool nested = !line.empty() && (line[0] == ' ' || line[0] == '-');
        const std::size_t colon = content.find(':');
        if (content.empty()) {
            append(above, comment);
        } else if (nested || colon == content.npos) {
            if (!entry.figures.empty()) {
                append(entry.figures.back().value, content);
                append(entry.figures.back().source, above);
                append(entry.figures.back().source, comment);
            }
            above.clear();
        } else {
            // All paragraphs at the beginning of a file are about the entry.
            std::string& about = entry.figures.empty() ? entry.about : above;
            if (entry.figures.empty()) {
                append(about, above);
                above.clear();
            }
            CatalogueFigure figure{
                .key = content.substr(0, colon),
                .value = std::string{trimmed(std::string_view{content}.substr(colon + 1))},
                .source = above};
            append(figure.source, comment);
            entry.figures.push_back(std::move(figure));
            above.clear();
        }
    }
    // The kind of a fabric is its topology.
    std::erase_if(entry.figures, [&](const CatalogueFigure& figure) {
        return figure.key == "name" || (figure.key == "kind" && section != "fabrics");
    });
    return entry;
}

Result<std::vector<CatalogueEntry>> read_catalogue_section(const std::filesystem::path& root,
                                                           std::string_view section) {
    std::vector<CatalogueEntry> entries;
    for (const std::string& name : Catalogue{root}.names(section)) {
        const auto text = read_text_file(root / section / (name + ".yaml"));
        if (!text) {
            return unexpected<Error>(text.error());
        }
        entries.push_back(parse_catalogue_entry(section, name, *text));
    }
    // Twice, because a base may have a base.
    for (int round = 0; round < 2; ++round) {
        for (CatalogueEntry& entry : entries) {
            const auto base =
                std::ranges::find(entries, entry.value_of("base"), &CatalogueEntry::name);
            if (base == entries.end() || &*base == &entry) {
                continue;
            }
            for (const CatalogueFigure& figure : base->figures) {
                if (figure.key != "base" && entry.value_of(figure.key).empty()) {
                    entry.figures.push_back(figure);
                }
            }
        }
    }
    return entries;
}

}  // namespace orrery

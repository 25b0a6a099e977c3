// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/catalogue/catalogue.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "scenarios/format/catalogue/use_catalogue.h"
#include "scenarios/format/document/nearest.h"
#include "scenarios/format/document/overrides.h"
#include "scenarios/format/document/yaml_document.h"

namespace orrery {
namespace {

// Longest chain of entries that are based on another one; a longer chain is a circle.
constexpr int kChainMax = 4;

// The path relative to the working directory if that is shorter: an error should be easy to read
// and to click.
std::filesystem::path displayed(const std::filesystem::path& path) {
    std::error_code error;
    const std::filesystem::path relative = std::filesystem::proximate(path, error);
    const bool shorter = !error && relative.string().size() < path.string().size();
    return shorter ? relative : path;
}

std::string singular(std::string_view section) {
    return std::string{section.substr(0, section.size() - 1)};
}

// Removes the key `kind` of an entry. An error if it names another section. A fabric's key of this
// name is its topology and stays.
bool take_kind(DocumentNode& map, std::string_view section, Errors& errors) {
    const DocumentNode* kind = map.is_map() && section != "fabrics" ? map.find("kind") : nullptr;
    if (kind == nullptr) {
        return true;
    }
    const std::string due = section == "faults" ? "faults" : singular(section);
    if (kind->text != due) {
        errors.push_back(
            {kind->where(),
             fmt::format(
                 "this is a file of kind {}, and one of kind {} is due", kind->describe(), due),
             fmt::format("kind: {}", due)});
        return false;
    }
    erase_key(map, "kind");
    return true;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> found;
    std::error_code error;
    std::filesystem::directory_iterator at{folder, error};
    for (; !error && at != std::filesystem::directory_iterator{}; at.increment(error)) {
        if (at->path().extension() == ".yaml") {
            found.push_back(at->path().stem().string());
        }
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::filesystem::path& used_catalogue() {
    static std::filesystem::path folder;
    return folder;
}

}  // namespace

void use_catalogue(std::filesystem::path folder) {
    used_catalogue() = std::move(folder);
}

std::filesystem::path default_catalogue() {
    if (const char* chosen = std::getenv("ORRERY_CATALOGUE"); chosen != nullptr && *chosen != 0) {
        return chosen;
    }
    if (!used_catalogue().empty()) {
        return used_catalogue();
    }
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    const std::filesystem::path carried = catalogue_beside(program);
    return carried.empty() ? std::filesystem::path{ORRERY_CATALOGUE_DIR} : carried;
}

std::filesystem::path catalogue_beside(const std::filesystem::path& program) {
    const std::filesystem::path above = program.parent_path().parent_path();
    for (const std::filesystem::path& root : {above, above / "share" / "orrery"}) {
        const std::filesystem::path folder = root / "scenarios" / "catalogue";
        std::error_code error;
        if (std::filesystem::is_directory(folder, error)) {
            return folder;
        }
    }
    return {};
}

// The elements of a map keep their places, so that they may be read without the lock.
struct CatalogueCache {
    std::mutex mutex;
    std::map<std::string, const std::vector<std::string>, std::less<>> names;  // by section
    std::map<std::filesystem::path, const DocumentNode> entries;               // by file, resolved
};

Catalogue::Catalogue(std::filesystem::path root)
    : root_(std::move(root)), cache_(std::make_shared<CatalogueCache>()) {}

const std::vector<std::string>& Catalogue::listed(std::string_view section) const {
    const std::scoped_lock lock(cache_->mutex);
    const auto known = cache_->names.find(section);
    return known != cache_->names.end()
               ? known->second
               : cache_->names.emplace(section, names_in(root_ / section)).first->second;
}

DocumentNode overlaid(DocumentNode base, const DocumentNode& over) {
    base.source = over.source;
    base.line = over.line;
    base.column = over.column;
    for (std::size_t i = 0; i < over.keys.size(); ++i) {
        DocumentNode value = over.items[i];
        const DocumentNode* below = base.find(over.keys[i].text);
        if (value.extends && below != nullptr && below->is_map()) {
            value = overlaid(*below, value);
        } else if (value.extends && below != nullptr && below->is_scalar()) {
            DocumentNode key = *below;
            key.text = "base";
            value.set(std::move(key), *below);
        }
        base.set(over.keys[i], std::move(value));
    }
    return base;
}

DocumentNode Catalogue::entry(const DocumentNode& name,
                              std::string_view section,
                              const std::string& path,
                              int depth,
                              Errors& errors) const {
    const std::vector<std::string>& known = listed(section);
    // Only listed names are opened, so that a name is never a path.
    if (!std::binary_search(known.begin(), known.end(), name.text)) {
        std::string hint = known.empty() ? fmt::format("no {} in {}", section, root_.string())
                                         : nearest_hint(name.text, known);
        if (section == "devices" && !known.empty()) {
            const std::vector<std::string> near = nearest_names(name.text, known, 1);
            hint += fmt::format("; or your own: {{base: {}, peak_fp16: 100 TFLOPS}}",
                                near.empty() ? known.front() : near.front());
        }
        errors.push_back(
            {name.where(),
             fmt::format(
                 "{}: the catalogue has no {} {}", path, singular(section), name.describe()),
             hint});
        return {};
    }
    if (depth >= kChainMax) {
        errors.push_back({name.where(), path + ": too many entries stand on each other", {}});
        return {};
    }
    DocumentNode resolved =
        file(root_ / section / (name.text + ".yaml"), section, path, depth, errors);
    if (resolved.is_map()) {
        DocumentNode key = name;
        key.text = "name";
        resolved.set(std::move(key), name);
    }
    return resolved;
}

DocumentNode Catalogue::file(const std::filesystem::path& file,
                             std::string_view section,
                             const std::string& path,
                             int depth,
                             Errors& errors) const {
    {
        const std::scoped_lock lock(cache_->mutex);
        const auto known = cache_->entries.find(file);
        if (known != cache_->entries.end()) {
            return known->second;
        }
    }
    ResultOrErrors<DocumentNode> map = read_yaml_file(displayed(file));
    if (!map) {
        errors.insert(errors.end(), map.error().begin(), map.error().end());
        return {};
    }
    DocumentNode resolved = resolve_at(*map, section, path, depth + 1, errors);
    if (resolved.is_map()) {
        const std::scoped_lock lock(cache_->mutex);
        cache_->entries.emplace(file, resolved);
    }
    return resolved;
}

DocumentNode Catalogue::resolve_at(const DocumentNode& value,
                                   std::string_view section,
                                   const std::string& path,
                                   int depth,
                                   Errors& errors) const {
    if (value.is_scalar()) {
        DocumentNode map = entry(value, section, path, depth, errors);
        if (map.is_map()) {
            map.source = value.source;
            map.line = value.line;
            map.column = value.column;
        }
        return map;
    }
    if (!value.is_map()) {
        errors.push_back(
            {value.where(),
             fmt::format(
                 "{} must be a name of the catalogue or a map, not {}", path, value.describe()),
             nearest_hint("", names(section))});
        return {};
    }
    DocumentNode own = value;
    if (!take_kind(own, section, errors)) {
        return {};
    }
    const DocumentNode* base_name = value.find("base");
    if (base_name == nullptr) {
        return own;
    }
    if (!base_name->is_scalar()) {
        errors.push_back({base_name->where(), path + ".base must be a name of the catalogue", {}});
        return {};
    }
    DocumentNode base = entry(*base_name, section, path, depth, errors);
    if (!base.is_map()) {
        return base;
    }
    erase_key(own, "base");
    return overlaid(std::move(base), own);
}

DocumentNode Catalogue::resolve(const DocumentNode& value,
                                std::string_view section,
                                const std::string& path,
                                Errors& errors) const {
    return resolve_at(value, section, path, 0, errors);
}

}  // namespace orrery

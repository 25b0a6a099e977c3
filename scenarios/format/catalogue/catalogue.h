// SPDX-License-Identifier: Apache-2.0
// The catalogue of devices, nodes, fabrics and models: one YAML file each under
// <root>/<section>/<name>.yaml, found at run time. A scenario names an entry, writes a map instead,
// or changes an entry: `{base: dgx-h100, nvlink_latency: 2 us}`.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/document/document_node.h"

namespace orrery {

// The default catalogue: the environment variable ORRERY_CATALOGUE, else the folder that was
// carried to this machine or installed with the program, else scenarios/catalogue of the source
// tree.
std::filesystem::path default_catalogue();
// The catalogue of a program in this folder: ../scenarios/catalogue, else
// ../share/orrery/scenarios/catalogue (the place of `cmake --install`). Empty if neither exists.
std::filesystem::path catalogue_beside(const std::filesystem::path& program);

// What a Catalogue has read.
struct CatalogueCache;

// An object reads each folder and each entry once; copies share what they have read. Several
// threads may use an object. An entry with an error is read again.
class Catalogue {
public:
    explicit Catalogue(std::filesystem::path root);

    const std::filesystem::path& root() const { return root_; }

    // Sorted names of the entries in a section: "devices", "nodes" …
    std::vector<std::string> names(std::string_view section) const { return listed(section); }

    // The map for which `value` (a name, or a map with or without `base`) stands. Keys come from
    // the entry unless `value` has them; the map has the entry's `name` and no `base`. Its own
    // place is that of `value`. On an error a null node.
    DocumentNode resolve(const DocumentNode& value,
                         std::string_view section,
                         const std::string& path,
                         Errors& errors) const;

private:
    const std::vector<std::string>& listed(std::string_view section) const;
    DocumentNode entry(const DocumentNode& name,
                       std::string_view section,
                       const std::string& path,
                       int depth,
                       Errors& errors) const;
    // The map of a file, with the keys of the entry that it is based on.
    DocumentNode file(const std::filesystem::path& file,
                      std::string_view section,
                      const std::string& path,
                      int depth,
                      Errors& errors) const;
    DocumentNode resolve_at(const DocumentNode& value,
                            std::string_view section,
                            const std::string& path,
                            int depth,
                            Errors& errors) const;

    std::filesystem::path root_;
    std::shared_ptr<CatalogueCache> cache_;
};

// `base` with the keys of `over` in the place of its own. The place is that of `over`.
DocumentNode overlaid(DocumentNode base, const DocumentNode& over);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The catalogue of devices, nodes, fabrics and models: one YAML file each under
// <root>/<section>/<name>.yaml, found at run time. A scenario names an entry, writes a map instead,
// or changes an entry: `{base: dgx-h100, nvlink_latency: 2 us}`.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/document/document_node.h"

namespace orrery {

// The environment variable ORRERY_CATALOGUE, else the folder that was carried to this machine or
// installed with the program, else the source tree's scenarios/catalogue.
std::filesystem::path default_catalogue();
// Of the program's folder: ../scenarios/catalogue, else ../share/orrery/scenarios/catalogue, where
// `cmake --install` puts it; empty if there is neither.
std::filesystem::path catalogue_beside(const std::filesystem::path& program);

class Catalogue {
public:
    explicit Catalogue(std::filesystem::path root) : root_(std::move(root)) {}

    // Of a folder of it: "devices", "nodes" …; sorted.
    std::vector<std::string> names(std::string_view section) const;

    // What `value` (a name, or a map with or without `base`) stands for: a map whose keys come from
    // the entry unless `value` gives them, without `base`, and with the entry's `name`. The map's
    // own place is that of `value`. Complains and returns a null node if that is impossible.
    DocumentNode resolve(const DocumentNode& value,
                         std::string_view section,
                         const std::string& path,
                         Errors& errors) const;

private:
    DocumentNode entry(const DocumentNode& name,
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
};

// `over` on top of `base`: a key of `over` replaces that of `base`. The place is that of `over`.
DocumentNode overlaid(DocumentNode base, const DocumentNode& over);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The provenance of a result (format/provenance/provenance.h) in its JSON and on its page.
#pragma once

#include <string>

#include "scenarios/format/provenance/provenance.h"

namespace orrery {

// A document as JSON.
std::string document_text(const DocumentNode& document);

// {command, build, catalogue, scenario: {file, effective}, overrides, seed, options, inputs}.
// Several scenarios are a list `scenarios`. Empty parts are left out.
std::string provenance_json(const Provenance& provenance);

// The JSON object `json` with "provenance" as its last key.
std::string with_provenance(const std::string& json, const Provenance& provenance);

// The page with a foldable section at its end.
std::string page_with_provenance(const std::string& html, const Provenance& provenance);

}  // namespace orrery

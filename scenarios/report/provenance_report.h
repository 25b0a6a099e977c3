// SPDX-License-Identifier: Apache-2.0
// The provenance of a result (format/provenance/provenance.h) in its JSON and on its page.
#pragma once

#include <string>

#include "scenarios/format/provenance/provenance.h"

namespace orrery {

// A document as JSON.
std::string document_text(const DocumentNode& document);

// {command, build, catalogue, scenario: {file, effective}, overrides, seed, options, inputs}, of
// several scenarios `scenarios`: a list. Parts that there are none of are left out.
std::string provenance_json(const Provenance& provenance);

// The JSON object `json` with the key "provenance" at its end.
std::string with_provenance(const std::string& json, const Provenance& provenance);

// The page with a section at its end that unfolds.
std::string page_with_provenance(const std::string& html, const Provenance& provenance);

}  // namespace orrery

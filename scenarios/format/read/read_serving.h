// SPDX-License-Identifier: Apache-2.0
// The sections of a file of kind serving, and the catalogue's engines.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "engine/result.h"
#include "engine/serving/request.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/specs/pool_search.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

void read_serving(DocumentNode& section,
                  const Catalogue& catalogue,
                  const std::filesystem::path& folder,
                  ServingSpec& spec,
                  Errors& errors);
void read_workload(const DocumentNode& section,
                   const std::filesystem::path& folder,
                   WorkloadSpec& workload,
                   Errors& errors);
// Adapters that share steps cost by their rank, so that it must be given. `section` is the
// workload.
void check_adapters(const DocumentNode& section,
                    const ServingSpec& serving,
                    const WorkloadSpec& workload,
                    Errors& errors);
// The section `search` (read_pool_search.cpp).
void read_pool_search(const DocumentNode& section, PoolSearch& search, Errors& errors);
Result<ServingEngine> read_engine(std::string_view name, const std::filesystem::path& catalogue);

// A table (CSV) of arrival_s, input_tokens and output_tokens: requests in the order of their
// arrival.
ResultOrErrors<std::vector<Request>> read_request_trace(const std::filesystem::path& file);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The sections of a file of kind serving, and the catalogue's engines.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/request.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/read/read_request_trace.h"
#include "scenarios/format/specs/pool_search.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

// `remarks` are those of the config.json of further models (hf_config.h).
void read_serving(DocumentNode& section,
                  const Catalogue& catalogue,
                  const std::filesystem::path& folder,
                  ServingSpec& spec,
                  std::vector<std::string>& remarks,
                  Errors& errors);
void read_workload(const DocumentNode& section,
                   const std::filesystem::path& folder,
                   WorkloadSpec& workload,
                   Errors& errors);
// Rules between keys (serving_rules.cpp): an error for a key that is out of range or that another
// one leaves without effect.
void limit_time(MapReader& reader, const char* key, Time value, Time most, const char* hint);
void check_engine(MapReader& reader, const ServingEngine& engine);
void check_pool(MapReader& reader, const ServingEngine& engine, const ServingPoolSpec& pool);
// `section` is serving.
void check_policies(const DocumentNode& section, const ServingSpec& spec, Errors& errors);
void check_recovery(const DocumentNode& section,
                    const ServingSpec& spec,
                    bool has_faults,
                    Errors& errors);
// `section` is the workload.
void check_load(const DocumentNode& section,
                const DocumentNode* serving_section,
                const ServingSpec& serving,
                const WorkloadSpec& workload,
                Errors& errors);
// Parts of `serving` (read_serving_policies.cpp).
void check_name(MapReader& reader,
                const char* key,
                const std::string& value,
                const std::vector<std::string_view>& names);
void read_autoscaler(const DocumentNode& map, ServingSpec& spec, Errors& errors);
void read_row_power(const DocumentNode& map, ServingSpec& spec, Errors& errors);
void read_lower_cache(const DocumentNode& map, LowerCacheSpec& cache, Errors& errors);
// The sources of models, and remarks on them.
struct ModelSources {
    const Catalogue& catalogue;
    const std::filesystem::path& folder;
    std::vector<std::string>& remarks;
};
// Reads a model beside the served one. Its remarks begin with `path`, which `model` follows.
Transformer read_model_beside(DocumentNode& section,
                              const std::string& path,
                              const ModelSources& sources,
                              Errors& errors);
void read_encoder(DocumentNode& map,
                  const ModelSources& sources,
                  EncoderSpec& encoder,
                  Errors& errors);
// The section `search` (read_pool_search.cpp).
void read_pool_search(const DocumentNode& section, PoolSearch& search, Errors& errors);
// An engine (read_engine.cpp).
void read_engine_map(const DocumentNode& map, ServingEngine& engine, Errors& errors);
Result<ServingEngine> read_engine(std::string_view name, const std::filesystem::path& catalogue);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Reads a scenario file. Its keys:
//   1. name       what to call it (the file's name if absent)
//   2. cluster    nodes; node: NodeSpec; fabric: FabricSpec            (read_cluster.cpp)
//   3. model      Transformer, or hf_config: path/to/config.json       (read_model.cpp)
//   4. plan       ParallelPlan                                         (read_plan.cpp)
//   5. network    analytic | fluid | packet | simgrid, or NetworkSettings  (read_network.cpp)
//   6. job        steps, seed, dataset and what training needs         (read_job.cpp)
//   7. search     what orrery search may vary, and its objective       (read_search.cpp)
//   8. faults     a list of faults and fault processes                 (read_faults.cpp)
//   9. recovery   a ladder of policies, or several to compare          (read_recovery.cpp)
//  10. campaign   days, seeds, repair, storage, start-up               (read_campaign.cpp)
// node, fabric, model and the node's device are names of the catalogue, maps, or maps with a
// `base`. All errors of a file are collected, in the order of their places.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

struct ReadOptions {
    std::vector<std::string> overrides;  // "plan.global_batch_size=768", applied in order
    std::filesystem::path catalogue = default_catalogue();
    bool network_only = false;  // `cluster` alone is enough (`orrery network`)
    bool several_jobs = false;  // `jobs` may replace model and plan
    bool serving = false;       // the file is of kind serving (`orrery serve`)
    bool for_training = false;  // also checks what `orrery train` needs (runtime/trainable.h)
};

ResultOrErrors<Scenario> read_scenario(const std::filesystem::path& file,
                                       const ReadOptions& options = {});
// An effective scenario (scenarios/format/read/effective_scenario.h) from a result in `source`.
// `of` names its file and overrides; options.overrides are further changes.
ResultOrErrors<Scenario> read_effective_scenario(DocumentNode document,
                                                 const std::string& source,
                                                 const ScenarioOrigin& of,
                                                 const ReadOptions& options = {});
// `source` is the name in errors; `folder` is the base of relative paths.
ResultOrErrors<Scenario> read_scenario_text(const std::string& text,
                                            const std::string& source,
                                            const std::filesystem::path& folder,
                                            const ReadOptions& options = {});
// A document that the program itself made, with values that keep their places.
ResultOrErrors<Scenario> read_scenario_document(DocumentNode root,
                                                const std::string& source,
                                                const std::filesystem::path& folder,
                                                const ReadOptions& options = {});

}  // namespace orrery

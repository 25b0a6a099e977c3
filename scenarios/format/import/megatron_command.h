// SPDX-License-Identifier: Apache-2.0
// The words of a Megatron-LM command line as a scenario. Flags are those of Megatron-LM's
// arguments.py (core 0.8 to 0.15) and torchrun's --nnodes and --nproc-per-node. Every flag ends in
// one of four places: a key of the scenario; the list of flags that the step does not depend on;
// the list of unknown ones; or an error, for what would change the step and can't be said
// (experts). The software is Megatron Core, its predecessor with --use-legacy-models, and
// Megatron-DeepSpeed with --deepspeed. What no flag says and the scenario has all the same is a
// list too. All lists stand in the scenario as comments.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/import/shell_script.h"

namespace orrery {

struct ImportedScenario {
    DocumentNode document;  // its values at the places that the words come from
    std::string yaml;
    std::vector<std::string> unknown;         // with their values
    std::vector<std::string> without_effect;  // names
    std::vector<std::string> assumed;         // "plan.precision: fp32": what no flag says
    std::vector<std::string> changed;         // as Megatron-LM itself changes it when it starts
};

struct MegatronImport {
    std::string name = "imported";
    std::string node = "dgx-h100";
    std::string fabric = "ndr400-rail";
    std::uint32_t nodes = 0;  // 0: as torchrun's flags say, or as few as the plan needs
    std::uint32_t gpus_per_node = 8;
    std::uint32_t trays = 1;  // of a node: torchrun's nodes, where these share an NVLink domain
    std::string software{};   // that runs it; empty: as the flags say
};

ResultOrErrors<ImportedScenario> import_megatron(const std::vector<CommandWord>& words,
                                                 const MegatronImport& options);

}  // namespace orrery

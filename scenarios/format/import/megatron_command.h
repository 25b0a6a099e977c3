// SPDX-License-Identifier: Apache-2.0
// Converts the words of a Megatron-LM command line to a scenario. Flags are those of Megatron-LM's
// arguments.py (core 0.8 to 0.15) and torchrun's --nnodes and --nproc-per-node. Every flag ends in
// one of four places: a key of the scenario, the list of flags without effect on the step, the list
// of unknown flags, or an error if it would change the step and is not expressible (experts). The
// software is Megatron Core, its predecessor with --use-legacy-models, and Megatron-DeepSpeed with
// --deepspeed. A further list has the values that no flag gives. All lists become comments of the
// scenario.
#pragma once

#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/import/shell_script.h"

namespace orrery {

struct ImportedScenario {
    DocumentNode document;  // its values have the places of the words
    std::string yaml;
    std::vector<std::string> unknown;         // with their values
    std::vector<std::string> without_effect;  // names
    std::vector<std::string> assumed;         // "plan.precision: fp32": values that no flag gives
    std::vector<std::string> changed;         // changes that Megatron-LM itself makes at its start
};

struct MegatronImport {
    std::string name = "imported";
    std::string node = "dgx-h100";
    std::string fabric = "ndr400-rail";
    std::uint32_t nodes = 0;  // 0: from torchrun's flags, else as few as the plan needs
    std::uint32_t gpus_per_node = 8;
    std::uint32_t trays = 1;  // per node: torchrun's nodes if they share an NVLink domain
    std::string software{};   // software of the job; empty: from the flags
};

ResultOrErrors<ImportedScenario> import_megatron(const std::vector<CommandWord>& words,
                                                 const MegatronImport& options);

}  // namespace orrery

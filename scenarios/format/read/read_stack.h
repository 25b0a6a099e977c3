// SPDX-License-Identifier: Apache-2.0
// Facts about the software that runs a job, from the catalogue's stacks: keys of the plan with this
// software's defaults. A value may be a map by a precision's word, a generation of devices, or
// `otherwise`. A scenario's own keys come first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/result.h"
#include "models/plan/plan.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// The words that a value of a stack may depend on.
std::vector<std::string> stack_selectors();

// The catalogue's entry for a stack with or without its version: torchtitan for
// "torchtitan-2024-12", nemo for "nemo24.07". Empty if there is none.
std::string stack_entry(std::string_view stack, const Catalogue& catalogue);

// Adds the stack's keys to the section `plan` where it lacks them. `generation` is that of the
// devices. An error for a stack that the catalogue lacks.
void add_stack_defaults(DocumentNode& plan,
                        const DocumentNode& stack,
                        const Catalogue& catalogue,
                        std::string_view generation,
                        Errors& errors);

// Adds the defaults of the software that `owner`, a scenario or a job, names.
void add_stack(const DocumentNode& owner,
               DocumentNode& plan,
               const Catalogue& catalogue,
               Scenario& scenario,
               Errors& errors);

// Errors of check_trainable (runtime/trainable.h), whose places are keys of the scenario, with
// places in files. Facts of a stack are one error at `stack`: it describes another program than the
// runtime.
Errors refused_in_training(const DocumentNode& root, Errors refused);

// The stack's keys as a map, resolved for these devices and this precision.
DocumentNode stack_defaults(const DocumentNode& stack,
                            const Catalogue& catalogue,
                            std::string_view generation,
                            std::string_view precision,
                            Errors& errors);
// Sets the members for which the map has keys.
void read_given(const DocumentNode& map, ParallelPlan& plan, Errors& errors);

}  // namespace orrery

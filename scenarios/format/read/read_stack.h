// SPDX-License-Identifier: Apache-2.0
// Facts about the software that runs a job, as the catalogue's stacks state them: keys of the plan
// with the values that this software has by default. A value may be a map of a precision's word, a
// generation of devices, or `otherwise`. A scenario's own keys come before them.
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

// The catalogue's entry for a stack with or without its version: "torchtitan-2024-12" is
// torchtitan, "nemo24.07" nemo. Empty if there is none.
std::string stack_entry(std::string_view stack, const Catalogue& catalogue);

// Adds to the section `plan` what the stack has and the section lacks. `generation`: of the
// devices. Complains about a stack that the catalogue lacks.
void add_stack_defaults(DocumentNode& plan,
                        const DocumentNode& stack,
                        const Catalogue& catalogue,
                        std::string_view generation,
                        Errors& errors);

// The plan's defaults by the software that `owner`, a scenario or a job, names.
void add_stack(const DocumentNode& owner,
               DocumentNode& plan,
               const Catalogue& catalogue,
               Scenario& scenario,
               Errors& errors);

// The stack's keys as a map, resolved for these devices and this precision.
DocumentNode stack_defaults(const DocumentNode& stack,
                            const Catalogue& catalogue,
                            std::string_view generation,
                            std::string_view precision,
                            Errors& errors);
// Sets the members that the map has keys for.
void read_given(const DocumentNode& map, ParallelPlan& plan, Errors& errors);

}  // namespace orrery

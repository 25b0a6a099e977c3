// SPDX-License-Identifier: Apache-2.0
// Watches a run of serve(): gets every step that an instance completes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/units.h"

namespace orrery {

struct ServedStep {
    std::size_t pool = 0;
    std::size_t instance = 0;  // of its pool
    Time begin;
    Time first_stage_end;  // of a pipeline: its first stage may begin the next step then
    Time end;
    std::int64_t prompts = 0;        // sequences that compute tokens of their prompts
    std::int64_t prompt_tokens = 0;  // computed for them
    std::int64_t generating = 0;     // sequences that compute one token, and proposals
    std::int64_t waiting = 0;        // requests in the instance's queue at the end
    double cache = 0;                // share of the instance's blocks in use, before the end
};

class ServingObserver {
public:
    virtual ~ServingObserver() = default;
    // Steps come in the order of their ends. A step that a fault ends never comes.
    virtual void completed(const ServedStep& step) = 0;
};

}  // namespace orrery

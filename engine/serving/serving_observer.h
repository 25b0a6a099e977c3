// SPDX-License-Identifier: Apache-2.0
// An observer of a run of serve(), which receives every completed step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/units.h"

namespace orrery {

struct ServedStep {
    std::size_t pool = 0;
    std::size_t instance = 0;  // index in its pool
    Time begin;
    Time first_stage_end;  // with a pipeline: when the first stage may begin the next step
    Time end;
    std::int64_t prompts = 0;        // sequences with tokens of their prompts
    std::int64_t prompt_tokens = 0;  // tokens of prompts computed
    std::int64_t generating = 0;     // sequences with one token and its proposals
    std::int64_t waiting = 0;        // requests in the instance's queue at the end
    double cache = 0;                // share of the instance's blocks in use, just before the end
};

class ServingObserver {
public:
    virtual ~ServingObserver() = default;
    // Called in the order of the steps' ends. A step that a fault interrupts is not reported.
    virtual void completed(const ServedStep& step) = 0;
};

}  // namespace orrery

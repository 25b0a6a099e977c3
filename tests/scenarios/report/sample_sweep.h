// SPDX-License-Identifier: Apache-2.0
// A sweep of three points, of which one has no answer.
#pragma once

#include "scenarios/studies/sweep/sweep.h"

namespace orrery {

inline SweepOutcome sample_sweep() {
    SweepOutcome outcome{.points = 3, .known = 1};
    outcome.results = {{.id = "a",
                        .scenario = "s.yaml",
                        .settings = {{"plan.x", "1"}, {"cluster.node", "{base: dgx, gpus: 4}"}},
                        .gpus = 8,
                        .iteration_s = 2,
                        .tokens_per_s = 100,
                        .mfu = 0.4,
                        .peak_memory_bytes = 1 << 20,
                        .fits = true,
                        .answer = R"({"iteration_s": 2})"},
                       {.id = "b",
                        .scenario = "s.yaml",
                        .settings = {{"plan.x", "2"}, {"plan.y", "3"}},
                        .gpus = 8,
                        .iteration_s = 1,
                        .tokens_per_s = 200,
                        .mfu = 0.8,
                        .fits = true,
                        .answer = R"({"iteration_s": 1})"},
                       {.id = "c",
                        .scenario = "s.yaml",
                        .settings = {{"plan.x", "3"}},
                        .error = "3 does not divide \"8\""}};
    return outcome;
}

}  // namespace orrery

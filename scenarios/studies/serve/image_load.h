// SPDX-License-Identifier: Apache-2.0
// Images of a load: which requests have some, and what encoders of their own do before the pools
// get these requests (ServingSpec::encoder).
#pragma once

#include <optional>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/serving_run.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// Adds the workload's images to requests that are drawn, and what they become to their prompts.
void draw_images(const WorkloadSpec& workload, std::vector<Request>& requests);

// An error where something else does not know images, or where they need what is not there.
Result<void> check_images(const Scenario& scenario,
                          const ServingSpec& spec,
                          const std::vector<Request>& requests,
                          const ServingLoad& load);

// The load as the pools get it: requests with images come when these are encoded.
struct EncodedLoad {
    std::vector<Request> requests;
    std::vector<std::size_t> places;  // of each: in the load as it came
    ServingAnswer::Encoder use{};       // without `busy`, which the length of the run decides
    double busy_s = 0;                  // of an instance of the encoder
    Time last_end;  // of an encoder
};
// The encoder's instances stand on the GPUs behind those of the pools. Each takes the request that
// has waited longest, and works at its images alone. What it made goes to the first rank of the
// first pool, beside all else.
Result<EncodedLoad> encode_images(const Scenario& scenario,
                                  const ServingSpec& spec,
                                  const std::vector<Request>& requests);
// The same after check_images(); nothing if no encoder stands by itself.
Result<std::optional<EncodedLoad>> encode_apart(const Scenario& scenario,
                                                const ServingSpec& spec,
                                                const std::vector<Request>& requests,
                                                const ServingLoad& load);
// Puts the records of such a load in the order in which it came.
void put_in_place(const EncodedLoad& encoded, std::vector<RequestRecord>& records);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// Images of a load: the requests that have images, and the work of separate encoders before the
// pools get these requests (ServingSpec::encoder).
#pragma once

#include <optional>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/serving_run.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// Adds the workload's images to drawn requests, and their encoded tokens to the prompts.
void draw_images(const WorkloadSpec& workload, std::vector<Request>& requests);

// An error if images are combined with a feature that does not support them, or lack one that they
// need.
Result<void> check_images(const Scenario& scenario,
                          const ServingSpec& spec,
                          const std::vector<Request>& requests,
                          const ServingLoad& load);

// The load in the form in which the pools get it: requests with images arrive when these are
// encoded.
struct EncodedLoad {
    std::vector<Request> requests;
    std::vector<std::size_t> places;  // by request: its index in the original load
    ServingAnswer::Encoder use{};     // without `busy`, which depends on the length of the run
    double busy_s = 0;                // busy time of one instance of the encoder
    Time last_end;                    // end of the last encoding
};
// The encoder's instances occupy the GPUs after those of the pools. Each takes the longest waiting
// request, and computes only its images. The results are sent to the first rank of the first pool,
// in parallel with other work.
Result<EncodedLoad> encode_images(const Scenario& scenario,
                                  const ServingSpec& spec,
                                  const std::vector<Request>& requests);
// The same after check_images(); empty without separate encoders.
Result<std::optional<EncodedLoad>> encode_apart(const Scenario& scenario,
                                                const ServingSpec& spec,
                                                const std::vector<Request>& requests,
                                                const ServingLoad& load);
// Reorders the records of such a load into the order of the original load.
void put_in_place(const EncodedLoad& encoded, std::vector<RequestRecord>& records);

}  // namespace orrery

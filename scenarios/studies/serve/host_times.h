// SPDX-License-Identifier: Apache-2.0
// The times that the hosts of instances take for requests and answers.
#pragma once

#include "engine/serving/serving_run.h"
#include "scenarios/format/specs/serving_spec.h"

namespace orrery {

// The load with the times of the spec's engine. Front ends are those of the first pool's instances,
// which requests reach first.
inline ServingLoad load_through_hosts(ServingLoad load, const ServingSpec& spec) {
    load.front_end = spec.engine.host_per_request;
    load.front_end_token = spec.engine.host_per_prompt_token;
    load.front_ends = spec.engine.front_ends * spec.pools.front().instances;
    load.response = spec.engine.host_per_response;
    load.stream_interval = spec.engine.stream_interval;
    return load;
}

}  // namespace orrery

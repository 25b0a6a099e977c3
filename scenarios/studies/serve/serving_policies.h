// SPDX-License-Identifier: Apache-2.0
// The predicting and deciding policies of a served load, made from its scenario, and reports on the
// instances.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/serving/serving_run.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/serve/cache_transport.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

struct ServingPolicies {
    std::vector<std::unique_ptr<StepEstimates>> estimates;  // by pool
    std::unique_ptr<AdmissionPolicy> admission;             // null: admits all requests
    std::unique_ptr<Autoscaler> autoscaler;                 // null: none
    Scaling scaling;                                        // of the autoscaler
    std::unique_ptr<PowerPolicy> power;                     // null: none
    RowPower row;                                           // of `power`
};

// `transport` may be null.
ServingPolicies policies_of(const Scenario& scenario,
                            const ServingSpec& spec,
                            std::span<const ServingPool> pools,
                            const FabricTransport* transport);

// Waiting prompts of which, in the mean, each of a pool's n data-parallel ranks has one. A rank
// gets a prompt when one of its sequences ends, and ranks end sequences in no order, so that these
// are n (1 + 1/2 + ... + 1/n) prompts (the coupon collector's problem). Prompts of a prefill pool
// wait for none: its ranks do not generate meanwhile (TensorRT-LLM, _torch/pyexecutor/
// py_executor.py: all_ranks_have_gen_requests).
std::uint16_t prompts_for_all_ranks(const ServingPoolSpec& pool);

// The cluster with devices at this share of their highest clock. Memories and links keep their
// speed.
Scenario at_clock(Scenario scenario, double clock);

// The time from the decision until a new instance serves: its processes start and capture graphs,
// and each server reads its weights from disks, or over its NICs from another instance.
Time scaled_start_up(const Scenario& scenario,
                     const ServingSpec& spec,
                     const ServingPoolSpec& pool);

// Adds the power of the row, if it has a limit.
void report_row(const ServingResult& served, const ServingSpec& spec, ServingAnswer& answer);

// Adds GPU hours, and the instances of autoscaled pools.
void report_instances(const ServingResult& served, const ServingSpec& spec, ServingAnswer& answer);

}  // namespace orrery

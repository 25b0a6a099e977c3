// SPDX-License-Identifier: Apache-2.0
// Instances of one pool on nodes of several kinds. Each has the step times and the cache of its own
// devices.
#pragma once

#include <memory>
#include <vector>

#include "engine/base/result.h"
#include "engine/serving/serving_pool.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/format/specs/serving_spec.h"
#include "scenarios/studies/serve/serving_prices.h"

namespace orrery {

// Whether there are nodes of several kinds, without a chain of layers over them.
bool has_mixed_instances(const Scenario& scenario, const ServingSpec& spec);
// An error for features that support only one kind of nodes, if there are several.
Result<void> check_kinds(const Scenario& scenario, const ServingSpec& spec);

class MixedInstances {
public:
    // Instances occupy the cluster's GPUs in order. The GPUs of an instance are of one kind.
    static Result<MixedInstances> make(const Scenario& scenario,
                                       const ServingSpec& spec,
                                       const ServingPoolSpec& pool);
    const std::vector<ServingPool::Instance>& instances() const { return instances_; }

private:
    std::vector<std::unique_ptr<ServingPrices>> prices_;  // by kind; null if it has no instance
    std::vector<ServingPool::Instance> instances_;
};

}  // namespace orrery

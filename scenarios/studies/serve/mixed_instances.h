// SPDX-License-Identifier: Apache-2.0
// Instances of one pool on nodes of several kinds: each has the steps and the cache of its own
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

// Nodes of several kinds, and no chain of layers over them.
bool has_mixed_instances(const Scenario& scenario, const ServingSpec& spec);
// What knows one kind of nodes only is an error with several.
Result<void> check_kinds(const Scenario& scenario, const ServingSpec& spec);

class MixedInstances {
public:
    // Instances take the cluster's GPUs in their order, each those of one kind.
    static Result<MixedInstances> make(const Scenario& scenario,
                                       const ServingSpec& spec,
                                       const ServingPoolSpec& pool);
    const std::vector<ServingPool::Instance>& instances() const { return instances_; }

private:
    std::vector<std::unique_ptr<ServingPrices>> prices_;  // by kind; null if it has no instance
    std::vector<ServingPool::Instance> instances_;
};

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The tiers below the caches of a served load, as its scenario's servers hold them.
#pragma once

#include <memory>

#include "engine/base/result.h"
#include "engine/serving/cache_tiers.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/serve/cache_transport.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// Null without tiers. An Error where the servers do not have them, or not that much of them.
Result<std::unique_ptr<CacheTiers>> tiers_of(const Scenario& scenario,
                                             const ServingSpec& spec,
                                             const PlacedPool& pool,
                                             const PoolHosts& hosts);

// What the tiers held and gave, for the answer.
void report_tiers(const ServingSpec& spec,
                  const CacheTiers& tiers,
                  const FabricTransport& transport,
                  const ServingResult& served,
                  const std::vector<Request>& requests,
                  ServingAnswer& answer);

// The keys and values that moved between the pools, for the answer.
void report_transfers(const FabricTransport& transport, ServingAnswer& answer);

// Blocks of a tier with `capacity` on a server, of an instance that spans `servers` of them.
std::int64_t tier_blocks(Bytes capacity,
                         const Transformer& model,
                         const PlacedPool& pool,
                         std::int64_t servers);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The tiers below the caches of a served load on its scenario's servers.
#pragma once

#include <memory>

#include "engine/base/result.h"
#include "engine/serving/cache_tiers.h"
#include "scenarios/format/specs/scenario.h"
#include "scenarios/studies/serve/cache_transport.h"
#include "scenarios/studies/serve/serving_study.h"

namespace orrery {

// Null without tiers. An Error if the servers do not have them, or have less of them.
Result<std::unique_ptr<CacheTiers>> tiers_of(const Scenario& scenario,
                                             const ServingSpec& spec,
                                             const PlacedPool& pool,
                                             const PoolHosts& hosts);

// Adds the contents and loads of tiers to the answer.
void report_tiers(const ServingSpec& spec,
                  const CacheTiers& tiers,
                  const FabricTransport& transport,
                  const ServingResult& served,
                  const std::vector<Request>& requests,
                  ServingAnswer& answer);

// Adds the keys and values that moved between the pools to the answer.
void report_transfers(const FabricTransport& transport, ServingAnswer& answer);

// The number of blocks in a tier with `capacity` on a server, for an instance that spans `servers`
// servers.
std::int64_t tier_blocks(Bytes capacity,
                         const Transformer& model,
                         const PlacedPool& pool,
                         std::int64_t servers);

}  // namespace orrery

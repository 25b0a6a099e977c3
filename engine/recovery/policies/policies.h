// SPDX-License-Identifier: Apache-2.0
// The registry of recovery policies. A policy is a header of this folder: a struct of its knobs,
// the words and the table that describe them (kWords, knobs()), and those questions of
// RecoveryPolicy that it answers, as functions of the same names. A new policy is that header and
// its place in the list below; reader, `orrery keys`, reports, campaign and supervisor ask the
// registry.
#pragma once

#include <variant>
#include <vector>

#include "engine/recovery/policies/checkpoint_interval.h"
#include "engine/recovery/policies/drain.h"
#include "engine/recovery/policies/elastic.h"
#include "engine/recovery/policies/in_place.h"
#include "engine/recovery/policies/local_checkpoint.h"
#include "engine/recovery/policies/over_eviction.h"
#include "engine/recovery/policies/peer_checkpoint.h"
#include "engine/recovery/policies/preflight.h"
#include "engine/recovery/policies/rail_failover.h"
#include "engine/recovery/policies/redundant.h"
#include "engine/recovery/policies/replay.h"
#include "engine/recovery/policies/reroute.h"
#include "engine/recovery/policies/rollback.h"
#include "engine/recovery/policies/spares.h"
#include "engine/recovery/recovery_policy.h"

namespace orrery {

// In the order in which messages and documents list them.
using PolicySpec = std::variant<InPlaceRestart,
                                HotSpares,
                                ElasticDataParallel,
                                PipelineRerouting,
                                PeerCheckpoint,
                                LocalCheckpoint,
                                PreemptiveDrain,
                                OverEviction,
                                RollbackAndSkip,
                                ReplayCheck,
                                PreflightCheck,
                                RedundantComputation,
                                RailFailover,
                                CheckpointInterval>;

PolicyLadder make_ladder(const std::vector<PolicySpec>& specs);

const PolicyWords& words_of(const PolicySpec& policy);
// Two knobs that contradict each other.
std::optional<PolicyMisfit> contradiction_of(const PolicySpec& policy);
// Fills knobs that were not given.
void complete(PolicySpec& policy, const PolicySetting& setting);
// For the prediction of a drill, in which nothing is drawn.
void leave_nothing_to_chance(PolicySpec& policy);

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The registry of recovery policies. A policy is a header of this folder with a struct of its
// knobs, their texts and table (kWords, knobs()), and member functions for the questions of
// RecoveryPolicy that it answers, under the same names. A new policy needs only its header and an
// entry in the list below: the reader, `orrery keys`, reports, the campaign and the supervisor use
// the registry.
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

// In the order of messages and documents.
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
// Two contradictory knobs, if any.
std::optional<PolicyMisfit> contradiction_of(const PolicySpec& policy);
// Sets knobs that the scenario does not give.
void complete(PolicySpec& policy, const PolicySetting& setting);
// Removes all chance, for the prediction of a drill.
void leave_nothing_to_chance(PolicySpec& policy);

}  // namespace orrery

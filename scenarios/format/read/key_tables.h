// SPDX-License-Identifier: Apache-2.0
// The tables of all maps in files, with the file that defines each. Model and plan have theirs in
// models/transformer/transformer_fields.h and models/plan/plan_fields.h.
#pragma once

#include "engine/faults/detection.h"
#include "kernels/device_spec.h"
#include "network/congestion_factors.h"
#include "network/fabric/cluster_spec.h"
#include "scenarios/format/read/key_table.h"
#include "scenarios/format/specs/campaign_plan.h"
#include "scenarios/format/specs/network_settings.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

extern const KeyTable<Scenario> kScenarioKeys;    // reader.cpp
extern const KeyMap kModelKeys;                   // read_model.cpp
extern const KeyMap kPlanKeys;                    // read_plan.cpp
extern const KeyTable<ClusterSpec> kClusterKeys;  // read_cluster.cpp
extern const KeyTable<NodeSpec> kNodeKeys;
extern const KeyTable<FabricSpec> kFabricKeys;
extern const KeyTable<NodeKind> kKindKeys;                 // read_kinds.cpp
extern const KeyTable<DeviceSpec> kDeviceKeys;             // read_device.cpp
extern const KeyTable<NetworkSettings> kNetworkKeys;       // read_network.cpp
extern const KeyTable<PacketSettings> kPacketKeys;         // read_packet.cpp
extern const KeyTable<CongestionFactors> kCongestionKeys;  // read_congestion.cpp
extern const KeyTable<Job> kJobKeys;                       // read_job.cpp
extern const KeyTable<ClusterJob> kClusterJobKeys;         // read_jobs.cpp
extern const KeyTable<SearchSpec> kSearchKeys;             // read_search.cpp
extern const KeyTable<FaultProcess> kFaultKeys;            // read_faults.cpp
extern const KeyMap kFaultCatalogueKeys;
extern const KeyTable<RecoveryPlan> kRecoveryKeys;    // read_recovery.cpp
extern const KeyTable<CampaignPlan> kCampaignKeys;    // read_campaign.cpp
extern const KeyTable<DetectionSpec> kDetectionKeys;  // read_detection.cpp
extern const KeyTable<ServingEngine> kEngineKeys;     // read_engine.cpp
extern const KeyTable<ServingSpec> kServingKeys;
extern const KeyTable<EncoderSpec> kEncoderKeys;  // read_encoder.cpp
extern const KeyTable<AutoscalerSpec> kAutoscalerKeys;
extern const KeyTable<RowPowerSpec> kRowPowerKeys;
extern const KeyTable<ServingObjectives> kObjectiveKeys;
extern const KeyTable<LowerCacheSpec> kLowerCacheKeys;  // read_serving_policies.cpp
extern const KeyTable<PoolSearch> kPoolSearchKeys;      // read_pool_search.cpp
extern const KeyTable<WorkloadSpec> kWorkloadKeys;
extern const KeyMap kSweepKeys;  // file_kind.cpp

}  // namespace orrery

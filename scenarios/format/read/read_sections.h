// SPDX-License-Identifier: Apache-2.0
// The readers of a scenario's sections. Each reads its part of the document into its part of the
// scenario, and replaces catalogue names in it by their entries, so that later errors find the
// place of every key. `path` is the dotted name of the section.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "scenarios/format/catalogue/catalogue.h"
#include "scenarios/format/document/document_node.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/specs/scenario.h"

namespace orrery {

// `device` is that of the first kind of nodes. Returns the devices of all kinds if the cluster
// lists them (cluster.kinds), else none.
std::vector<DeviceSpec> read_cluster(DocumentNode& section,
                                     const Catalogue& catalogue,
                                     const std::filesystem::path& folder,
                                     ClusterSpec& cluster,
                                     DeviceSpec& device,
                                     Errors& errors);
void read_node(const DocumentNode& map, const std::string& path, NodeSpec& node, Errors& errors);
void read_fabric(const DocumentNode& map,
                 const std::string& path,
                 FabricSpec& fabric,
                 Errors& errors);
void read_device(const DocumentNode& map,
                 const std::string& path,
                 DeviceSpec& device,
                 Errors& errors);
// `remarks` are those of model.hf_config (hf_config.h).
void read_model(DocumentNode& section,
                const Catalogue& catalogue,
                const std::filesystem::path& folder,
                Transformer& model,
                std::vector<std::string>& remarks,
                Errors& errors);
void read_plan(const DocumentNode& section, ParallelPlan& plan, Errors& errors);
void read_network(const DocumentNode& section,
                  NetworkFidelity& fidelity,
                  NetworkSettings& settings,
                  Errors& errors);
// Reads the cables of a fabric of kind file, after its other keys: `file`, or the measurements
// between each two nodes in `link_matrix`.
void read_cables(const DocumentNode& fabric,
                 const std::filesystem::path& folder,
                 ClusterSpec& cluster,
                 Errors& errors);
// Complains about facts of a network's plugin that need each other.
void check_network_plugin(MapReader& reader, const FabricSpec& fabric);
// Reads the choices of the network plugin's tuner, if the fabric's map names them.
void read_nccl_choices(const DocumentNode& map,
                       const std::filesystem::path& folder,
                       FabricSpec& fabric,
                       Errors& errors);
// Reads network.congestion: an entry of the catalogue's congestion_controls, a file like one
// (beside the scenario), or a map.
void read_congestion(const DocumentNode& value,
                     const Catalogue& catalogue,
                     const std::filesystem::path& folder,
                     NetworkSettings& settings,
                     Errors& errors);
void read_packet(const DocumentNode& map, PacketSettings& settings, Errors& errors);
void read_job(const DocumentNode& section,
              const std::filesystem::path& folder,
              Job& job,
              Errors& errors);
// `base` has the cluster, the network and other common parts. Plans are not checked yet.
void read_jobs(DocumentNode& section,
               const Catalogue& catalogue,
               const std::filesystem::path& folder,
               const Scenario& base,
               std::vector<ClusterJob>& jobs,
               Errors& errors);
// `root` is the scenario's document as written, because the compared clusters are its cluster with
// other values.
void read_search(const DocumentNode& section,
                 const DocumentNode& root,
                 const Catalogue& catalogue,
                 const std::filesystem::path& folder,
                 SearchSpec& search,
                 Errors& errors);
// `shape` has the components of the cluster at which faults may be.
void read_faults(const DocumentNode& section,
                 const Catalogue& catalogue,
                 const std::filesystem::path& folder,
                 const ClusterShape& shape,
                 FaultPlan& plan,
                 Errors& errors);
void read_detection(const DocumentNode& map,
                    const std::string& path,
                    DetectionSpec& spec,
                    Errors& errors);
// `plan.shape` already has the numbers of nodes, GPUs and NICs.
void read_campaign(const DocumentNode& section, CampaignPlan& plan, Errors& errors);
void read_recovery(const DocumentNode& section,
                   const DetectionSpec& detection,
                   std::vector<RecoveryPlan>& plans,
                   Errors& errors);

}  // namespace orrery

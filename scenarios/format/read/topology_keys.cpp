// SPDX-License-Identifier: Apache-2.0
#include "scenarios/format/read/topology_keys.h"

#include <fmt/format.h>

#include <filesystem>

#include "scenarios/format/document/quantity.h"
#include "scenarios/format/document/yaml_document.h"

namespace orrery {
namespace {

constexpr const char* kKey = "nccl_topology";

void set_if_absent(DocumentNode& map,
                   const DocumentNode& place,
                   const std::string& key,
                   const std::string& value) {
    if (map.find(key) != nullptr) {
        return;
    }
    DocumentNode scalar;
    scalar.kind = DocumentNode::Kind::scalar;
    scalar.line = place.line;
    scalar.column = place.column;
    scalar.source = place.source;
    scalar.text = value;
    DocumentNode name = scalar;
    name.text = key;
    map.set(std::move(name), std::move(scalar));
}

std::string_view word(IntraNodeKind kind) {
    switch (kind) {
        case IntraNodeKind::nvswitch:
            return "nvswitch";
        case IntraNodeKind::nvlink_mesh:
            return "nvlink_mesh";
        case IntraNodeKind::pcie:
            return "pcie";
    }
    return "";
}

}  // namespace

std::optional<NcclTopology> fill_from_nccl_topology(DocumentNode& node,
                                                    const std::filesystem::path& folder,
                                                    Errors& errors) {
    const DocumentNode* value = node.find(kKey);
    if (value == nullptr) {
        return std::nullopt;
    }
    const DocumentNode place = *value;
    if (!place.is_scalar() || place.text.empty()) {
        errors.push_back({place.where(),
                          fmt::format("cluster.node.{} must be a file's name", kKey),
                          "a file that NCCL_TOPO_DUMP_FILE wrote"});
        return std::nullopt;
    }
    const std::filesystem::path file = place.folder(folder) / place.text;
    const auto text = read_text_file(file);
    if (!text) {
        errors.push_back(
            {place.where(), text.error().where + ": " + text.error().what, text.error().hint});
        return std::nullopt;
    }
    auto topology = parse_nccl_topology(*text, file.string());
    if (!topology) {
        errors.insert(errors.end(), topology.error().begin(), topology.error().end());
        // Keys that the file would give are not reported as missing.
        set_if_absent(node, place, "gpus_per_node", "1");
        set_if_absent(node, place, "intra_node", "pcie");
        set_if_absent(node, place, "pcie_bandwidth", "1 GB/s");
        return std::nullopt;
    }
    const NodeSpec& spec = topology->node;
    const auto set = [&](const char* key, const std::string& text_of_value) {
        set_if_absent(node, place, key, text_of_value);
    };
    set("gpus_per_node", fmt::format("{}", spec.gpus_per_node));
    if (!topology->links_known && node.find("intra_node") == nullptr) {
        errors.push_back({place.where(),
                          fmt::format("{} names no links between its GPUs", place.text),
                          "add intra_node: nvswitch (or nvlink_mesh) and nvlink_bandwidth, or "
                          "intra_node: pcie"});
    }
    set("intra_node", std::string{word(spec.intra_node)});
    if (topology->links_known && spec.intra_node != IntraNodeKind::pcie) {
        set("nvlink_bandwidth", to_text(spec.nvlink_bandwidth));
        set("nvlink_efficiency", fmt::format("{}", spec.nvlink_efficiency));
        set("nvlink_latency", to_text(spec.nvlink_latency));
    }
    if (topology->links_known) {
        set("nvls", spec.nvls ? "true" : "false");
    }
    set("pcie_bandwidth", to_text(spec.pcie_bandwidth));
    set("pcie_efficiency", fmt::format("{}", spec.pcie_efficiency));
    set("pcie_latency", to_text(spec.pcie_latency));
    set("num_sockets", fmt::format("{}", spec.num_sockets));
    set("amd_cpu", spec.amd_cpu ? "true" : "false");
    set("name", std::filesystem::path{place.text}.stem().string());
    if (const std::string device = device_of_pci(topology->pci_device); !device.empty()) {
        set("device", device);
    }
    return std::move(*topology);
}

void fill_fabric_from(const NcclTopology& topology,
                      const DocumentNode& node,
                      DocumentNode& fabric) {
    const DocumentNode* place = node.find(kKey);
    if (topology.nics_per_node == 0 || place == nullptr || !fabric.is_map()) {
        return;
    }
    set_if_absent(fabric, *place, "nics_per_node", fmt::format("{}", topology.nics_per_node));
    if (topology.nic_bandwidth > Bandwidth{}) {
        set_if_absent(fabric, *place, "nic_bandwidth", to_text(topology.nic_bandwidth));
    }
}

}  // namespace orrery

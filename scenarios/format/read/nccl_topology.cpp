// SPDX-License-Identifier: Apache-2.0
// The one owner of pugixml.
#include "scenarios/format/read/nccl_topology.h"

#include <algorithm>
#include <pugixml.hpp>
#include <string>
#include <string_view>

#include "engine/base/input_file.h"

namespace orrery {
namespace {

constexpr std::string_view kNvswitchClass = "0x068000";  // PCI class of an NVSwitch

// Counts the element and all elements below it.
void count(const pugi::xml_node& element, NcclMachine& found, int depth) {
    constexpr int kDeepest = 64;
    if (depth > kDeepest) {
        return;
    }
    const std::string_view name = element.name();
    if (name == "cpu") {
        ++found.sockets;
        found.amd = found.amd || element.attribute("vendor").value() == std::string{"AuthenticAMD"};
    } else if (name == "gpu") {
        ++found.gpus;
        found.compute_capability = element.attribute("sm").as_uint();
        std::uint32_t links = 0;
        for (const pugi::xml_node& link : element.children("nvlink")) {
            links += link.attribute("count").as_uint();
            found.nvswitch = found.nvswitch ||
                             std::string_view{link.attribute("tclass").value()} == kNvswitchClass;
        }
        found.nvlinks_per_gpu = std::max(found.nvlinks_per_gpu, links);
    } else if (name == "net") {
        ++found.nics;
        found.nic_megabits = std::max(found.nic_megabits, element.attribute("speed").as_uint());
    }
    for (const pugi::xml_node& child : element.children()) {
        count(child, found, depth + 1);
    }
}

}  // namespace

Result<NcclMachine> read_nccl_topology(const std::filesystem::path& file) {
    constexpr const char* kDue = "the file that NCCL writes with NCCL_TOPO_DUMP_FILE";
    const Result<std::string> text = read_input(file, kDue);
    if (!text) {
        return tl::unexpected(text.error());
    }
    pugi::xml_document document;
    const pugi::xml_parse_result parsed = document.load_buffer(text->data(), text->size());
    if (!parsed) {
        return fail(
            file.string(), std::string{"can't be read as XML: "} + parsed.description(), kDue);
    }
    const pugi::xml_node system = document.child("system");
    if (!system) {
        return fail(
            file.string(), "this is not a topology of NCCL: it has no element 'system'", kDue);
    }
    NcclMachine found;
    count(system, found, 0);
    if (found.gpus == 0) {
        return fail(file.string(), "the topology has no GPUs");
    }
    return found;
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The keys of a device.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "models/plan/plan_words.h"
#include "scenarios/format/read/key_tables.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

void read_attention_kernels(MapReader& reader, DeviceSpec& device) {
    constexpr std::string_view kKey = "attention_kernels";
    const DocumentNode* list = reader.find(kKey);
    if (list == nullptr) {
        return;
    }
    const std::vector<std::string> words = row_of(kDeviceKeys, kKey).words(false);
    const auto known = [&](const DocumentNode& item) {
        return item.is_scalar() && std::ranges::find(words, item.text) != words.end();
    };
    if (!list->is_sequence() || list->items.empty() || !std::ranges::all_of(list->items, known)) {
        reader.complain(kKey,
                        fmt::format("{} can't be {}", reader.full_name(kKey), list->describe()),
                        fmt::format("a list out of {}", fmt::join(words, ", ")));
        return;
    }
    device.attention_kernels.clear();
    for (const DocumentNode& item : list->items) {
        device.attention_kernels.push_back(item.text);
    }
}

constexpr Key kDeviceRows[] = {
    key<&DeviceSpec::name>("name", "What reports call the device.").by("the entry's name"),
    key<&DeviceSpec::generation>("generation",
                                 "Architecture: volta, ampere, ada, hopper, blackwell, cpu.")
        .required(),
    key<&DeviceSpec::compute_capability>("compute_capability",
                                         "NVIDIA's compute capability times ten.")
        .range(0, 1000)
        .required(),
    key<&DeviceSpec::num_sms>("num_sms", "Streaming multiprocessors.").range(1, 100'000).required(),
    key<&DeviceSpec::peak_fp32>("peak_fp32",
                                "Peak rate in fp32, on TF32 tensor cores where they exist.")
        .required()
        .above_zero(),
    key<&DeviceSpec::peak_fp16>("peak_fp16", "Dense peak rate in fp16 and bf16.")
        .required()
        .above_zero(),
    key<&DeviceSpec::bf16>("bf16", "The device computes in bf16."),
    key<&DeviceSpec::peak_fp8>("peak_fp8", "Dense peak rate in fp8; zero: no fp8."),
    key<&DeviceSpec::peak_fp4>("peak_fp4", "Dense peak rate in fp4; zero: no fp4."),
    plain_choice<kAttentionKernels>("attention_kernels",
                                    "Attention kernels that exist for the device.")
        .or_list()
        .by("all"),
    key<&DeviceSpec::memory_bandwidth>("memory_bandwidth", "Bandwidth of the device's memory.")
        .required()
        .above_zero(),
    key<&DeviceSpec::memory>("memory", "Capacity of the device's memory.").required().above_zero(),
    key<&DeviceSpec::kernel_latency>("kernel_latency", "Time of an empty kernel on the device.")
        .required(),
    key<&DeviceSpec::launch_cost>("launch_cost", "Host time of one launch in an eager framework.")
        .required(),
    key<&DeviceSpec::graph_launch_cost>("graph_launch_cost",
                                        "Host time of one kernel that a CUDA graph launches.")
        .required(),
    key<&DeviceSpec::core_mesh_rows>("core_mesh_rows",
                                     "Rows of a wafer's mesh of cores; 0: no mesh.")
        .range(0, 100'000)
        .of("cores"),
    key<&DeviceSpec::core_mesh_columns>("core_mesh_columns", "Columns of the mesh.")
        .range(0, 100'000)
        .of("cores"),
    key<&DeviceSpec::core_hop_latency>(
        "core_hop_latency", "Time of a message from a core of the mesh to the next one."),
    key<&DeviceSpec::core_step_latency>(
        "core_step_latency", "Time of a core of the mesh to take, add and send on a message."),
    key<&DeviceSpec::core_link_bandwidth>("core_link_bandwidth",
                                          "Bandwidth between neighbours of the mesh, each way."),
    plain("power", KeyShape::word, "Power that the product may draw, in whole watts: 700 W.")
        .by("not known"),
    plain("power_limit", KeyShape::word, "Power limit that is set, in whole watts: 500 W.")
        .by("the product's power"),
};

// Reads "500 W".
void read_watts(MapReader& reader, std::string_view key, std::int64_t& watts) {
    const DocumentNode* node = reader.find(key);
    if (node == nullptr) {
        return;
    }
    std::int64_t value = 0;
    const std::string& text = node->text;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (!node->is_scalar() || error != std::errc{} || std::string_view{stop, end} != " W" ||
        value < 1 || value > 1'000'000) {
        reader.complain(key,
                        fmt::format("{} can't be {}", reader.full_name(key), node->describe()),
                        "a whole number of watts: 500 W");
        return;
    }
    watts = value;
}

// A mesh has sides and links; without a mesh its keys have no effect.
void check_mesh(MapReader& reader, const DeviceSpec& device) {
    const bool mesh = device.core_mesh_rows > 0 && device.core_mesh_columns > 0 &&
                      device.core_link_bandwidth > Bandwidth{};
    const bool none = device.core_mesh_rows == 0 && device.core_mesh_columns == 0 &&
                      device.core_link_bandwidth == Bandwidth{} &&
                      device.core_hop_latency == Time{} && device.core_step_latency == Time{};
    if (!mesh && !none) {
        reader.complain("core_mesh_rows",
                        "a mesh of cores has rows, columns and links between neighbours",
                        "core_mesh_rows: 360, core_mesh_columns: 360, core_link_bandwidth: "
                        "4.4 GB/s");
    }
}

void read_special(MapReader& reader, DeviceSpec& device) {
    check_mesh(reader, device);
    read_attention_kernels(reader, device);
    read_watts(reader, "power", device.power);
    read_watts(reader, "power_limit", device.power_limit);
    if (device.power_limit > 0 && device.power == 0) {
        reader.complain("power_limit",
                        reader.full_name("power_limit") + " says nothing without the power of the "
                                                          "product",
                        "add 'power: 700 W'");
    }
}

}  // namespace

const KeyTable<DeviceSpec> kDeviceKeys =
    key_table<DeviceSpec, read_special>("device", kDeviceRows);

void read_device(const DocumentNode& map,
                 const std::string& path,
                 DeviceSpec& device,
                 Errors& errors) {
    read_map(map, path, kDeviceKeys, device, errors);
}

}  // namespace orrery

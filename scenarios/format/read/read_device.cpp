// SPDX-License-Identifier: Apache-2.0
// The keys of a device.
#include <fmt/format.h>

#include <algorithm>

#include "models/plan_words.h"
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
};

}  // namespace

const KeyTable<DeviceSpec> kDeviceKeys =
    key_table<DeviceSpec, read_attention_kernels>("device", kDeviceRows);

void read_device(const DocumentNode& map,
                 const std::string& path,
                 DeviceSpec& device,
                 Errors& errors) {
    read_map(map, path, kDeviceKeys, device, errors);
}

}  // namespace orrery

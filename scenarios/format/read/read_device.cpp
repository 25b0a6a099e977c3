// SPDX-License-Identifier: Apache-2.0
// The keys of a device: the fields of DeviceSpec under their own names.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "models/plan_words.h"
#include "scenarios/format/document/map_reader.h"
#include "scenarios/format/read/read_sections.h"

namespace orrery {
namespace {

void read_attention_kernels(MapReader& reader, DeviceSpec& device) {
    const DocumentNode* list = reader.find("attention_kernels");
    if (list == nullptr) {
        return;
    }
    std::vector<std::string> words;
    for (const auto& kernel : kAttentionKernels) {
        words.emplace_back(kernel.word);
    }
    const auto known = [&](const DocumentNode& item) {
        return item.is_scalar() && std::ranges::find(words, item.text) != words.end();
    };
    if (!list->is_sequence() || list->items.empty() || !std::ranges::all_of(list->items, known)) {
        reader.complain(
            "attention_kernels",
            fmt::format("{} can't be {}", reader.full_name("attention_kernels"), list->describe()),
            fmt::format("a list out of {}", fmt::join(words, ", ")));
        return;
    }
    device.attention_kernels.clear();
    for (const DocumentNode& item : list->items) {
        device.attention_kernels.push_back(item.text);
    }
}

// "500 W".
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

}  // namespace

void read_device(const DocumentNode& map,
                 const std::string& path,
                 DeviceSpec& device,
                 Errors& errors) {
    const std::size_t errors_before = errors.size();
    MapReader reader{map, path, errors};
    const auto required = Presence::required;
    reader.word("name", device.name);
    reader.word("generation", device.generation, required);
    reader.integer("compute_capability", device.compute_capability, {0, 1000}, required);
    reader.integer("num_sms", device.num_sms, {1, 100'000}, required);
    reader.quantity("peak_fp32", device.peak_fp32, required);
    reader.quantity("peak_fp16", device.peak_fp16, required);
    reader.boolean("bf16", device.bf16);
    reader.quantity("peak_fp8", device.peak_fp8);
    read_attention_kernels(reader, device);
    reader.quantity("memory_bandwidth", device.memory_bandwidth, required);
    reader.quantity("memory", device.memory, required);
    reader.quantity("kernel_latency", device.kernel_latency, required);
    reader.quantity("launch_cost", device.launch_cost, required);
    reader.quantity("graph_launch_cost", device.graph_launch_cost, required);
    read_watts(reader, "power", device.power);
    read_watts(reader, "power_limit", device.power_limit);
    if (device.power_limit > 0 && device.power == 0) {
        reader.complain("power_limit",
                        reader.full_name("power_limit") + " says nothing without the power of the "
                                                          "product",
                        "add 'power: 700 W'");
    }
    const auto positive = [&](const char* key, bool is_zero) {
        if (is_zero && map.find(key) != nullptr) {
            reader.complain(key, reader.full_name(key) + " must not be zero");
        }
    };
    if (errors.size() == errors_before) {
        positive("peak_fp32", device.peak_fp32.per_second() <= 0);
        positive("peak_fp16", device.peak_fp16.per_second() <= 0);
        positive("memory_bandwidth", device.memory_bandwidth.bits_per_second() == 0);
        positive("memory", device.memory.count() == 0);
    }
    reader.finish();
}

}  // namespace orrery

// SPDX-License-Identifier: Apache-2.0
// The devices that the published kernel times were measured on, with the figures of
// scenarios/catalogue/devices. devices_agree_with_the_catalogue in measurement_test.cpp holds the
// two together.
#pragma once

#include <map>
#include <string>

#include "kernels/device_spec.h"
#include "kernels/measurement.h"

namespace orrery {

inline DeviceSpec ampere(std::string name, std::int64_t memory_GBps) {
    return {.name = std::move(name),
            .generation = "ampere",
            .compute_capability = 80,
            .num_sms = 108,
            .peak_fp32 = FlopRate::per_second(156e12),
            .peak_fp16 = FlopRate::per_second(312e12),
            .peak_fp8 = {},
            .memory_bandwidth = Bandwidth::bytes_per_second(memory_GBps * 1'000'000'000),
            .memory = Bytes{std::int64_t{80} << 30},
            .kernel_latency = Time::picoseconds(2'000'000),
            .launch_cost = Time::picoseconds(5'000'000),
            .graph_launch_cost = Time::picoseconds(1'000'000)};
}

inline DeviceSpec hopper(std::string name, std::int64_t memory_GBps) {
    DeviceSpec device = ampere(std::move(name), memory_GBps);
    device.generation = "hopper";
    device.compute_capability = 90;
    device.num_sms = 132;
    device.peak_fp32 = FlopRate::per_second(494.7e12);
    device.peak_fp16 = FlopRate::per_second(989.4e12);
    device.peak_fp8 = FlopRate::per_second(1978.9e12);
    return device;
}

inline DeviceSpec blackwell(std::string name, double peak_fp16, std::int64_t watts) {
    DeviceSpec device = hopper(std::move(name), 8000);
    device.generation = "blackwell";
    device.compute_capability = 100;
    device.num_sms = 148;
    device.peak_fp32 = FlopRate::per_second(peak_fp16 / 2);
    device.peak_fp16 = FlopRate::per_second(peak_fp16);
    device.peak_fp8 = FlopRate::per_second(peak_fp16 * 2);
    device.power = watts;
    return device;
}

inline DeviceSpec blackwell_ultra(std::string name,
                                  double peak_fp16,
                                  std::int64_t watts,
                                  std::uint32_t sms) {
    DeviceSpec device = blackwell(std::move(name), peak_fp16, watts);
    device.compute_capability = 103;
    device.num_sms = sms;
    return device;
}

inline std::map<std::string, DeviceSpec> measured_devices() {
    return {{"a100-80g", ampere("a100-80g", 2039)},
            {"h100-80g", hopper("h100-80g", 3350)},
            {"h200", hopper("h200", 4800)},
            {"b200", blackwell("b200", 2250e12, 1000)},
            {"b300", blackwell_ultra("b300", 2250e12, 1100, 148)},
            {"gb200", blackwell("gb200", 2500e12, 1200)},
            {"gb300", blackwell_ultra("gb300", 2500e12, 1400, 160)}};
}

inline constexpr const char* kMeasurementFiles[] = {"measurements/layers.csv",
                                                    "measurements/gemm_sustained.csv",
                                                    "measurements/gemm_blackwell.csv",
                                                    "measurements/attention_blackwell.csv",
                                                    "measurements/cudnn_blackwell.csv"};

inline std::string catalogue_path(const std::string& file) {
    return std::string(ORRERY_SOURCE_DIR) + "/scenarios/catalogue/" + file;
}

}  // namespace orrery

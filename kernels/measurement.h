// SPDX-License-Identifier: Apache-2.0
// Published times of single kernels for the fit: the rows of layers.csv (columns documented in
// scenarios/catalogue/measurements/README.md) as kernel calls on a device.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/base/result.h"
#include "engine/program/kernel_call.h"
#include "kernels/device_spec.h"

namespace orrery {

struct Measurement {
    std::string name = {};    // the row's case
    std::string family = {};  // memory, gemm, attention, unfused_attention
    std::string source = {};  // origin: gemm-best, gemm-vidur, attention-flash …
    std::string device = {};
    std::vector<KernelCall> calls = {};  // run one after the other
    double seconds = 0;                  // of all calls together
};

// Reads the rows of single kernels (GEMM, attention, norm, stream). Skips rows of whole layers, of
// groups of kernels with communication, and of devices that `devices` lacks.
ResultOrErrors<std::vector<Measurement>> read_measurements(
    const std::string& path, const std::map<std::string, DeviceSpec>& devices);

}  // namespace orrery
